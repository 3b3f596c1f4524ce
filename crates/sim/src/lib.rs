//! The simulator: modelled machines and programs, and the engine that also runs real ones.
//!
//! It is the second shell around [`numaestro_engine::Engine`]: it turns what happens on a modelled
//! machine into the engine's events, and carries the engine's actions out on it. It decides nothing
//! about processors itself. Like the engine it is pure: no clock, input, output, threads,
//! environment or ambient randomness; the same scenario and seed give the same event log, byte for
//! byte.
//!
//! Reading order: [`scenario`] (what is put together), [`machine`], [`program`] and [`workload`]
//! (what is modelled), [`world`] (the event loop: processors, threads, barriers, and the engine's
//! shell), [`memory`] (what a reference costs), [`outcome`] (what was measured).

// Times and sizes are drawn and scaled as `f64`; none of them is ever below 0.
#![allow(clippy::cast_sign_loss)]

pub mod chaos;
pub mod dist;
pub mod machine;
pub mod memory;
pub mod outcome;
pub mod program;
pub mod random;
pub mod read;
pub mod scenario;
pub mod speedup;
pub mod stats;
pub mod workload;
pub mod world;

pub use numaestro_engine::Nanos;
