//! The objects of a program that own parallel regions or a pool of threads, as the program says.
//!
//! A word of [`LibraryRow::state`]: bits 0–7 how the library is steered, 8–15 why, 16–23 the number
//! of its runtime's bit in [`runtime`](super::runtime), 32–63 threads. 0: the row is not used.

use crate::sync::{AtomicU32, AtomicU64};

/// Rows of the table.
pub const LIBRARIES: usize = if cfg!(loom) { 0 } else { 13 };

/// An object of the program that owns parallel regions or a pool of threads.
#[repr(C)]
#[derive(Debug, Default)]
pub struct LibraryRow {
    /// Its name as bytes, padded with zeros: the file's, without `.so` and what follows it.
    pub name: [AtomicU64; 3],
    /// See the file's header.
    pub state: AtomicU64,
}

/// 0x240, written by the program: any thread of it, a row's state in one store.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Libraries {
    /// 1: some object found no room in the table.
    pub full: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU32; 7],
    /// The table.
    pub rows: [LibraryRow; LIBRARIES],
}

impl Default for Libraries {
    fn default() -> Self {
        Self {
            full: AtomicU32::default(),
            reserved: Default::default(),
            rows: std::array::from_fn(|_| LibraryRow::default()),
        }
    }
}

/// Its teams keep their size, and have a processor for each thread.
pub const WHOLE: u64 = 1;
/// The same with fewer processors: folded in user space.
pub const USER: u64 = 2;
/// The same, folded by the kernel. Bits 8–15 are one of [`why`](super::why).
pub const KERNEL: u64 = 3;
/// The size of its teams follows the allocation.
pub const FOLLOWS: u64 = 4;
/// Its own setter is told the number of threads.
pub const SET: u64 = 5;
/// Its questions about numbers of threads are answered with the allocation.
pub const ANSWERED: u64 = 6;
/// It is left alone.
pub const LEFT: u64 = 7;
/// The user named it, and no object of that name has been seen.
pub const ABSENT: u64 = 8;

/// Values of bits 8–15 for all but [`KERNEL`]: reasons.
pub mod because {
    /// Nothing in particular.
    pub const NOTHING: u64 = 0;
    /// The user said so, by a profile or an option.
    pub const USER: u64 = 1;
    /// The program has set another number by itself.
    pub const PROGRAM: u64 = 2;
    /// Class `fold`.
    pub const CLASS: u64 = 3;
    /// The user asks for its setter, and none is known.
    pub const UNKNOWN: u64 = 4;
}

/// How it is steered; a program may have written anything.
pub const fn how(state: u64) -> u64 {
    state & 0xff
}

/// The reason.
pub const fn why(state: u64) -> u64 {
    state >> 8 & 0xff
}

/// The bit of its runtime; 0 if it is not known.
pub const fn runtime(state: u64) -> u32 {
    match state >> 16 & 0xff {
        bit @ 0..32 => 1 << bit,
        _ => 0,
    }
}

/// Threads of its latest team, or the number that was set.
pub const fn threads(state: u64) -> u32 {
    (state >> 32) as u32
}
