//! The kernel's part: a word that threads sleep on.

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread::{self, Thread};
use std::sync::Mutex;

/// As in the kernel, a sleeper is seen to wait before it compares the word, and a waker has written
/// the word before it looks for sleepers; each has a full barrier between the two.
pub struct Futex {
    pub word: AtomicU32,
    sleepers: Mutex<Vec<Thread>>,
}

impl Futex {
    pub fn new() -> Self {
        Self { word: AtomicU32::new(0), sleepers: Mutex::new(Vec::new()) }
    }

    /// `sleep_on` of team.c. May return early.
    pub fn sleep_on(&self, value: u32) {
        let itself = thread::current();
        self.sleepers.lock().unwrap().push(itself.clone());
        fence(Ordering::SeqCst);
        if self.word.load(Ordering::Relaxed) == value {
            thread::park();
        }
        self.sleepers.lock().unwrap().retain(|sleeper| sleeper.id() != itself.id());
    }

    /// `sleep_on` with a time: others go first.
    pub fn sleep_a_little() {
        thread::yield_now();
    }

    /// `wake` of team.c.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        let sleepers = std::mem::take(&mut *self.sleepers.lock().unwrap());
        sleepers.iter().for_each(Thread::unpark);
    }
}
