//! Parts that several answers about shares are built from.

pub mod guarantee;
