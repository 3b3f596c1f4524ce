//! Code that shells and pages parts are built from.

pub mod worth;
