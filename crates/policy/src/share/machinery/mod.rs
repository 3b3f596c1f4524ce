//! What several answers about shares are built from. Knows none of them.

pub mod guarantee;
