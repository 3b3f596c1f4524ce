//! What the real-process tests share: a manager in a directory of its own, the test programs, and
//! something that keeps changing everybody's allocation. It knows the command and the status it
//! prints, and nothing inside the manager.
//!
//! Every test file is a program of its own and uses a part of this.
#![allow(dead_code)]

pub mod crowd;
pub mod ended;
pub mod flipper;
pub mod manager;
pub mod nth;
pub mod programs;
pub mod shaker;

use numaestro_skip::machine::{self, Held};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// After this long without an end, something hangs. Generous, because the machine may be shared: a
/// minute, or `NUMAESTRO_TEST_HANG` seconds.
pub fn hang() -> Duration {
    Duration::from_secs(number("NUMAESTRO_TEST_HANG", 60))
}

/// This test measures, or looks at who runs where: no other one runs meanwhile.
#[track_caller]
pub fn turn() -> Held {
    machine::alone(env!("CARGO_TARGET_TMPDIR"))
}

/// This test shares the machine with others, unless it has its [`turn`].
pub fn beside() -> Held {
    machine::beside(env!("CARGO_TARGET_TMPDIR"))
}

/// Waits until `condition` holds; false if it does not within [`hang`].
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + hang();
    while !condition() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// What `check` complains of in these cases. As many workers go through them as there are
/// processors; each checks with a helper of its own, such as a manager.
pub fn complaints_of<T: Sync, H: Send>(
    cases: &[T],
    helper: impl Fn() -> H,
    check: impl Fn(&H, &T) -> Option<String> + Sync,
) -> String {
    let next = AtomicUsize::new(0);
    let (next, check) = (&next, &check);
    std::thread::scope(|scope| {
        let start = |helper: H| {
            scope.spawn(move || -> Vec<String> {
                let cases = std::iter::from_fn(|| cases.get(next.fetch_add(1, Ordering::Relaxed)));
                cases.filter_map(|case| check(&helper, case)).collect()
            })
        };
        let workers: Vec<_> = (0..processors()).map(|_| start(helper())).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("it says what is wrong")).collect()
    })
}

/// A number from the environment, for longer runs than the usual ones.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Processors this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether the tests run as root, who can become somebody else.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a command can be run here.
pub fn has(command: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(command).is_file()))
}

/// Small random numbers (xorshift, Marsaglia 2003), from `NUMAESTRO_TEST_SEED` where it is set.
pub struct Dice(u64);

impl Dice {
    /// The usual seed is fixed: a failure can be looked for again, as far as real processes allow.
    pub fn new(salt: u64) -> Self {
        Self(number("NUMAESTRO_TEST_SEED", 20_260_801).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (salt + 1))
    }

    /// One of its own for each seed and salt.
    pub fn seeded(seed: u64, salt: u64) -> Self {
        let mut dice =
            Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (salt + 1).wrapping_mul(0xd6e8_feb8_6659_fd93) | 1);
        dice.roll(2);
        dice
    }

    /// Below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    /// A time below `most`.
    pub fn time(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.roll(most.as_micros() as u64))
    }
}
