//! What is measured of which claim, and what must come out: fixed before the first run.
//!
//! The papers' machines had 4 to 64 processors. Each declaration says what of its claim two
//! processors with one memory can show, and what they cannot. All quantities are ratios of runs of
//! the same round, or shares of time, so that the machine's pace cancels out.

use super::MedianInterval;
use serde::{Serialize, Serializer};
use std::fmt;

/// What is measured of one claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// The claim.
    pub claim: &'static str,
    /// The programs, and the quantity that stands for the claim.
    pub shows: &'static str,
    /// What of the claim this cannot show.
    pub cannot: &'static str,
    /// Rounds of all set-ups, interleaved; one value of each quantity comes from each round.
    pub rounds: u32,
    /// The same with `--quick`. The interval of five rounds is their range (94 %).
    pub quick_rounds: u32,
    /// What must come out.
    pub quantities: &'static [Quantity],
}

/// One quantity with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantity {
    /// A word for it, one for each quantity of a claim.
    pub name: &'static str,
    /// The quantity.
    pub what: &'static str,
    /// Its unit with a space before it; empty for a ratio.
    pub unit: &'static str,
    /// The limit.
    pub limit: Limit,
    /// The reason for the limit.
    pub why: &'static str,
    /// How the feature is switched off. The limit must not hold then.
    pub off: &'static str,
}

/// A limit for a whole interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Limit {
    /// Whether the whole interval keeps it.
    pub fn holds(self, of: &MedianInterval) -> bool {
        match self {
            Self::AtMost(most) => of.high <= most,
            Self::AtLeast(least) => of.low >= least,
        }
    }

    /// Whether the whole interval breaks it.
    pub fn breaks(self, of: &MedianInterval) -> bool {
        match self {
            Self::AtMost(most) => of.low > most,
            Self::AtLeast(least) => of.high < least,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

const PARTNERS_WHY: &str =
    "half of the waiting is gone at least, as the simulated claim demands; the paper prints no number";
const PARTNERS_OFF: &str =
    "the kernel switches between the threads, as it does where nobody recovers preempted work: `--fold kernel`";
const SEARCH_WHY: &str =
    "5 % as in the simulated claim. These runs last 3 s, the paper's 15.6 s and more: a search is a larger part here";
const SEARCH_OFF: &str = "no search: the program keeps the number of processors that the search rejects";
const DECISION_WHY: &str = "1 % as in the simulated claim; the paper says negligible";
const SHORT_OFF: &str = "a quantum of 1 ms instead of 100: the same work a hundred times as often";

/// Every claim that is measured.
pub static DECLARED: [Declared; 4] = [
    Declared {
        claim: "N-sync",
        shows: "Two copies of a program side by side, each with a team as large as the machine, so twice as many threads as processors. Processor time \
                beyond that of the same two copies with one thread each, which have no partners: waiting, and switching between partners. With \
                numaestro's switches at meetings, as a part of the same without them",
        cannot: "Teams of 8 to 32, a partner's work that is taken over by another processor of the same program (each has one here), and preemption in \
                 mid-region more than once in a run",
        rounds: 11,
        quick_rounds: 5,
        quantities: &[
            Quantity {
                name: "cg",
                what: "cg, regions of 3 to 37 us: waiting and switching, with/without",
                unit: "",
                limit: Limit::AtMost(0.5),
                why: PARTNERS_WHY,
                off: PARTNERS_OFF,
            },
            Quantity {
                name: "sorp",
                what: "sorp, one region with barriers 55 us apart: waiting and switching, with/without",
                unit: "",
                limit: Limit::AtMost(0.5),
                why: PARTNERS_WHY,
                off: PARTNERS_OFF,
            },
        ],
    },
    Declared {
        claim: "N-switch",
        shows: "Two copies of sor side by side for 4 s. The policy is changed after each second among `equi`, `nanos-equip` and `nanos-dss`, which \
                divide two processors alike, or not changed. Time until both have ended, changed/not",
        cannot: "Policies that divide unlike, where the change of the division cannot be told from the change of policy; many applications, whose \
                 tables are read at a change",
        rounds: 11,
        quick_rounds: 5,
        quantities: &[Quantity {
            name: "time",
            what: "time until both have ended, changed/not",
            unit: "",
            limit: Limit::AtMost(1.02),
            why: "2 % as in the simulated claim; the paper says no overhead",
            off: "no change while programs run: they are stopped for 100 ms at each change",
        }],
    },
    Declared {
        claim: "N-search",
        shows: "One program alone under PDPA, which tries one processor and all of them, against the same program with the right number from the \
                beginning. Run time, PDPA/right number",
        cannot: "A search among more than two numbers (the paper's goes up to 32 by steps of 2), and searches of several applications at once. A \
                 program alone is its simplest case",
        rounds: 9,
        quick_rounds: 5,
        quantities: &[
            Quantity {
                name: "bounce",
                what: "bounce, which more processors make slower: run time, PDPA/one processor",
                unit: "",
                limit: Limit::AtMost(1.05),
                why: SEARCH_WHY,
                off: SEARCH_OFF,
            },
            Quantity {
                name: "mm",
                what: "mm, which scales: run time, PDPA/all processors",
                unit: "",
                limit: Limit::AtMost(1.05),
                why: SEARCH_WHY,
                off: SEARCH_OFF,
            },
        ],
    },
    Declared {
        claim: "A-over",
        shows: "The manager's processor time for 16 programs of 4 threads under policies of bandwidth, decisions, samples, stopping and continuing \
                together; and the time of four programs that leave memory alone, under such a policy against no manager at all",
        cannot: "The reading of hardware counters, which this machine does not have (rates are declared), and a bus with four processors",
        rounds: 11,
        quick_rounds: 5,
        quantities: &[
            Quantity {
                name: "b2arr",
                what: "manager under B2ARR with 64 threads, share of a quantum of 100 ms",
                unit: " %",
                limit: Limit::AtMost(1.0),
                why: DECISION_WHY,
                off: SHORT_OFF,
            },
            Quantity {
                name: "b2adss",
                what: "manager under B2ADSS with 64 threads, share of a quantum of 100 ms",
                unit: " %",
                limit: Limit::AtMost(1.0),
                why: DECISION_WHY,
                off: SHORT_OFF,
            },
            Quantity {
                name: "decides",
                what: "manager under B2ARR with 64 threads, share of a quantum of 100 ms: it does decide",
                unit: " %",
                limit: Limit::AtLeast(0.01),
                why: "ten quanta a second with 10 us each are 0.01 %; a policy that decides and measures nothing costs less",
                off: "no turns and no rates: `equi`",
            },
            Quantity {
                name: "delay",
                what: "four nbbma: time until all have ended, B2ARR/no manager",
                unit: "",
                limit: Limit::AtMost(1.02),
                why: "2 % as for a change of policy; up to 3.2 % is \"slightly worse\" in the paper's section 5",
                off: SHORT_OFF,
            },
        ],
    },
];
