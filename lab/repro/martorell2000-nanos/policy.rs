//! The policies of the paper's tables, and the text by which the simulator knows each of them.

use super::constants::whole;
use crate::{Lab, Trouble};

/// Who divides the processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Nobody: the vendor's library adapts each program by itself, under IRIX.
    Native,
    /// Clusters of four (table 1).
    Cluster,
    /// Windows that slide by one program (table 2).
    Ssw,
    /// Windows with quanta of their own for programs (table 2).
    Vtq,
    /// As many processors as a program uses well; so many programs at a time at first (tables 3 to
    /// 5).
    Pdpa(u32),
    /// A preset of the simulator.
    Preset(&'static str),
}

impl Policy {
    /// The policy as policies are written, with the constants of the file of inputs.
    pub fn text(self, lab: &Lab) -> Result<String, Trouble> {
        let number = |name: &str| lab.constant(name).map(whole);
        Ok(match self {
            Self::Native => {
                let period_ms = whole(1000.0 * lab.constant("library period")?);
                let (error, step) = (number("library error")?, number("library step")?.max(1));
                let aims = if lab.constant("library rule")? < 0.5 { "part" } else { "room" };
                format!("share=sgi-mp(period={period_ms}ms,error={error}%,step={step},aims={aims})")
            }
            Self::Cluster => "nanos-cluster".to_owned(),
            Self::Ssw => format!("ssw-dss turns=ssw-dss(k={:.3})", lab.constant("window factor")?),
            Self::Vtq => {
                let (k, equal) = (lab.constant("window factor")?, number("equal quanta")?);
                format!("vtq-dss turns=vtq-dss(k={k:.3},equal={equal}%)")
            }
            Self::Pdpa(level) => format!(
                "share=pdpa(base={},step={},efficiency={:.3},tests={}) admission=multiprogramming(initial={level})",
                number("BASE")?,
                number("STEP")?,
                lab.constant("MIN_EFFICIENCY")?,
                number("tests")?,
            ),
            Self::Preset(name) => name.to_owned(),
        })
    }
}
