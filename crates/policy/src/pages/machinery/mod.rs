//! What shells and answers about pages are built from. Knows no answer.

pub mod worth;
