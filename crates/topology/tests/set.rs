//! `CpuSet` and `PuSet` behave like ordered sets, whatever is done to them.

use numaestro_topology::{CpuSet, PuId, PuSet};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

fn hash(set: &CpuSet) -> u64 {
    let mut hasher = DefaultHasher::new();
    set.hash(&mut hasher);
    hasher.finish()
}

fn set(items: &BTreeSet<u32>) -> CpuSet {
    items.iter().copied().collect()
}

fn items() -> impl Strategy<Value = BTreeSet<u32>> {
    prop::collection::btree_set(prop_oneof![0..130_u32, 0..5000_u32], 0..60)
}

proptest! {
    #[test]
    fn operations_match_an_ordered_set(a in items(), b in items()) {
        let (x, y) = (set(&a), set(&b));
        prop_assert_eq!(x.union(&y), set(&(&a | &b)));
        prop_assert_eq!(x.intersection(&y), set(&(&a & &b)));
        prop_assert_eq!(x.difference(&y), set(&(&a - &b)));
        prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
        prop_assert_eq!(x.common(&y), (&a & &b).len());
        prop_assert_eq!((x.len(), x.is_empty()), (a.len(), a.is_empty()));
        prop_assert_eq!((x.first(), x.last()), (a.first().copied(), a.last().copied()));
        prop_assert_eq!(x.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
        let mut z = CpuSet::new();
        z.clone_from(&x);
        prop_assert_eq!(&z, &x);
    }

    #[test]
    fn equality_and_hash_ignore_what_was_there_before(a in items(), far in 5000..9000_u32) {
        let plain = set(&a);
        let mut grown = plain.clone();
        prop_assert!(grown.insert(far));
        prop_assert!(!grown.insert(far));
        prop_assert!(grown != plain);
        prop_assert!(grown.remove(far));
        prop_assert!(!grown.remove(far));
        prop_assert_eq!(&grown, &plain);
        prop_assert_eq!(hash(&grown), hash(&plain));
        prop_assert_eq!(grown.words(), plain.words());
    }

    #[test]
    fn text_survives_a_round_trip(a in items()) {
        let set = set(&a);
        prop_assert_eq!(set.to_string().parse::<CpuSet>(), Ok(set.clone()));
        let mask: Vec<String> = set.words().iter().rev().map(|w| format!("0x{:08x},0x{:08x}", w >> 32, w & 0xffff_ffff)).collect();
        prop_assert_eq!(CpuSet::from_mask(&mask.join(",")), Ok(set));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", listlike in "[0-9,\\- ]{0,20}", masklike in "[0-9a-fx,]{0,40}") {
        for text in [text, listlike, masklike] {
            if let Ok(set) = text.parse::<CpuSet>() {
                prop_assert_eq!(set.to_string().parse::<CpuSet>(), Ok(set));
            }
            let _ = CpuSet::from_mask(&text);
        }
    }
}

#[test]
fn lists_are_linux_lists() {
    let check =
        |text: &str, expected: &str| assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), expected, "{text}");
    check("", "");
    check("\n", "");
    check("0", "0");
    check("0-3,8\n", "0-3,8");
    check("8,3,0-2,1", "0-3,8");
    check("63,64,127-128", "63-64,127-128");
    check("1048575", "1048575");
}

#[test]
fn wrong_lists_say_where() {
    let check = |text: &str, column: usize, found: &str| {
        let error = text.parse::<CpuSet>().unwrap_err();
        assert_eq!((error.column, error.found.as_str()), (column, found), "{text}");
    };
    check("0-3,x", 5, "x");
    check("0-", 3, "");
    check("-1", 1, "");
    check(" 3-1", 2, "3-1");
    check("1,,2", 3, "");
    check("0-1048576", 3, "1048576");
    check("99999999999999999999", 1, "99999999999999999999");
    check("+1", 1, "+1");
}

#[test]
fn in_place_operations_stay_within_the_capacity() {
    // An equal pointer to the words means that nothing was allocated anew.
    let mut set = PuSet::with_capacity(256);
    set.insert(PuId(0));
    let place = set.words().as_ptr();
    let other: PuSet = (0..256).map(PuId).collect();
    for _ in 0..3 {
        set.or_with(&other);
        set.subtract(&other);
        set.clone_from(&other);
        set.and_with(&[PuId(3)].into_iter().collect());
        set.insert(PuId(255));
        set.clear();
        set.insert(PuId(17));
    }
    assert_eq!(set.words().as_ptr(), place);
}

#[test]
fn words_are_those_of_the_shared_page() {
    let set: CpuSet = "0,63,64".parse().unwrap();
    assert_eq!(set.words(), [1 | 1 << 63, 1]);
    assert!(CpuSet::new().words().is_empty());
}
