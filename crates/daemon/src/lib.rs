//! The manager: the engine's shell on Linux.
//!
//! `manager.rs` is the place to start: the loop. `shell.rs` tells the engine the sensors' events
//! and has the actuators carry out its actions; `front.rs` speaks with programs and people.
//! `obligations.rs` states the duties of a shell towards the engine. `numaestro-host` speaks to
//! Linux.

mod adoptable;
mod answers;
mod bandwidth;
mod beginners;
mod choice;
mod config;
mod connection;
mod containers;
mod cpusets;
mod demand;
mod engine;
mod folding;
mod foreign;
mod front;
mod given;
mod glob;
mod guard;
mod history;
mod jobs;
mod jobserver;
mod kernel;
mod libraries;
mod machine;
mod manager;
mod masks;
mod metrics;
mod naming;
mod notes;
mod obligations;
mod own;
mod pages;
mod payer;
mod peer;
mod phases;
mod programs;
mod quota;
mod recording;
mod released;
mod rights;
mod rules;
mod service;
mod shared_pages;
mod shell;
mod sparing;
mod start;
mod state;
mod stops;
mod told;
mod trees;
mod users;
mod veil;
mod wakeups;
mod whole;
mod wire;
mod wishes;
mod witness;

pub use choice::{mistake as policy_mistake, next_policy};
pub use config::{Config, ConfigError, Loaded, Source};
pub use engine::available as available_policies;
pub use guard::{Left, restore_left};
pub use naming::{Named, Names};
pub use recording::directory as recordings;
pub use rights::Refusal;
pub use start::{Connection, End, ensure_running, main_loop};
