//! Programs and people: their connections, who they are, what they may do, what they ask, and the
//! words and pictures that they are shown.

pub mod answers;
pub mod connection;
pub mod folding;
pub mod front;
pub mod libraries;
pub mod metrics;
pub mod naming;
pub mod payer;
pub mod peer;
pub mod rights;
pub mod sparing;
pub mod users;
pub mod veil;
pub mod wire;
