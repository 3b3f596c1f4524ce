//! Programs and people: their connections, what they ask, and the pictures that they are shown.

pub mod answers;
pub mod connection;
pub mod front;
pub mod metrics;
pub mod sparing;
pub mod veil;
pub mod wire;
