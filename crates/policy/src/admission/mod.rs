//! Who may start now. One answer a file; a user's `wait` or `no-wait` goes before all of them, in the engine.

mod easy;
mod fcfs;
mod fifo;
mod multiprogramming;
mod share;

pub use easy::Easy;
pub use fcfs::Fcfs;
pub use fifo::Fifo;
pub use multiprogramming::{Finish, Multiprogramming};
pub use share::Share;
