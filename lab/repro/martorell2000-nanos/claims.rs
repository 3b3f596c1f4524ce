//! The claims of Martorell et al. 2000, each with the tolerance for our result. The files beside
//! this one check them.

mod constants;
mod cpuset;
mod defined;
mod gangs;
mod mechanisms;
mod policy;
mod programs;
mod rows;
mod runs;
mod search_cost;
mod searches;
mod system;
mod times;

use crate::{Basis, Claim, Kind, Paper};
use numaestro_sim::read::Text;

/// On an SGI Origin2000 with 64 processors: NAS and `SPEC95fp` under the native library and under
/// the policies of the NANOS CPU manager.
pub const PAPER: Paper = Paper {
    key: "martorell2000-nanos",
    short: "N",
    citation: "X. Martorell, J. Corbalán, D. S. Nikolopoulos, N. Navarro, E. D. Polychronopoulos, T. S. Papatheodorou, J. Labarta: \
               A Tool to Schedule Parallel Applications on Multiprocessors: The NANOS CPU Manager, JSSPP (LNCS 1911), Cancun 2000",
    basis: Basis {
        file: Text::new("lab/repro/martorell2000-nanos/inputs.toml", include_str!("inputs.toml")),
        constants: &constants::NAMES,
        rows: &rows::ROWS,
    },
    claims: &CLAIMS,
};

const CLAIMS: [Claim; 25] = [
    Claim {
        id: "N-Tab1t",
        kind: Kind::Positive,
        setup: "sp.W 8, bt.W 12, epd.S 2-16, ft.W 8, cg.W 16 again and again on 32 processors, 80 s: native library, Cluster",
        reported: "SP 34.7 to 26.7 s, BT 18.8 to 7.51 s, CG 21.1 to 1.67 s",
        tolerance: "ratio from 1.15 to 1.47 (SP), 1.5 to 4.2 (BT), 4 to 40 (CG), CG's the largest",
        check: cpuset::times,
    },
    Claim {
        id: "N-Tab1ft",
        kind: Kind::Neutral,
        setup: "The same",
        reported: "FT behaves the same with 4 processors as with up to 8: 1.03 and 1.04 s",
        tolerance: "within ± 10 %",
        check: cpuset::ft,
    },
    Claim {
        id: "N-Tab1epd",
        kind: Kind::Negative,
        setup: "The same; and with no better priority for new processes",
        reported: "EPD 1.37 to 1.92 s: the native library creates processes at each request, perhaps with a high priority",
        tolerance: "slower by 10 to 80 % under Cluster; no longer by 10 % without the better priority",
        check: cpuset::epd,
    },
    Claim {
        id: "N-Tab1sys",
        kind: Kind::Positive,
        setup: "The same",
        reported: "System time of a thread: 1.26 to 0.04, 2.01 to 0.01, 0.17 to 0.02, 0.10 to 0.03, 2.48 to 0.01 s",
        tolerance: "ratio ≥ 3 for each program",
        check: cpuset::system,
    },
    Claim {
        id: "N-Tab1alloc",
        kind: Kind::Positive,
        setup: "The requests of table 1 in its order, EPD asking for 8, 10, 12, 14, 16",
        reported: "CG and FT get 4 processors under Cluster",
        tolerance: "exact: 8, 8, 8, 4, 4",
        check: defined::division,
    },
    Claim {
        id: "N-Fig5",
        kind: Kind::Positive,
        setup: "As table 1: instances that end within 80 s",
        reported: "More instances of each application are executed in the same time",
        tolerance: "more under Cluster in all, of SP, of BT and of CG",
        check: cpuset::instances,
    },
    Claim {
        id: "N-Tab2sp",
        kind: Kind::Positive,
        setup: "sp.A 32, bt.A 24, epd.W 2-8, cg.A 8, ft.A 8, mg.A 8, cg.A 8 again and again on 64 processors, 480 s: native library, SSW-DSS, VTQ-DSS",
        reported: "SP 236.6 to 98.5 and 101.1 s",
        tolerance: "ratio from 1.7 to 3.4 (SSW-DSS), 3.2 (VTQ-DSS)",
        check: gangs::sp,
    },
    Claim {
        id: "N-Tab2ftmg",
        kind: Kind::Positive,
        setup: "The same",
        reported: "FT 65.2 to 35.9 and 37.1 s, MG 63.6 to 35.5 and 38.2 s",
        tolerance: "ratio from 1.3 to 2.5, 2.4 (FT), 2.5, 2.1 (MG)",
        check: gangs::ft_mg,
    },
    Claim {
        id: "N-Tab2bt",
        kind: Kind::Neutral,
        setup: "The same",
        reported: "BT 120.0 to 113.5 and 133.1 s: nearly the same",
        tolerance: "SSW-DSS within ± 15 %; VTQ-DSS from 25 % slower to 10 % faster",
        check: gangs::bt,
    },
    Claim {
        id: "N-Tab2cg",
        kind: Kind::Neutral,
        setup: "The same, both instances of CG",
        reported: "CG 14.7 to 19.1 and 18.9 s, 14.7 to 18.6 and 18.1 s (the text: nearly the same)",
        tolerance: "slower by 0 to 40 %",
        check: gangs::cg,
    },
    Claim {
        id: "N-Tab2epd",
        kind: Kind::Negative,
        setup: "The same",
        reported: "EPD 70.8 to 128.7 and 110.2 s",
        tolerance: "1.15 to 2.9 times as slow (SSW-DSS), 2.1 (VTQ-DSS)",
        check: gangs::epd,
    },
    Claim {
        id: "N-Fig6-7",
        kind: Kind::Positive,
        setup: "The same: instances of SP that end within 480 s",
        reported: "Up to four under VTQ-DSS, two with the native library",
        tolerance: "1.5 to 2.7 times as many",
        check: gangs::instances,
    },
    Claim {
        id: "N-SSWvVTQ",
        kind: Kind::Neutral,
        setup: "The same: SSW-DSS against VTQ-DSS",
        reported: "SP, BT, FT, MG a little faster with SSW-DSS, EPD and CG with VTQ-DSS",
        tolerance: "none differs by more than 25 %",
        check: gangs::no_winner,
    },
    Claim {
        id: "N-Tab3",
        kind: Kind::Positive,
        setup: "Five ltomcatv, three times each, five at a time: native library, PDPA",
        reported: "165.9 to 47.0 s, in all 606 to 132 s; allocations stay once they are found",
        tolerance: "in all 2 to 10.5 times as fast; no change of a found allocation while it wants all it ever did",
        check: searches::ltomcatv,
    },
    Claim {
        id: "N-Tab4",
        kind: Kind::Positive,
        setup: "Three tomcatv and three turb3d, three times each, four at a time: native library, PDPA",
        reported: "33.36 to 15.63 s, 48.69 to 42.71 s, in all 251 to 148 s",
        tolerance: "in all 1.3 to 2.2 times as fast; searches cost ≤ 5 % of run times",
        check: searches::turb3d,
    },
    Claim {
        id: "N-Tab5",
        kind: Kind::Positive,
        setup: "Three swim and three apsi, three times each, four at a time: native library, PDPA",
        reported: "74.46 to 7.28 s, 354 to 112 s, in all 1082 to 237 s",
        tolerance: "in all 2.5 to 8.3 times as fast; swim gains more than apsi; apsi has ≤ 2 after its search; swim ≥ 2 times what it has with the library",
        check: searches::apsi,
    },
    Claim {
        id: "N-search",
        kind: Kind::Neutral,
        setup: "As table 4",
        reported: "The search is not introducing a noticeable overhead",
        tolerance: "searches cost ≤ 5 % of run times, against the processors found from the beginning",
        check: searches::overhead,
    },
    Claim {
        id: "N-ML",
        kind: Kind::Positive,
        setup: "As tables 3 and 5: how many run at once under PDPA",
        reported: "The multiprogramming level is raised where applications do not use processors efficiently",
        tolerance: "table 5: more than 4 on average; table 3, where all scale: never more than 5",
        check: searches::level,
    },
    Claim {
        id: "N-range",
        kind: Kind::Positive,
        setup: "All of tables 1 to 5",
        reported: "Benefits from 15 % to 100 % (abstract); single applications more than two, workloads 4 times as fast, and all policies better (§7), \
                   which EPD and CG contradict",
        tolerance: "a table; a program more than twice as fast, and EPD slower in both tables",
        check: searches::range,
    },
    Claim {
        id: "N-sync",
        kind: Kind::Positive,
        setup: "Two teams of 64 threads that cannot shrink on 64 processors, with recovery of preempted work and without",
        reported: "Nobody waits for preempted partners",
        tolerance: "waiting at meetings < 0.5 of that without recovery",
        check: mechanisms::partners,
    },
    Claim {
        id: "N-switch",
        kind: Kind::Positive,
        setup: "Four alike on 64 processors, another of three policies that divide alike each second",
        reported: "The policy can be changed at run time without overhead",
        tolerance: "slower by ≤ 2 %",
        check: mechanisms::switches,
    },
    Claim {
        id: "N-Fig1",
        kind: Kind::Positive,
        setup: "One program at a time under PDPA, each with a known speedup",
        reported: "States of the search (drawing missing): NO_REF, P_INC, P_DEC, P_STABLE and tests",
        tolerance: "exact: 4, 2, 1; by two up to 18, and back after each test; by two up to 32",
        check: defined::states,
    },
    Claim {
        id: "N-Fig2",
        kind: Kind::Positive,
        setup: "As table 1 for 10 s: when counts change",
        reported: "Each quantum: collect requests, decide, move processors, rebuild the work-list, from which others take what is released",
        tolerance: "counts fall only at the end of a quantum or by their own request, and do rise between",
        check: defined::quantum,
    },
    Claim {
        id: "N-Fig3",
        kind: Kind::Positive,
        setup: "The algorithm by which a processor is given to an application",
        reported: "The virtual processor used last, then a stolen one, then any that is unallocated",
        tolerance: "unit tests",
        check: defined::elsewhere,
    },
    Claim {
        id: "N-Fig4",
        kind: Kind::Positive,
        setup: "The idle loop of the thread library",
        reported: "Release what is asked for, then recover preempted work, then take work",
        tolerance: "unit tests",
        check: defined::elsewhere,
    },
];
