//! A child on all processors has left the share of its parent and is to size itself, or nobody has
//! moved the two yet.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use numaestro_host::{affinity, procfs};
use numaestro_topology::CpuSet;

use super::Trees;

const APP: u64 = 1;

/// A manager moves the program onto this share.
fn place(trees: &mut Trees, root: u32, share: &CpuSet) {
    trees.place(APP, root, &BTreeSet::new(), share).unwrap();
    trees.settled(APP);
}

#[test]
fn a_child_that_has_left_the_share_of_its_parent_is_not_moved_back() {
    let whole = affinity::get(0).unwrap();
    let share: CpuSet = whole.iter().take(1).collect();
    if whole == share {
        numaestro_skip::skip!("one processor only");
    }
    let mut shell = Command::new("sh")
        .args(["-c", "read line; sleep 100 & read line; kill $!"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let root = shell.id();
    let manager = || {
        let mut trees = Trees::new(PathBuf::from("/nobody/attach"));
        trees.enter(APP, root, Some(whole.clone()), None, &whole);
        trees
    };
    let mut trees = manager();
    place(&mut trees, root, &share);
    // At the end of its input it ends its child.
    let mut input = shell.stdin.take().unwrap();
    writeln!(input).unwrap();
    let child = loop {
        let tree = procfs::tree(root, &BTreeSet::new()).unwrap();
        if let Some(child) = tree.into_iter().find(|pid| *pid != root) {
            break child;
        }
        std::thread::yield_now();
    };
    // As the stub does where the next program is to count all processors.
    affinity::set(child, &whole).unwrap();
    place(&mut trees, root, &share);
    assert_eq!([root, child].map(|pid| affinity::get(pid).unwrap()), [share.clone(), whole.clone()]);
    // Another manager finds both on everything: they have not been moved yet.
    affinity::set(root, &whole).unwrap();
    place(&mut manager(), root, &share);
    assert_eq!([root, child].map(|pid| affinity::get(pid).unwrap()), [share.clone(), share]);
    drop(input);
    shell.wait().unwrap();
}
