//! The manager: the engine's shell on Linux.
//!
//! `manager.rs` is the place to start: one thread that sleeps until something happens, turns it into an event for the engine, and carries out
//! the actions. What happens comes from `attach.rs` (programs), `rules.rs` (programs nobody has started here), `control.rs` (people), the ends of
//! processes, and four observers that run
//! only while they can matter: `demand.rs`, `phases.rs`, `foreign.rs`, `bandwidth.rs`. What is done is in `actions.rs` and
//! `stops.rs`.
//!
//! It must not know how a decision is taken (the engine does), nor how Linux is spoken to (`numaestro-host` does).

mod actions;
mod advice;
mod app;
mod attach;
mod bandwidth;
mod brain;
mod config;
mod connection;
mod control;
mod cpusets;
mod demand;
mod endings;
mod folding;
mod foreign;
mod glob;
mod machine;
mod manager;
mod measuring;
mod metrics;
mod nodes;
mod pages;
mod phases;
mod quota;
mod reload;
mod rights;
mod rules;
mod service;
mod start;
mod state;
mod status;
mod stops;
mod timers;
mod users;
mod wire;

pub use config::{Config, ConfigError, Loaded, Source};
pub use start::{Connection, ensure_running, main_loop};
