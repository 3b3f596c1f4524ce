//! Who has the machine. Tests run side by side. A test that measures, or that looks at who runs
//! where, takes the machine for itself by [`alone`]; every other one that starts programs shares it
//! by [`beside`].
//!
//! Both are locks of a file in the build directory, so they also hold between test programs that
//! run at the same time, whoever has started them.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

thread_local! {
    /// What this test holds already. The harness gives each test a thread.
    static HELD: RefCell<Weak<File>> = const { RefCell::new(Weak::new()) };
}

/// A share of the machine, or all of it; given back when it is dropped.
#[derive(Debug)]
pub struct Held {
    _lock: Arc<File>,
}

/// Waits until no other test has a share of the machine, and keeps others out.
///
/// `directory` is `env!("CARGO_TARGET_TMPDIR")`, the same one for all tests of a build directory.
///
/// # Panics
/// If this test shares the machine already: it would wait for itself.
#[track_caller]
pub fn alone(directory: impl AsRef<Path>) -> Held {
    assert!(held().is_none(), "a test takes the machine for itself before it starts anything");
    take(directory.as_ref(), File::lock)
}

/// Waits until no test has the machine for itself, and shares it with others. A test that has the
/// machine for itself, or shares it, goes on at once.
///
/// `directory` is that of [`alone`].
///
/// # Panics
/// If the directory cannot be written.
pub fn beside(directory: impl AsRef<Path>) -> Held {
    held().map_or_else(|| take(directory.as_ref(), File::lock_shared), |lock| Held { _lock: lock })
}

fn held() -> Option<Arc<File>> {
    HELD.with_borrow(Weak::upgrade)
}

/// Whoever wants the machine queues at the gate, so that one who wants it alone is not overtaken
/// for ever by those who share it.
fn take(directory: &Path, how: fn(&File) -> io::Result<()>) -> Held {
    let open = |name: &str| File::options().create(true).append(true).open(directory.join(name));
    let lock = open("machine.gate").and_then(|gate| {
        gate.lock()?;
        let machine = open("machine.lock")?;
        how(&machine)?;
        Ok(Arc::new(machine))
    });
    let lock = lock.unwrap_or_else(|error| panic!("the machine's lock in {}: {error}", directory.display()));
    HELD.set(Arc::downgrade(&lock));
    Held { _lock: lock }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::Duration;

    /// Longer than a thread that need not wait takes.
    const WHILE: Duration = Duration::from_millis(200);

    fn place(name: &str) -> std::path::PathBuf {
        let place = std::env::temp_dir().join(format!("numaestro-machine-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a directory");
        place
    }

    /// Another test that takes it: says so when it has it, and gives it back at once.
    fn other(place: &Path, take: fn(&Path) -> Held) -> Receiver<()> {
        let (tell, told) = channel();
        let place = place.to_owned();
        thread::spawn(move || {
            let _held = take(&place);
            let _ = tell.send(());
        });
        told
    }

    #[test]
    fn those_who_share_it_run_at_the_same_time() {
        let place = place("shared");
        let _held = beside(&place);
        other(&place, |place| beside(place)).recv().expect("it does not wait");
        std::fs::remove_dir_all(place).expect("ours");
    }

    #[test]
    fn who_has_it_alone_keeps_all_others_out() {
        let place = place("alone");
        let held = alone(&place);
        // A part of the same test.
        drop(beside(&place));
        let (shares, wants_all) = (other(&place, |place| beside(place)), other(&place, |place| alone(place)));
        assert!(shares.recv_timeout(WHILE).is_err() && wants_all.recv_timeout(WHILE).is_err(), "nobody waits");
        drop(held);
        shares.recv().and_then(|()| wants_all.recv()).expect("both have it in the end");
        std::fs::remove_dir_all(place).expect("ours");
    }

    #[test]
    fn who_wants_it_alone_waits_for_those_who_share_it_and_comes_before_later_ones() {
        let place = place("queue");
        let (first, second) = (beside(&place), beside(&place));
        let wants_all = other(&place, |place| alone(place));
        assert!(wants_all.recv_timeout(WHILE).is_err(), "it does not wait");
        let late = other(&place, |place| beside(place));
        drop(first);
        assert!(late.recv_timeout(WHILE).is_err(), "it overtakes");
        assert!(wants_all.try_recv().is_err(), "the second share is one, too");
        drop(second);
        wants_all.recv().and_then(|()| late.recv()).expect("both have it in the end");
        std::fs::remove_dir_all(place).expect("ours");
    }

    #[test]
    #[should_panic(expected = "before it starts anything")]
    fn who_shares_it_cannot_wait_for_itself() {
        let place = place("itself");
        let _held = beside(&place);
        let _ = std::fs::remove_dir_all(&place);
        alone(&place);
    }
}
