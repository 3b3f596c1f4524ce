//! The basis of the lock-free protocols of this crate: atomics and a futex, or loom's model of them
//! (`RUSTFLAGS="--cfg loom"`).

#[cfg(not(loom))]
mod real {
    pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

    /// Sleeps while `word` is `value`. May return early: the caller looks again.
    pub fn futex_wait(word: &AtomicU32, value: u32, timeout: Option<std::time::Duration>) {
        let time = timeout.map(|timeout| libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos().cast_signed()),
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `word` is a live, aligned 32-bit word and `time` is null or a live timespec; the
        // kernel reads both and writes neither.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                value,
                time,
                std::ptr::null::<u32>(),
                0,
            );
        }
    }

    /// Wakes one thread that sleeps on `word`.
    pub fn futex_wake(word: &AtomicU32) {
        // SAFETY: the address is only a key for the kernel; nothing is read or written through it.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
        }
    }
}

#[cfg(loom)]
mod real {
    pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

    /// In the model a sleeper lets others go first and looks again: a lost wake shows as a run
    /// without end.
    pub fn futex_wait(_word: &AtomicU32, _value: u32, _timeout: Option<std::time::Duration>) {
        loom::thread::yield_now();
    }

    /// In the model the change of the word is enough.
    pub fn futex_wake(_word: &AtomicU32) {}
}

pub use real::*;
