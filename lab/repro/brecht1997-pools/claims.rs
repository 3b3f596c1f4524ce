//! The claims of Brecht 1997, each with the tolerance for our result. The files beside this one
//! check them.

mod fits;
mod isolation;
mod shapes;
mod sizes;
mod spanning;
mod tables;
mod widths;

use crate::{Basis, Claim, Kind, Paper, hector};
use numaestro_sim::read::Text;

/// On Hector, 12 processors, streams of kernels; placement `worst-fit` unless said.
pub const PAPER: Paper = Paper {
    key: "brecht1997-pools",
    short: "B97",
    citation: "T. Brecht: An Experimental Evaluation of Processor Pool-Based Scheduling for Shared-Memory NUMA Multiprocessors. JSSPP, Geneva 1997",
    basis: Basis {
        file: Text::new("lab/repro/brecht1997-pools/inputs.toml", include_str!("inputs.toml")),
        constants: &hector::NAMES,
        rows: &hector::ROWS,
    },
    claims: &CLAIMS,
};

const CLAIMS: [Claim; 22] = [
    Claim {
        id: "B97-Tab1",
        kind: Kind::Positive,
        setup: "`hector-worst`, all delays, with the station's row",
        reported: "Cycles of load, store, line load and writeback: local 10, 10, 19, 19; station 19, 9, 29, 62; ring by delay",
        tolerance: "exact",
        check: crate::brecht1993_placement::table_1_4,
    },
    Claim {
        id: "B97-Tab2",
        kind: Kind::Positive,
        setup: "Each kernel alone, on one processor and on the four of a station, d = 0",
        reported: "S(4): FFT 2.9, HOUGH 3.4, MM 3.4, NEURAL 3.8, PDE 3.7, SIMPLEX 2.4",
        tolerance: "simulated S(4) within 5 %",
        check: tables::speedups,
    },
    Claim {
        id: "B97-Fig1a",
        kind: Kind::Neutral,
        setup: "3 streams of 4 processes, 225 jobs, pools of 1, 2, 4, 6, 12, d = 0",
        reported: "Without delay pools bring no significant gain",
        tolerance: "|I(4 over 12)| ≤ 8 % of all jobs, not significant by the bars of one run, and at least 10 points below that at d = 16",
        check: sizes::no_gain_without_delay,
    },
    Claim {
        id: "B97-Fig1b",
        kind: Kind::Positive,
        setup: "3 streams of 4 processes, pools of 1, 2, 4, 6, 12, d = 0, 8, 16",
        reported: "The gain grows with the delay and is substantial at 16",
        tolerance: "I(4 over 12) of all jobs increases 0 < 8 < 16; at 16 at least 10 %, and significant by the bars of one run",
        check: sizes::gain_grows,
    },
    Claim {
        id: "B97-Fig1c",
        kind: Kind::Positive,
        setup: "3 streams of 4 processes, pools of 1, 2, 4, 6, 12, d = 16",
        reported: "The closer the pool size is to 4, the better",
        tolerance: "R(4) < R(2) < R(1) and R(4) < R(6) < R(12), each by 1 %; with 4, at most 5 % of the children on another station",
        check: sizes::best_at_four,
    },
    Claim {
        id: "B97-Fig1d",
        kind: Kind::Neutral,
        setup: "3 streams of 4 processes, pools of 6 against 12, d = 16",
        reported: "Two pools of six: a trend to better, not significant",
        tolerance: "I(6 over 12) at least 1 %, significant by the bars of one run in at most half of the runs, 4 over 12 in at least half",
        check: sizes::six_hardly_better,
    },
    Claim {
        id: "B97-Fig1e",
        kind: Kind::Negative,
        setup: "3 streams of 4 processes, pools of 4 against 12, d = 0, 8, 16: NEURAL",
        reported: "NEURAL is not improved: system calls overshadow its locality",
        tolerance: "4 and 12 within 4 % at every d, while all jobs differ by more at d = 16",
        check: sizes::neural_not_improved,
    },
    Claim {
        id: "B97-Fig1f",
        kind: Kind::Neutral,
        setup: "3 streams of 4 processes, 12 pools of 1 against 1 pool of 12, d = 0, 8, 16",
        reported: "Both are as without pools, but for the overhead of managing 12",
        tolerance: "within 5 % with random ties, while pools of 4 differ by more",
        check: sizes::both_are_no_pools,
    },
    Claim {
        id: "B97-Fig2a",
        kind: Kind::Neutral,
        setup: "1 stream of 8 processes, 125 jobs, d = 16, all pool sizes",
        reported: "With eight processes response is not significantly affected by the pool size",
        tolerance: "every size within 8 % of 12, and not significant by the bars of one run; with four processes 4 and 12 differ by more",
        check: sizes::eight_not_affected,
    },
    Claim {
        id: "B97-Fig2b",
        kind: Kind::Positive,
        setup: "6 streams of 2 processes, 300 jobs, d = 16, all pool sizes",
        reported: "Pools of 2 and 4 are best, with no difference between them; NEURAL excepted",
        tolerance: "R(2) within 3 % of R(4), while R(12) differs by more; both below R(6) and R(12) by 1 %",
        check: sizes::two_and_four_alike,
    },
    Claim {
        id: "B97-Fig2c",
        kind: Kind::Positive,
        setup: "3 streams of 4 processes, d = 16, all pool sizes",
        reported: "With four processes mean response is least with pools of four",
        tolerance: "least at 4, as B97-Fig1c",
        check: sizes::best_at_four_again,
    },
    Claim {
        id: "B97-Fig2d",
        kind: Kind::Negative,
        setup: "MM with 8 processes against 4, d = 16, all pool sizes",
        reported: "With eight processes MM is as slow as with four or slower, whatever the pool size",
        tolerance: "R8(MM) ≥ 0.97 R4(MM) for every size",
        check: sizes::more_is_not_better,
    },
    Claim {
        id: "B97-Fig3a",
        kind: Kind::Positive,
        setup: "2 streams of HOUGH, MM, SIMPLEX with 6 processes, 90 jobs, d = 16",
        reported: "Pools of 4 and 6 are best; HOUGH and SIMPLEX do not differ significantly between them",
        tolerance: "R(4), R(6) < R(1), R(2), R(12) of all jobs by 1 %; R(4) within 5 % of R(6) for HOUGH and SIMPLEX",
        check: widths::four_and_six_best,
    },
    Claim {
        id: "B97-Fig3b",
        kind: Kind::Positive,
        setup: "2 streams of HOUGH, MM, SIMPLEX with 6 processes, d = 16: MM",
        reported: "MM is clearly better with pools of 4 than of 6: architecture counts more than parallelism",
        tolerance: "R(4) < R(6) by 5 %",
        check: widths::architecture_counts_more,
    },
    Claim {
        id: "B97-Fig4",
        kind: Kind::Positive,
        setup: "Two jobs A, B of 6 processes; pools of 4 and of 6",
        reported: "Pools of 4: each has 4 on a station of its own and 2 on the one between; pools of 6: a pool each, the parent may be alone",
        tolerance: "exact counts by station; parent on the station with most of its processes: always with 4, not always with 6",
        check: shapes::two_wide_jobs,
    },
    Claim {
        id: "B97-Fig5a",
        kind: Kind::Positive,
        setup: "3 streams of 4 processes, pools of 4, d = 16: first-fit against worst-fit",
        reported: "Worst-Fit is significantly better; three of five applications by 20 % or more",
        tolerance: "I(worst over first) ≥ 17 % for at least 3 kernels; all jobs lower by 5 %; NEURAL within 4 %",
        check: fits::worst_over_first,
    },
    Claim {
        id: "B97-Fig6",
        kind: Kind::Positive,
        setup: "3 streams of 4 processes, pools of 4, d = 16, first-fit: who has which processor at regular times",
        reported: "Sometimes every application has a station of its own (lines 12-17), sometimes a station has processes of three (22-23)",
        tolerance: "both kinds occur; samples with 2 or more jobs on a station: 20 to 80 % first-fit (about half of the printed lines), none worst-fit",
        check: fits::trace,
    },
    Claim {
        id: "B97-WFjobs",
        kind: Kind::Neutral,
        setup: "3 streams of 4 processes, pools of 4, d = 16: worst-fit by processors against by jobs; and streams of unequal width",
        reported: "Both behaved similarly; by jobs is expected to isolate better under other workloads",
        tolerance: "within 3 %, while First-Fit differs by more; with jobs of unequal width by jobs isolates better by 1 %",
        check: isolation::by_jobs,
    },
    Claim {
        id: "B97-BF",
        kind: Kind::Positive,
        setup: "Three jobs arrive in an empty system, pools of 4",
        reported: "Best-Fit and First-Fit may place all three in one pool, Worst-Fit places them in three",
        tolerance: "exact",
        check: shapes::three_arrivals,
    },
    Claim {
        id: "B97-cont",
        kind: Kind::Neutral,
        setup: "3 streams of 4 processes, d = 16, queueing for buses, modules and the ring; pools of 4 against 12",
        reported: "Pools should reduce contention for the interconnection network; it was not observed on this machine",
        tolerance: "the ratio of ring use is reported; there is no threshold",
        check: isolation::contention,
    },
    Claim {
        id: "B97-span",
        kind: Kind::Positive,
        setup: "Five streams of 4 processes on 12 processors, pools of 4 and 2, worst-fit and first-fit: every creation",
        reported: "Applications may span pools, which is avoided when possible; creations fail only when all processors are allocated",
        tolerance: "a process goes to another pool only if those of its application are full; refused only if no processor is free; one process a processor",
        check: spanning::invariants,
    },
    Claim {
        id: "B97-concl",
        kind: Kind::Positive,
        setup: "Figures 1 to 3 together",
        reported: "The best pool size depends on parallelism and architecture, and the architecture matters more",
        tolerance: "what B97-Fig1c, Fig2b and Fig3b demand holds",
        check: widths::conclusion,
    },
];
