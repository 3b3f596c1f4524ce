//! What the manager knows of the machine and of programs it did not hear from the programs
//! themselves: sensors, each asleep until it has a reason to look. They decide nothing and move
//! nobody.

pub mod adoptable;
pub mod bandwidth;
pub mod beginners;
pub mod demand;
pub mod foreign;
pub mod given;
pub mod machine;
pub mod phases;
pub mod quota;
pub mod rules;
