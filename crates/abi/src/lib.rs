//! The shared page and the messages between the manager and the programs it manages.
//!
//! * [`page`]: the shared page, one per application, byte by byte (`docs/ABI.md` draws it).
//! * [`protocol`]: writes the manager's side of the page, and reads it whole.
//! * [`attach`]: the fixed-size binary messages with which a program's C client gets that page.
//! * [`control`]: the JSON lines that the command speaks with the manager.
//!
//! The crate opens no socket and no file: it only says what the bytes mean.

pub mod attach;
pub mod control;
pub mod page;
pub mod protocol;
mod sync;
