//! The place for new pages of an application, and its word in journals.

use numaestro_topology::NumaNodeId;
use serde::{Deserialize, Serialize};
use std::num::ParseIntError;

/// The place for an application's new pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PageHome {
    /// To the node of the processor that touches them first.
    FirstTouch,
    /// To this node.
    Node(NumaNodeId),
    /// In turn to the nodes of its own processors.
    Interleave,
}

impl From<PageHome> for String {
    /// `first-touch`, `interleave`, or the logical number of a node.
    fn from(home: PageHome) -> Self {
        match home {
            PageHome::FirstTouch => "first-touch".to_owned(),
            PageHome::Interleave => "interleave".to_owned(),
            PageHome::Node(node) => node.to_string(),
        }
    }
}

impl TryFrom<String> for PageHome {
    type Error = ParseIntError;

    fn try_from(word: String) -> Result<Self, ParseIntError> {
        match word.as_str() {
            "first-touch" => Ok(Self::FirstTouch),
            "interleave" => Ok(Self::Interleave),
            node => node.parse().map(|node| Self::Node(NumaNodeId(node))),
        }
    }
}
