//! Code that several shares are built from.

pub mod guarantee;
