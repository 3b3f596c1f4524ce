//! Parts that shells and answers about pages are built from.

pub mod worth;
