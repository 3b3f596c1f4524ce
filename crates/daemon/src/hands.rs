//! Carries decisions out: affinity, cpusets, pages, tokens, stops. What is done to a process is
//! written down here, and undone here.

pub mod cpusets;
pub mod jobserver;
pub mod kernel;
pub mod masks;
pub mod notes;
pub mod own;
pub mod pages;
pub mod released;
pub mod shared_pages;
pub mod stops;
pub mod told;
pub mod trees;
pub mod whole;
