//! What the product's command (`numaestro`) and the laboratory's (`numaestro-lab`) share: how they
//! talk with the manager, read recordings, find programs, and show tables and times.

pub mod class;
pub mod columns;
pub mod command_line;
pub mod commands;
pub mod global_args;
pub mod machine_here;
pub mod manager;
pub mod moment;
pub mod output;
pub mod pages;
pub mod recordings;
mod silence;
pub mod target;
pub mod texts;

pub use numaestro_say as say;
