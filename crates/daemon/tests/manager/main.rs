//! The real manager with real processes: one test program, so that what they share is compiled
//! once.

mod abuse;
mod attach;
mod crash;
mod folding;
mod memory;
mod observe;
mod rates;
mod rules;
mod stage;
mod successors;
mod turns;
mod users;
mod wishes;
