//! Tests of [`super`]: masks of threads that are ours to change, and of others.

use super::*;

/// For the tests that move threads of this process: one of them moves them all.
static THIS_PROCESS: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_child_is_moved_and_back() {
    let mut child = std::process::Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().unwrap();
    let all = get(0).unwrap();
    let one: CpuSet = all.iter().take(1).collect();
    // The shell's own child appears a moment later; the tree is followed until it is in.
    while procfs::tree(child.id(), &BTreeSet::new()).unwrap().len() < 2 {
        std::thread::yield_now();
    }
    let moved = set_tree(child.id(), &BTreeSet::new(), &one, &mut anybody).unwrap();
    assert!(moved.threads >= 2);
    for pid in procfs::tree(child.id(), &BTreeSet::new()).unwrap() {
        assert_eq!(get(pid).unwrap(), one);
    }
    set_tree(child.id(), &BTreeSet::new(), &all, &mut anybody).unwrap();
    assert_eq!(get(child.id()).unwrap(), all);
    for pid in procfs::tree(child.id(), &BTreeSet::new()).unwrap() {
        let _ = std::process::Command::new("kill").arg(pid.to_string()).status();
    }
    child.wait().unwrap();
    assert!(set_process(child.id(), &all, &mut anybody).unwrap_err().is_gone());
}

#[test]
fn a_mask_is_made_whole_once() {
    let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let all = get(0).unwrap();
    let one: CpuSet = all.iter().take(1).collect();
    set_process(child.id(), &one, &mut anybody).unwrap();
    let changed = u32::from(one != all);
    assert_eq!(restore_process(child.id(), &all, &mut anybody).unwrap(), Moved { threads: 1, changed });
    assert_eq!(get(child.id()).unwrap(), all);
    assert_eq!(restore_process(child.id(), &all, &mut anybody).unwrap(), Moved { threads: 1, changed: 0 });
    // More than there is cannot be had, and is no change.
    let more: CpuSet = all.iter().chain([63, 64]).collect();
    assert_eq!(restore_process(child.id(), &more, &mut anybody).unwrap().changed, 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(restore_process(child.id(), &all, &mut anybody).unwrap_err().is_gone());
}

#[test]
fn ready_threads_part_at_once() {
    use std::sync::atomic::{AtomicBool, Ordering};
    /// Lets the spinning threads go, also where the test fails.
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let _alone = THIS_PROCESS.lock().unwrap();
    let all = get(0).unwrap();
    if all.len() < 2 {
        numaestro_skip::skip!("one processor only");
    }
    let ends = AtomicBool::new(false);
    let (announce, spinners) = std::sync::mpsc::channel();
    let spin = |announce: std::sync::mpsc::Sender<u32>| {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        set(tid, &all.iter().take(1).collect()).unwrap();
        announce.send(tid).unwrap();
        while !ends.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        let _ends = Ends(&ends);
        for _ in 0..2 {
            let announce = announce.clone();
            scope.spawn(move || spin(announce));
        }
        // Threads of other tests are ready in this process too.
        let ours = [spinners.recv().unwrap(), spinners.recv().unwrap()];
        let places = || {
            let all = procfs::ready_places(std::process::id()).into_iter();
            all.filter(|(tid, _)| ours.contains(tid)).collect::<Vec<_>>()
        };
        let one = all.first().unwrap();
        // On a busy machine the kernel may move a thread once more before it is looked at: now
        // and then, not most of the time.
        let mut parted = Vec::new();
        for _ in 0..11 {
            for tid in ours {
                set(tid, &std::iter::once(one).collect()).unwrap();
            }
            let pairs = loop {
                let pairs = places();
                if pairs.iter().filter(|(_, place)| *place == one).count() == 2 {
                    break pairs;
                }
                std::thread::yield_now();
            };
            for tid in ours {
                set(tid, &all).unwrap();
            }
            part(pairs.clone(), &all);
            let second = places().into_iter().find(|(tid, _)| *tid == pairs[1].0);
            parted.push(second.is_some_and(|(_, place)| place != one));
            assert!(ours.iter().all(|tid| get(*tid).unwrap() == all), "they are kept nowhere");
        }
        assert!(parted.iter().filter(|parted| **parted).count() > 5, "{parted:?}");
    });
}

#[test]
fn every_thread_is_moved() {
    let _alone = THIS_PROCESS.lock().unwrap();
    let stop = std::sync::Arc::new(std::sync::Barrier::new(9));
    let all = get(0).unwrap();
    let one: CpuSet = all.iter().take(1).collect();
    let handles: Vec<_> = (0..8)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
                set(tid, &get(0).unwrap()).unwrap();
                stop.wait();
                stop.wait();
                get(0).unwrap()
            })
        })
        .collect();
    stop.wait();
    set_process(std::process::id(), &one, &mut anybody).unwrap();
    stop.wait();
    for handle in handles {
        assert_eq!(handle.join().unwrap(), one);
    }
    set_process(std::process::id(), &all, &mut anybody).unwrap();
}
