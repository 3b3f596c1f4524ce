//! The page's protocol: how a decision of the manager is read and adopted.

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use numaestro_abi::page::Page;
use numaestro_abi::protocol::{Target, adopt, adopted, read, write};

/// In these tests decision `n` has count, flags and cpuset made from `n`, so that a torn copy
/// shows.
fn decision(n: u32) -> Target {
    Target { epoch: n, count: n, flags: n, decided_ns: u64::from(n), memory: n, nodes: [], cpuset: [u64::from(n)] }
}

fn assert_whole(target: &Target) {
    assert_eq!(*target, decision(target.epoch));
}

/// What the manager writes is read whole or not at all, also when it writes while the program
/// reads.
#[test]
fn a_decision_is_never_torn() {
    loom::model(|| {
        let page = Arc::new(Page::default());
        write(&page, &decision(1));
        let manager = {
            let page = Arc::clone(&page);
            thread::spawn(move || write(&page, &decision(2)))
        };
        if let Some(target) = read(&page) {
            assert_whole(&target);
        }
        manager.join().unwrap();
        assert_eq!(read(&page).unwrap().epoch, 2);
    });
}

/// The program's side: the root thread and the helper thread adopt under one lock; `place` is where
/// its threads are.
fn carry_out(page: &Page, lock: &Mutex<u32>, place: &AtomicU64, folded: bool) {
    let mut in_force = lock.lock().unwrap();
    if page.manager.epoch.load(Ordering::Relaxed) == *in_force {
        return;
    }
    if let Some(target) = read(page) {
        assert_whole(&target);
        place.store(target.cpuset[0], Ordering::Relaxed);
        *in_force = target.epoch;
        adopt(page, target.epoch, folded);
    }
}

/// When the manager sees that decision 2 is adopted, no thread of the program is where decision 1
/// had put it: the processor can be given to another application. Root and helper race for it.
/// Three threads: bounded to three preemptions, because all interleavings of their two dozen
/// accesses do not end.
#[test]
fn adopted_means_vacated() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let page = Arc::new(Page::default());
        let lock = Arc::new(Mutex::new(0));
        let place = Arc::new(AtomicU64::new(0));
        write(&page, &decision(1));
        carry_out(&page, &lock, &place, false);
        let others: Vec<_> = [false, true]
            .into_iter()
            .map(|folded| {
                let (page, lock, place) = (Arc::clone(&page), Arc::clone(&lock), Arc::clone(&place));
                thread::spawn(move || carry_out(&page, &lock, &place, folded))
            })
            .collect();
        write(&page, &decision(2));
        let given_away = adopted(&page) == 2;
        if given_away {
            assert_eq!(place.load(Ordering::Relaxed), 2);
        }
        for other in others {
            other.join().unwrap();
        }
        // Whoever comes by next finishes the work: nothing is lost.
        carry_out(&page, &lock, &place, false);
        assert_eq!(adopted(&page), 2);
        assert_eq!(place.load(Ordering::Relaxed), 2);
    });
}

/// The futex word: a helper that found nothing new and goes to sleep on the old epoch is woken by,
/// or does not sleep through, the next decision. `asleep` stands for the kernel's check of the word
/// under its own lock.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let page = Arc::new(Page::default());
        let kernel = Arc::new(Mutex::new(false));
        let woken = Arc::new(AtomicU32::new(0));
        write(&page, &decision(1));
        let helper = {
            let (page, kernel) = (Arc::clone(&page), Arc::clone(&kernel));
            thread::spawn(move || {
                let mut asleep = kernel.lock().unwrap();
                // FUTEX_WAIT compares under the lock of the queue.
                *asleep = page.manager.epoch.load(Ordering::SeqCst) == 1;
                *asleep
            })
        };
        write(&page, &decision(2));
        // FUTEX_WAKE takes the same lock.
        let found_asleep = std::mem::take(&mut *kernel.lock().unwrap());
        if found_asleep {
            woken.store(1, Ordering::SeqCst);
        }
        let slept = helper.join().unwrap();
        assert!(!slept || woken.load(Ordering::SeqCst) == 1);
    });
}
