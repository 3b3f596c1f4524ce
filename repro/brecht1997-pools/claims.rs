//! Brecht 1997.
use crate::Paper;
/// x
pub const PAPER: Paper = Paper { key: "brecht1997-pools", short: "B97", citation: "T. Brecht", claims: &[] };
