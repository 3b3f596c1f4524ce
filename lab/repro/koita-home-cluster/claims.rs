//! The claims of Koita et al., each with the tolerance for our result. The files beside this one
//! check them.

mod existing;
mod forks;
mod loads;
mod machine;
mod runs;

use crate::{Basis, Claim, Kind, Paper, Row};
use numaestro_sim::read::Text;

/// On 64 processors in 16 clusters, synthetic processes that fork and join; the paper prints no
/// numbers.
pub const PAPER: Paper = Paper {
    key: "koita-home-cluster",
    short: "K",
    citation: "T. Koita, T. Katayama, K. Saisho, A. Fukuda: Memory Conscious Scheduling for Cluster-based NUMA Multiprocessors",
    basis: Basis {
        file: Text::new("lab/repro/koita-home-cluster/inputs.toml", include_str!("inputs.toml")),
        constants: &CONSTANTS,
        rows: &ROWS,
    },
    claims: &CLAIMS,
};

/// The constants that the experiments ask for.
const CONSTANTS: [&str; 7] =
    ["remote cost", "local cost", "forks", "own share", "interval follows work", "hits", "serial part"];

/// The rows that identify some of them.
const ROWS: [Row; 3] = [
    Row {
        name: "congestion",
        quantity: "response under HS-Con at 125 % over that at 25 %",
        measure: loads::congestion,
    },
    Row {
        name: "K-Fig2c",
        quantity: "largest relative difference of Con and Dist under FR, FH, FP",
        measure: loads::pages_without_home,
    },
    Row {
        name: "K-Fig3a",
        quantity: "largest relative difference of eight policies, forks of one or two",
        measure: forks::spread_when_few,
    },
];

/// Table 1.
const TEN: [&str; 10] =
    ["FR-Dist", "FR-Con", "FH-Dist", "FH-Con", "FP-Dist", "FP-Con", "HB-Dist", "HB-Con", "HS-Dist", "HS-Con"];
/// The policies of table 1 that reserve nothing.
const CLUSTER_FREE: [&str; 6] = ["FR-Dist", "FR-Con", "FH-Dist", "FH-Con", "FP-Dist", "FP-Con"];
/// The policies of table 1 that reserve a home.
const HOME_CLUSTER: [&str; 4] = ["HB-Dist", "HB-Con", "HS-Dist", "HS-Con"];
/// The paper's best policy.
const BEST: &str = "HS-Con";

const CLAIMS: [Claim; 11] = [
    Claim {
        id: "K-Fig1",
        kind: Kind::Positive,
        setup: "The machine `k64`",
        reported: "64 processors in 16 clusters, a memory module each; cache : local : remote = 1 : 1.3 : 4.8",
        tolerance: "exact",
        check: machine::model,
    },
    Claim {
        id: "K-Tab1",
        kind: Kind::Positive,
        setup: "The presets",
        reported: "Ten policies: FR, FH, FP, HB, HS, each with distributed and concentrated pages",
        tolerance: "all ten by name, and each is the combination that its name says",
        check: machine::ten_policies,
    },
    Claim {
        id: "K-Fig2a",
        kind: Kind::Neutral,
        setup: "All ten at 25 %, forks of 4",
        reported: "When the load level is low, the difference between the policies is small",
        tolerance: "(max - min)/min ≤ 15 %, while at 75 % it is more",
        check: loads::small_when_low,
    },
    Claim {
        id: "K-Fig2b",
        kind: Kind::Positive,
        setup: "All ten at 75 and 100 %, forks of the usual mean",
        reported: "As the load level increases, the home-cluster policies become better than the cluster-free ones",
        tolerance: "max(HB*, HS*) < min(FR*, FH*, FP*) by 1 %",
        check: loads::home_better,
    },
    Claim {
        id: "K-Fig2c",
        kind: Kind::Neutral,
        setup: "FR, FH, FP at 75 %, forks of the usual mean",
        reported: "Among cluster-free policies the difference between concentrated and distributed pages is small",
        tolerance: "Con within 15 % of Dist, while HS-Con and HS-Dist differ by more",
        check: loads::pages_do_not_matter_without_home,
    },
    Claim {
        id: "K-Fig2d",
        kind: Kind::Positive,
        setup: "HB, HS at 75, 100 and 125 %, forks of the usual mean",
        reported: "Among home-cluster policies concentrated pages are better",
        tolerance: "HB-Con < HB-Dist, HS-Con < HS-Dist by 1 %",
        check: loads::pages_matter_with_home,
    },
    Claim {
        id: "K-Fig2e",
        kind: Kind::Positive,
        setup: "All ten at 25, 50, 75, 100 and 125 %, forks of the usual mean",
        reported: "HS-Con gives the smallest mean response time of all",
        tolerance: "smallest by 1 % at each load from 50 % on, within 3 % of the smallest below",
        check: loads::best_of_ten,
    },
    Claim {
        id: "K-Fig3a",
        kind: Kind::Neutral,
        setup: "All ten at the interval of 75 % with forks of the usual mean; forks of 1",
        reported: "When few threads are forked, the difference is small except for HS-Con and HS-Dist",
        tolerance: "(max - min)/min of the other eight ≤ 15 %",
        check: forks::small_when_few,
    },
    Claim {
        id: "K-Fig3b",
        kind: Kind::Positive,
        setup: "The same; forks of 1, 2, 4, 8 and 16",
        reported: "HS-Con gives the smallest mean response time over the entire range",
        tolerance: "smallest at each point, within 3 %",
        check: forks::best_over_the_range,
    },
    Claim {
        id: "K-Fig4",
        kind: Kind::Positive,
        setup: "HS-Con, EQUI in two readings, DYN and LIM (these with distributed pages) at 25 to 125 %, forks of the usual mean",
        reported: "HS-Con is better than the existing policies, under every load",
        tolerance: "smaller than each by 1 % from 50 % on, at most 1.03 times below",
        check: existing::better_than_existing,
    },
    Claim {
        id: "K-mech",
        kind: Kind::Positive,
        setup: "All ten at 75 %, forks of the usual mean: share of cache misses that go to remote memory",
        reported: "With HS-Con scheduling and page placement reduce the overhead of remote access together",
        tolerance: "remote(HS-Con) ≤ 0.5 remote(HB-Con) and less than under each of the other nine by 1 %",
        check: loads::fewer_remote_references,
    },
];
