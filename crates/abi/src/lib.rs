//! What passes between the manager and the programs it manages.
//!
//! * [`page`]: the shared page, one per application, byte by byte (`docs/ABI.md` draws it).
//! * [`protocol`]: how the page's manager side is written, and read whole.
//! * [`attach`]: the fixed-size binary messages with which a program's C client gets that page.
//! * [`control`]: the JSON lines that the command speaks with the manager.
//!
//! This crate knows no socket, no file and no process: it only says what the bytes mean.

pub mod attach;
pub mod control;
pub mod page;
pub mod protocol;
mod sync;
