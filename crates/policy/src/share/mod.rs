//! Shares decide how many processors each application gets. One answer a file.

mod batch;
mod cluster;
mod demand;
pub(crate) mod dss;
mod dynamic;
mod equi;
pub(crate) mod equip;
pub(crate) mod linux24;
mod machinery;
pub(crate) mod pdpa;
mod sgi_mp;

use crate::answer::Answer;
use crate::part::Share;

/// All answers.
pub(crate) const ANSWERS: &[Answer<dyn Share>] = &[
    equi::ANSWER, // The default.
    equip::ANSWER,
    cluster::ANSWER,
    dss::ANSWER,
    batch::ANSWER,
    demand::ANSWER,
    linux24::ANSWER,
    sgi_mp::ANSWER,
    dynamic::ANSWER,
    pdpa::ANSWER,
];
