//! The claims of Brecht 1993, each with the tolerance for our result. The files beside this one
//! check them.

mod delays;
mod machines;
mod notation;
mod placements;

use crate::{Basis, Claim, Kind, Paper, hector};
use numaestro_sim::read::Text;

pub(crate) use machines::table_1_4;

/// On Hector, one application alone, four processes on stations 1 to 3.
pub const PAPER: Paper = Paper {
    key: "brecht1993-placement",
    short: "B93",
    citation: "T. Brecht: On the Importance of Parallel Application Placement in NUMA Multiprocessors. SEDMS IV, San Diego 1993",
    basis: Basis {
        file: Text::new("lab/repro/brecht1993-placement/inputs.toml", include_str!("inputs.toml")),
        constants: &hector::NAMES,
        rows: &hector::ROWS,
    },
    claims: &CLAIMS,
};

const CLAIMS: [Claim; 15] = [
    Claim {
        id: "B93-Fig1.1",
        kind: Kind::Positive,
        setup: "Levels of the memory hierarchy as seen from a source processor: stations (1.1a), and hops of a mesh (1.1b); placement `localized`",
        reported: "Level 1 is the source; a localized placement fills level 2 before level 3; without a hierarchy levels are hops",
        tolerance: "level function on both example topologies; no processor of a nearer level is left free",
        check: notation::levels,
    },
    Claim {
        id: "B93-Fig1.2",
        kind: Kind::Positive,
        setup: "The notation of placements: `---- ---- ---- 1234` and `---- ---3 --42 ---1`",
        reported: "Digits say in which order processes are created, dashes are processors not used; station 0 is left to the system",
        tolerance: "a placement reads as it is written, and puts the processes of a program exactly there",
        check: notation::placements,
    },
    Claim {
        id: "B93-Tab1.1",
        kind: Kind::Positive,
        setup: "The machines `ksr1`, `dash` and `hector-worst`",
        reported: "Cycles for a line by level: KSR1 18, 126 (and six times that on a remote ring); DASH 15, 29, 132; Hector 19, 29, 37",
        tolerance: "the model returns them exactly; strictly increasing by level",
        check: machines::levels,
    },
    Claim {
        id: "B93-Tab1.2",
        kind: Kind::Positive,
        setup: "The six kernels as programs",
        reported: "FFT, HOUGH, MM, NEURAL, PDE, SIMPLEX (three rows are lost in the text; Brecht 1997, table 2, has them)",
        tolerance: "all six are there as programs of a master and any number of slaves that ask for a processor each",
        check: machines::kernels,
    },
    Claim {
        id: "B93-Tab1.3",
        kind: Kind::Positive,
        setup: "Six kernels alone, d = 0: `---- ---- ---- 1234` against `---- ---3 --42 ---1`, 8 runs each (also figure 1.3)",
        reported: "FFT 4.84 to 4.71 s (2.7 %), MM 5.25 to 4.93 (6.1 %), PDE 5.45 to 5.36 (1.7 %); intervals at most 0.01 s; \"not large\"",
        tolerance: "I within 2 points of the printed ones for FFT, MM, PDE; all six at most 10 %; MM largest of the three; with their intervals",
        check: placements::table_1_3,
    },
    Claim {
        id: "B93-mp0",
        kind: Kind::Neutral,
        setup: "Three jobs at once and each alone, on a station each and spread over all three, with queueing on buses and the ring, d = 0",
        reported: "Localization was expected to gain even more under a multiprogrammed load, but \"contention is not significant\"",
        tolerance: "spreading costs as much at once as alone, within 2 %; with a fifth of the rate of buses and ring it does not",
        check: placements::multiprogrammed,
    },
    Claim {
        id: "B93-Tab1.4",
        kind: Kind::Positive,
        setup: "`hector-worst`, d in 0, 4, 8, 16, 32, 64",
        reported: "Cycles of load, store, line load and writeback to ring memory by d; local and on-station ones do not depend on d",
        tolerance: "exact equality, and the four linear formulas 27+2d, 17+d, 37+3d, 42+4d",
        check: machines::table_1_4,
    },
    Claim {
        id: "B93-Fig1.4",
        kind: Kind::Positive,
        setup: "As table 1.3 with d = 16",
        reported: "MM improves by more than 50 %, FFT 25 %, PDE 20 %, HOUGH 15 %; NEURAL not significantly",
        tolerance: "I(MM) ≥ 45, FFT ≥ 20, PDE ≥ 17 (%); in this order; |I(NEURAL)| ≤ 3; SIMPLEX > 3 (HOUGH's 15 % identifies its references)",
        check: placements::figure_1_4,
    },
    Claim {
        id: "B93-Fig1.5a",
        kind: Kind::Positive,
        setup: "Both placements, d in 0, 4, 8, 16, 32, 64",
        reported: "The benefit of localization grows with d for all but NEURAL",
        tolerance: "I(d) increasing over 0, 4, 8, 16, 32, 64 for the five, with disjoint intervals",
        check: delays::benefit_grows,
    },
    Claim {
        id: "B93-Fig1.5b",
        kind: Kind::Positive,
        setup: "Localized only, d from 0 to 64",
        reported: "MM and PDE do not change with d: everything they refer to is on the station",
        tolerance: "T(64)/T(0) ≤ 1.01 for MM, PDE",
        check: delays::unchanged,
    },
    Claim {
        id: "B93-Fig1.5c",
        kind: Kind::Negative,
        setup: "Localized only, d from 0 to 64",
        reported: "FFT, HOUGH, SIMPLEX and most of all NEURAL slow down although localized: remote tables, system calls to station 0",
        tolerance: "T(64)/T(0) ≥ 1.05 for these four; NEURAL largest",
        check: delays::slow_although_localized,
    },
    Claim {
        id: "B93-Fig1.5d",
        kind: Kind::Negative,
        setup: "NEURAL, d = 32 and 64, both placements, with queueing for shared services",
        reported: "Localization slightly degrades NEURAL: its processes ask for shared resources at the same time",
        tolerance: "at d ≥ 32: localized slower by 0.2 to 10 %, and by at least 0.2 % less without queueing",
        check: delays::neural_worse,
    },
    Claim {
        id: "B93-Fig1.6",
        kind: Kind::Positive,
        setup: "d = 16: `---- ---- ---- 1234` (system of 4), `---- ---- --43 --21` (8), `---- ---3 --42 ---1` (12)",
        reported: "The benefit grows with the size of the system except for NEURAL; the step from 8 to 12 is small",
        tolerance: "T(4) < T(8) by 0.5 %, T(8) ≤ T(12) for the five; T(12)-T(8) at most half of T(8)-T(4) for the majority; NEURAL within 3 %",
        check: placements::figure_1_6,
    },
    Claim {
        id: "B93-Fig1.7",
        kind: Kind::Positive,
        setup: "d = 16: `---- ---3 --42 ---1` against `---- ---3 --41 ---2` (parent and first child change places)",
        reported: "Every application is affected; MM and PDE differ by 15 %: children should be near the parent",
        tolerance: "10 to 20 % for MM and PDE with the second faster; the others at least 0.5 %",
        check: placements::figure_1_7,
    },
    Claim {
        id: "B93-concl",
        kind: Kind::Positive,
        setup: "All of the above",
        reported: "Placement has a minor effect in small, mildly NUMA systems; its importance grows with size and NUMAness",
        tolerance: "conjunction: what table 1.3 (minor), figures 1.4 and 1.5a (NUMAness) and figure 1.6 (size) demand holds",
        check: placements::conclusion,
    },
];
