//! Tests of verdicts on looks that are made up.

use super::*;

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;
const RATE: u64 = 512 * MIB;

/// Four nodes of 1 GiB, of which so many MiB are free.
fn free(mib: [u64; 4]) -> Vec<NodeMemory> {
    (0..4).map(|node| NodeMemory { node, total: 1024 * MIB, free: mib[node as usize] * MIB, reserve: MIB }).collect()
}

fn distances() -> Distances {
    let rows = [[10, 12, 20, 28], [12, 10, 20, 28], [20, 20, 10, 16], [28, 28, 16, 10]];
    let all = (0..4_u32).flat_map(|from| (0..4_u32).map(move |to| (from, to)));
    Distances(all.map(|(from, to)| ((from, to), rows[from as usize][to as usize])).collect())
}

/// Two processors on node 1, where the pages should be too; there since time 0.
fn at_one() -> Aim {
    Aim { processors: vec![(1, 2)], stay: vec![1], ..Aim::default() }
}

/// So many MiB on each node.
fn pages(mib: [u64; 4]) -> Sample {
    let own: BTreeMap<u32, u64> = (0..4).zip(mib.map(|mib| mib * MIB)).filter(|(_, bytes)| *bytes > 0).collect();
    Sample { movable: own.clone(), own, ..Sample::default() }
}

fn verdict(aim: &Aim, sample: &Sample, nodes: &[NodeMemory], now_ns: u64) -> Verdict {
    judge(aim, sample, nodes, &distances(), RATE, now_ns)
}

#[test]
fn who_is_at_home_is_left_alone() {
    let aim = at_one();
    let settled = verdict(&aim, &pages([0, 100, 0, 0]), &free([500; 4]), 10 * SECOND);
    assert_eq!(settled, Verdict::Settled);
    let mut schedule = Schedule::default();
    schedule.begin(5);
    let mut looks = 0;
    while let Some(next) = schedule.next_ns {
        looks += 1;
        schedule.looked(&aim, Verdict::Settled, 1000, next);
    }
    assert_eq!(looks, 4, "no wake-ups when nothing changes");
}

#[test]
fn pages_follow_when_it_is_worth_it() {
    let (aim, far) = (at_one(), pages([0, 0, 0, 64]));
    assert_eq!(verdict(&aim, &far, &free([500; 4]), SECOND / 20), Verdict::NotWorth);
    assert_eq!(verdict(&aim, &far, &free([500; 4]), SECOND), Verdict::Move(64 * MIB));
    // Nearly as near: it takes longer until that is worth it.
    let near = pages([64, 0, 0, 0]);
    assert_eq!(verdict(&aim, &near, &free([500; 4]), SECOND), Verdict::NotWorth);
    assert_eq!(verdict(&aim, &near, &free([500; 4]), 60 * SECOND), Verdict::Move(64 * MIB));
    // Nothing is known of where they should be, or nothing may be moved.
    assert_eq!(verdict(&Aim { stay: vec![], ..aim.clone() }, &far, &free([500; 4]), 60 * SECOND), Verdict::Settled);
    let never = judge(&aim, &far, &free([500; 4]), &distances(), 0, 60 * SECOND);
    assert_eq!(never, Verdict::NotWorth);
}

#[test]
fn pages_are_not_taken_away_from_their_threads() {
    // At home on node 1, but it runs on node 3, where its pages are.
    let aim = Aim { processors: vec![(3, 2)], ..at_one() };
    assert_eq!(verdict(&aim, &pages([0, 0, 0, 64]), &free([500; 4]), 600 * SECOND), Verdict::NotWorth);
}

#[test]
fn a_full_home_is_seen_and_never_filled_to_the_brim() {
    let (aim, far) = (at_one(), pages([0, 100, 0, 64]));
    assert_eq!(verdict(&aim, &far, &free([500, 31, 500, 500]), 60 * SECOND), Verdict::Spilled(64 * MIB));
    assert_eq!(verdict(&aim, &far, &free([500, 42, 500, 500]), 60 * SECOND), Verdict::Move(10 * MIB));
    let mut kept = free([500, 60, 500, 500]);
    kept[1].reserve = 60 * MIB;
    assert_eq!(verdict(&aim, &far, &kept, 60 * SECOND), Verdict::Spilled(64 * MIB), "the kernel keeps it back");
    assert_eq!(verdict(&aim, &far, &[], 60 * SECOND), Verdict::Spilled(64 * MIB), "a node that is gone has no room");
}

#[test]
fn what_the_program_has_placed_itself_does_not_count() {
    let mut own = pages([0, 0, 0, 64]);
    own.movable.clear();
    assert_eq!(verdict(&at_one(), &own, &free([500; 4]), 60 * SECOND), Verdict::Settled);
    assert!(own.has_own_policy() && !pages([0, 0, 0, 64]).has_own_policy());
    assert_eq!(own.at_home_permille(&[1]), 0);
    assert_eq!(pages([1, 3, 0, 0]).at_home_permille(&[1, 2]), 750);
    assert_eq!(Sample::default().at_home_permille(&[1]), 1000);
}

#[test]
fn who_is_not_as_wanted_is_looked_at_ever_more_seldom() {
    let aim = at_one();
    let mut schedule = Schedule::default();
    schedule.begin(0);
    let mut times = Vec::new();
    while times.len() < 12 {
        let now = schedule.next_ns.unwrap();
        times.push(now);
        schedule.looked(&aim, Verdict::NotWorth, 1000, now);
    }
    assert_eq!(times[..4], [100_000_000, 500_000_000, 2_500_000_000, 12_500_000_000]);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.is_sorted() && *gaps.last().unwrap() == LOOK_LAST_NS, "{gaps:?}");
    // A look that takes long is not repeated soon.
    schedule.begin(0);
    schedule.looked(&aim, Verdict::NotWorth, SECOND, SECOND);
    assert_eq!(schedule.next_ns, Some(101 * SECOND));
    // Threads outside their home are a reason to go on looking.
    let outside = Aim { processors: vec![(1, 1), (2, 1)], ..at_one() };
    for _ in 0..8 {
        schedule.looked(&outside, Verdict::Settled, 0, 0);
    }
    assert!(schedule.next_ns.is_some());
}

#[test]
fn the_rate_holds_over_every_stretch_of_time() {
    let mut bucket = Bucket::new(RATE, 0);
    let (mut now, mut moved) = (0, 0_u64);
    while moved < 2048 * MIB {
        now = bucket.ready_ns(MIB).max(now);
        let allowed = bucket.allows(now);
        assert!(allowed >= MIB - 1, "ready means ready: {allowed}");
        // A huge page may be larger than the rest.
        let batch = allowed.max(2 * MIB);
        bucket.spend(batch);
        moved += batch;
    }
    let most = now * RATE / SECOND + BURST_BYTES.unsigned_abs() + 2 * MIB;
    assert!(moved <= most && now <= 2048 * MIB * SECOND / RATE + SECOND, "{moved} bytes in {now} ns");
    // However long the pause, no more than a burst.
    assert_eq!(bucket.allows(now + 3600 * SECOND), BURST_BYTES.unsigned_abs());
    let mut none = Bucket::new(0, 0);
    assert_eq!(none.allows(u64::MAX), 0);
}

#[test]
fn only_what_people_would_notice_is_news() {
    let before = pages([0, 100, 0, 0]);
    assert!(!before.differs(&before));
    assert!(before.differs(&pages([0, 90, 0, 10])) && before.differs(&pages([0, 0, 0, 0])));
    let mut little = before.clone();
    little.own.insert(0, 100 * 1024);
    assert!(!before.differs(&little));
}
