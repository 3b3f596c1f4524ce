//! Formation of groups: the cases Brecht 1997 prints, and what holds for all.

use numaestro_topology::{Formation, FormationError, GroupTree, Groups, Level, PuId, PuSet, synthetic};
use proptest::prelude::*;

/// Three stations of four processors: the machine of Brecht 1997.
const HECTOR: &str = "numa:3 core:4 pu:1";

fn sets(groups: &Groups) -> Vec<String> {
    (0..groups.len()).map(|group| groups.set(group).to_string()).collect()
}

fn form(machine: &str, formation: &Formation) -> Result<Vec<String>, FormationError> {
    let machine = synthetic::parse(machine).unwrap();
    Groups::form(&machine, formation, machine.allowed()).map(|groups| sets(&groups))
}

#[test]
fn equal_pools_of_the_paper() {
    let check = |k, expected: &[&str]| assert_eq!(form(HECTOR, &Formation::Equal(k)).unwrap(), expected, "k={k}");
    check(12, &["0-11"]);
    check(6, &["0-5", "6-11"]);
    check(4, &["0-3", "4-7", "8-11"]);
    check(2, &["0-1", "2-3", "4-5", "6-7", "8-9", "10-11"]);
    assert_eq!(form(HECTOR, &Formation::Equal(1)).unwrap().len(), 12);
}

#[test]
fn whole_stations_first_where_slices_would_tear_more_apart() {
    let pools = form("numa:5 core:4 pu:1", &Formation::Equal(5)).unwrap();
    assert_eq!(pools, ["0-3,16", "4-7,17", "8-11,18", "12-15,19"]);
    assert_eq!(form(HECTOR, &Formation::Equal(5)).unwrap().len(), 3);
}

#[test]
fn the_cases_of_the_paper_also_beside_a_reserved_station() {
    // Hector has four stations; the system keeps the first (Brecht 1997, §5).
    let machine = synthetic::parse("numa:4 core:4 pu:1").unwrap();
    let within = "4-15".parse().unwrap();
    let check = |k, expected: &[&str]| {
        let groups = Groups::form(&machine, &Formation::Equal(k), &within).unwrap();
        assert_eq!(sets(&groups), expected, "k={k}");
        assert!((0..4).all(|pu| groups.of(PuId(pu)).is_none()));
    };
    check(12, &["4-15"]);
    check(6, &["4-9", "10-15"]);
    check(4, &["4-7", "8-11", "12-15"]);
    check(2, &["4-5", "6-7", "8-9", "10-11", "12-13", "14-15"]);
    check(1, &["4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"]);
}

#[test]
fn a_station_of_processors_with_memory_of_their_own_is_a_package() {
    let form = |formation| form("pack:3 numa:4 core:1 pu:1", &formation).unwrap();
    assert_eq!(form(Formation::ByArchitecture), ["0-3", "4-7", "8-11"]);
    assert_eq!(form(Formation::Equal(6)), ["0-5", "6-11"]);
    assert_eq!(form(Formation::Equal(5)).len(), 3);
}

#[test]
fn the_architecture_is_the_smallest_level_with_several_cores() {
    let form = |machine| form(machine, &Formation::ByArchitecture).unwrap();
    assert_eq!(form("numa:2 l3:2 core:2 pu:1"), ["0-1", "2-3", "4-5", "6-7"]);
    assert_eq!(form("numa:2 l3:2 core:1 pu:2"), ["0-3", "4-7"]);
    assert_eq!(form("numa:2 core:1 pu:2"), ["0-3"], "nothing to divide by but single cores");
    assert_eq!(form("core:1 pu:1"), ["0"]);
}

#[test]
fn groups_of_groups() {
    let machine = synthetic::parse("pack:2 numa:1 l3:2 core:3 pu:1").unwrap();
    let levels = [Formation::ByLevel(Level::Package), Formation::ByLevel(Level::Llc), Formation::Equal(2)];
    let tree = GroupTree::form(&machine, &levels, machine.allowed()).unwrap();
    assert_eq!(tree.depth(), 3);
    assert_eq!(sets(tree.level(0)), ["0-5", "6-11"]);
    assert_eq!(sets(tree.level(1)), ["0-2", "3-5", "6-8", "9-11"]);
    assert_eq!(sets(tree.leaves()), ["0-1", "2", "3-4", "5", "6-7", "8", "9-10", "11"]);
    assert_eq!((tree.children(0, 1), tree.children(1, 3), tree.children(2, 0)), (2..4, 6..8, 0..0));
    assert_eq!((tree.parent(0, 1), tree.parent(1, 3), tree.parent(2, 5)), (None, Some(1), Some(2)));
    let by_size = GroupTree::form(&machine, &[Formation::Equal(6), Formation::Equal(3)], machine.allowed()).unwrap();
    assert_eq!(sets(by_size.leaves()), ["0-2", "3-5", "6-8", "9-11"]);
    let one = GroupTree::form(&machine, &[], machine.allowed()).unwrap();
    assert_eq!((one.depth(), sets(one.leaves())), (1, vec!["0-11".to_owned()]));
    let too_many = [Formation::Equal(6), Formation::Unequal(vec![7])];
    assert!(GroupTree::form(&machine, &too_many, machine.allowed()).is_err());
}

#[test]
fn sizes_can_be_given() {
    assert_eq!(form(HECTOR, &Formation::Unequal(vec![6, 2])).unwrap(), ["0-5", "6-7", "8-11"]);
    assert_eq!(form(HECTOR, &Formation::Unequal(vec![])).unwrap(), ["0-11"]);
    assert_eq!(form(HECTOR, &Formation::Unequal(vec![3, 0])), Err(FormationError::Empty));
    let too_many = FormationError::TooMany { wanted: 13, available: 12 };
    assert_eq!(form(HECTOR, &Formation::Unequal(vec![12, 1])), Err(too_many));
    assert_eq!(form(HECTOR, &Formation::Equal(0)), Err(FormationError::Empty));
}

#[test]
fn levels_are_those_of_the_hardware() {
    let machine = synthetic::parse("pack:2 numa:2 l3:2 core:2 pu:2").unwrap();
    let count = |level| machine.groups(level).len();
    let counts: Vec<usize> = Level::ALL.into_iter().map(count).collect();
    assert_eq!(counts, [32, 16, 8, 4, 2, 1]);
}

#[test]
fn nearness_orders_levels_and_then_nodes() {
    let machine = synthetic::parse("pack:2 numa:2 l3:2 core:2 pu:2").unwrap();
    let nearest_first: Vec<_> = [0, 1, 2, 4, 8, 16].map(|q| machine.distance(PuId(0), PuId(q))).to_vec();
    assert!(nearest_first.is_sorted_by(|a, b| a < b), "{nearest_first:?}");
    let levels: Vec<Level> = nearest_first.iter().map(|d| d.level).collect();
    assert_eq!(levels, Level::ALL);
}

fn machines() -> impl Strategy<Value = String> {
    (1..3_u32, 1..4_u32, 1..3_u32, 1..5_u32, 1..3_u32)
        .prop_map(|(pack, numa, l3, core, pu)| format!("pack:{pack} numa:{numa} l3:{l3} core:{core} pu:{pu}"))
}

proptest! {
    #[test]
    fn groups_cover_everything_once(text in machines(), k in 1..20_u32, level in 0..6_usize, hole in 0..64_u32) {
        let machine = synthetic::parse(&text).unwrap();
        let within = machine.all().difference(&[PuId(hole)].into_iter().collect());
        for formation in [Formation::ByLevel(Level::ALL[level]), Formation::Equal(k), Formation::Unequal(vec![1; within.len() / 2])] {
            let groups = Groups::form(&machine, &formation, &within).unwrap();
            let mut seen = PuSet::new();
            for (number, members) in groups.iter().enumerate() {
                prop_assert!(!members.is_empty());
                prop_assert!(members.is_sorted());
                for &pu in members {
                    prop_assert!(seen.insert(pu), "twice");
                    prop_assert_eq!(groups.of(pu), Some(number));
                    prop_assert!(groups.set(number).contains(pu));
                }
            }
            prop_assert_eq!(&seen, &within);
            prop_assert_eq!(groups.of(PuId(9999)), None);
            if formation == Formation::Equal(k) {
                let sizes: Vec<usize> = groups.iter().map(<[PuId]>::len).collect();
                let (low, high) = (sizes.iter().min().copied().unwrap_or(0), sizes.iter().max().copied().unwrap_or(0));
                prop_assert!(high <= k as usize && high - low <= 1);
            }
        }
    }
}
