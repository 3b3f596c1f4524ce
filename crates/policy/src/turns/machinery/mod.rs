//! Code that several turns are built from: quanta, windows over applications, lists of threads, and
//! the choice by bandwidth.

pub mod balance;
pub mod buses;
pub mod division;
pub mod entitlements;
pub mod fill;
pub mod gang;
pub mod quantum;
pub mod ready;
pub mod ring;
pub mod selection;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
pub mod threading;
pub mod window;
