//! Who somebody is and what they may do: the process behind a connection, its user, job and
//! container, the rights of each, and the application that a person names.

pub mod containers;
pub mod jobs;
pub mod naming;
pub mod payer;
pub mod peer;
pub mod rights;
pub mod users;
