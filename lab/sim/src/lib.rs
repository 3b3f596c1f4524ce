//! The simulator: modelled machines and programs, and the engine that also runs real ones.
//!
//! It is the second shell around [`numaestro_engine::Engine`]: it turns the happenings on a
//! modelled machine into the engine's events, and carries the engine's actions out on it. The
//! engine alone decides about processors. Like the engine the simulator is pure: no clock, input,
//! output, threads, environment or ambient randomness; the same scenario and seed give the same
//! event log, byte for byte.
//!
//! Reading order: [`scenario`] (the parts of a run), [`machine`], [`program`] and [`workload`] (the
//! models), [`world`] (the event loop: processors, threads, barriers, and the engine's shell),
//! [`memory`] (the cost of a reference), [`outcome`] (the measurements).

// Times and sizes are drawn and scaled as `f64`; none of them is ever below 0.
#![allow(clippy::cast_sign_loss)]

pub mod chaos;
pub mod dist;
pub mod learn;
pub mod machine;
pub mod memory;
pub mod outcome;
pub mod program;
pub mod random;
pub mod read;
pub mod scenario;
pub mod speedup;
pub mod stats;
pub mod validation;
pub mod workload;
pub mod world;

pub use numaestro_engine::Nanos;

/// The time at which the clock of a simulation ends, nanoseconds: 73 years. Nothing happens then or
/// later.
pub const CLOCK_END: Nanos = Nanos::MAX >> 3;
