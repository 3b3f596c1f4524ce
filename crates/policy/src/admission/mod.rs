//! Who may start now. One answer a file; a user's `wait` or `no-wait` goes before all of them, in the engine.

mod fifo;
mod share;

pub use fifo::Fifo;
pub use share::Share;
