//! The manager: the engine's shell on Linux.
//!
//! `manager.rs` is the place to start: the loop. `shell.rs` passes values on: what `senses` see
//! becomes events for `decision`, and its actions go to `hands`. `people` speaks with programs and
//! people. `decision/obligations.rs` states the duties of a shell towards the engine.
//! `numaestro-host` speaks to Linux.

mod config;
mod decision;
mod glob;
mod guard;
mod hands;
mod identity;
mod manager;
mod people;
mod programs;
mod senses;
mod service;
mod shell;
mod start;
mod state;
mod wakeups;

pub use config::{Config, ConfigError, Loaded, Source};
pub use decision::choice::{mistake as policy_mistake, next_policy};
pub use decision::engine::available as available_policies;
pub use decision::recording::directory as recordings;
pub use guard::{Left, restore_left};
pub use identity::naming::{Named, Names};
pub use identity::rights::Refusal;
pub use start::{Connection, End, ensure_running, main_loop};
