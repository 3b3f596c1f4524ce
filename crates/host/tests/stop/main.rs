//! Real programs, stopped and continued: nobody notices, and nobody stays stopped. The programs are
//! this test again, in a role (`roles.rs`).

#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

mod hostile;
mod manager;
mod patience;
mod quiet;
mod roles;
mod storms;
mod support;
mod transfers;
mod waits;
