//! Tests on a kernel that is played, and on the real one as far as one node goes.

use super::super::{MemoryPolicy, memory_policy_permitted, parse_numa_maps};
use super::*;

/// Pages by address, and the kernel's treatment of some of them.
#[derive(Default)]
struct Played {
    nodes: BTreeMap<u64, i32>,
    busy: Vec<u64>,
    shared: Vec<u64>,
    /// Moving this page stops the call, and the kernel writes no status for the pages behind it.
    stops_at: Option<u64>,
    /// Pages that the target still has room for.
    room: Option<u64>,
    gone: bool,
    moved_to: BTreeMap<i32, u64>,
}

impl Pages for Played {
    fn look(&mut self, addresses: &[u64], status: &mut [i32]) -> io::Result<()> {
        if self.gone {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        for (at, status) in addresses.iter().zip(status) {
            *status = self.nodes.get(at).copied().unwrap_or(-libc::ENOENT);
        }
        Ok(())
    }

    fn shift(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
        for ((at, node), status) in addresses.iter().zip(nodes).zip(status) {
            if self.stops_at == Some(*at) {
                self.stops_at = None;
                return Ok(());
            }
            if self.room == Some(0) {
                return Err(io::Error::from_raw_os_error(libc::ENOMEM));
            }
            if self.busy.contains(at) {
                *status = -libc::EBUSY;
            } else if self.shared.contains(at) {
                *status = -libc::EACCES;
            } else {
                self.nodes.insert(*at, *node);
                self.room = self.room.map(|room| room - 1);
                *self.moved_to.entry(*node).or_default() += 1;
            }
        }
        Ok(())
    }
}

const PAGE: u64 = 4096;

fn target(stay: &[u32], to: &[u32]) -> Target {
    Target { stay: stay.to_vec(), to: to.to_vec() }
}

/// `pages` pages on node 0 from 0x10000 on, one address of three without a page, and a walk that
/// brings them to node 1.
fn scene(pages: u64) -> (Walk, Played) {
    let mut played = Played::default();
    let addresses: Vec<u64> = (0..pages * 3 / 2).map(|page| 0x10000 + page * PAGE).collect();
    played.nodes = addresses.iter().enumerate().filter(|(i, _)| i % 3 != 1).map(|(_, at)| (*at, 0)).collect();
    let there = played.nodes.len();
    let areas = parse_numa_maps(&format!("10000 default anon={there} N0={there} kernelpagesize_kB=4"));
    let ends = BTreeMap::from([(0x10000, 0x10000 + pages * 3 / 2 * PAGE)]);
    (Walk::through(1, target(&[1], &[1]), &areas, &ends), played)
}

fn to_the_end(walk: &mut Walk, played: &mut Played) -> Batch {
    let mut sum = Batch::default();
    for _ in 0..10_000 {
        let batch = walk.step_with(played, 100, 40).unwrap();
        assert!(batch.looked < 100 + CALL_PAGES as u64 && batch.moved < 40 + CALL_PAGES as u64);
        sum.looked += batch.looked;
        sum.moved += batch.moved;
        sum.busy += batch.busy;
        sum.shared += batch.shared;
        (sum.full, sum.forbidden, sum.done) = (batch.full, batch.forbidden, batch.done);
        if batch.done {
            return sum;
        }
    }
    panic!("it does not end: {sum:?}");
}

#[test]
fn everything_that_is_elsewhere_moves_once() {
    let (mut walk, mut played) = scene(2000);
    let sum = to_the_end(&mut walk, &mut played);
    assert_eq!(sum.moved, 2000);
    assert!(played.nodes.values().all(|node| *node == 1));
    assert_eq!(played.moved_to[&1], 2000);
}

#[test]
fn what_cannot_be_moved_is_counted_and_holds_up_nothing() {
    let (mut walk, mut played) = scene(1000);
    let there: Vec<u64> = played.nodes.keys().copied().collect();
    (played.busy, played.shared) = (there[10..13].to_vec(), there[500..507].to_vec());
    played.stops_at = Some(there[700]);
    let sum = to_the_end(&mut walk, &mut played);
    assert_eq!((sum.moved, sum.busy, sum.shared), (990, 3, 7));
}

#[test]
fn a_full_node_ends_it_and_a_dead_process_is_an_error() {
    let (mut walk, mut played) = scene(1000);
    played.room = Some(300);
    let sum = to_the_end(&mut walk, &mut played);
    assert!(sum.full && sum.done);
    assert_eq!(sum.moved, 300);
    let (mut walk, mut played) = scene(100);
    played.gone = true;
    assert_eq!(walk.step_with(&mut played, 10, 10).unwrap_err().raw_os_error(), Some(libc::ESRCH));
}

#[test]
fn several_nodes_take_turns() {
    let (mut walk, mut played) = scene(1000);
    walk.target = target(&[1, 2, 3], &[1, 2, 3]);
    to_the_end(&mut walk, &mut played);
    let counts: Vec<u64> = played.moved_to.values().copied().collect();
    assert_eq!(counts.iter().sum::<u64>(), 1000);
    assert!(counts.iter().all(|count| (320..=350).contains(count)), "{counts:?}");
}

#[test]
fn only_the_programs_own_memory_without_a_policy_of_its_own_is_walked() {
    let areas = parse_numa_maps(
        "1000 default anon=4 N0=4 kernelpagesize_kB=4\n\
         2000 bind:0 anon=4 N0=4 kernelpagesize_kB=4\n\
         3000 prefer=static:1 anon=4 N0=4 kernelpagesize_kB=4\n\
         4000 default file=/a mapped=4 N0=4 kernelpagesize_kB=4\n\
         5000 default anon=4 N1=4 kernelpagesize_kB=4\n\
         6000 default anon=4 N0=4 kernelpagesize_kB=4\n\
         7000 prefer:1 anon=4 N0=4 kernelpagesize_kB=4\n\
         8000 default file=/a anon=4 mapped=1 N0=4 kernelpagesize_kB=4\n",
    );
    let maps = "1000-2000 rw-p 0 00:00 0\n2000-3000 rw-p 0 00:00 0\n3000-4000 rw-p 0 00:00 0 [heap]\n4000-5000 r--p 0 08:01 7 /a\n\
        5000-6000 rw-p 0 00:00 0\n6000-7000 rw-s 0 00:00 0 /dev/shm/x\n7000-8000 rw-p 0 00:00 0\n8000-9000 rw-p 0 08:01 7 /a\n";
    let walk = Walk::through(1, target(&[1], &[1]), &areas, &parse_maps(maps));
    let mut starts: Vec<u64> = walk.ranges.iter().map(|range| range.at).collect();
    starts.sort_unstable();
    assert_eq!(starts, [0x1000, 0x3000, 0x8000]);
}

#[test]
fn maps_leave_out_what_is_shared_or_special() {
    let text = "7f00-8000 rw-p 00000000 00:00 0 [vvar]\n8000-9000 r-xp 0 00:00 0 [vdso]\n9000-a000 rw-s 0 00:05 3 /dev/zero (deleted)\n\
        a000-b000 rw-p 0 00:00 0 [anon: glibc: malloc]\nb000-c000 rw-p 00000000 00:00 0\ngarbage\nc000-b000 rw-p 0 0 0\n";
    assert_eq!(parse_maps(text), BTreeMap::from([(0xa000, 0xb000), (0xb000, 0xc000)]));
}

#[test]
fn own_memory_is_seen_by_the_kernel_and_stays_as_it_is() {
    if let Err(why) = memory_policy_permitted() {
        numaestro_skip::skip!("no memory policies: {why}");
    }
    let memory = std::hint::black_box(vec![7_u8; 8 << 20]);
    let me = std::process::id();
    let node = super::super::node_memory().unwrap()[0].node;
    let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let mut walk = Walk::new(child.id(), target(&[node], &[node])).unwrap();
    // On one node everything is where it should be; on several the child's pages come here.
    while !walk.step(4096, 4096).unwrap().done {}
    child.kill().unwrap();
    child.wait().unwrap();
    let mut addresses: Vec<u64> =
        (0..1024).map(|page| memory.as_ptr() as u64 / PAGE * PAGE + (page + 1) * PAGE).collect();
    addresses.push(PAGE);
    let mut status = vec![UNTOLD; addresses.len()];
    OfProcess(me).look(&addresses, &mut status).unwrap();
    assert!(status[..1024].iter().all(|node| *node >= 0), "{status:?}");
    assert!(status[1024] < 0, "nothing is mapped there");
    // Moved to where it is: nothing happens.
    let nodes: Vec<i32> = status[..1024].to_vec();
    OfProcess(me).shift(&addresses[..1024], &nodes, &mut status[..1024]).unwrap();
    assert_eq!(status[..1024], nodes);
    assert!(memory.iter().all(|byte| *byte == 7));
    let gone = Walk::new(1 << 30, Target::default()).unwrap_err();
    assert!(gone.is_gone());
    assert_eq!(MemoryPolicy::none().to_string(), "default");
}
