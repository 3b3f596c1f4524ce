//! Loops that move a known number of cache lines to or from memory, and one that moves none.
//!
//! Caches of servers hold hundreds of megabytes, so "a buffer larger than the cache" would be a
//! nuisance in itself. Where the processor allows it (x86) lines are read and put out of all caches
//! at once behind the reader, or written past the caches; then a small buffer does, and it leaves
//! no trace in anybody's cache. Elsewhere a large buffer is walked through.

use std::hint::black_box;

use super::LINE_BYTES;

/// One cache line.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u64; 8]);

const _: () = assert!(size_of::<Line>() as u64 == LINE_BYTES);

/// Lines moved at a time, between two looks at a clock: some microseconds.
pub(super) const LINES: usize = 1024;

/// Lines of the buffer: where lines leave the caches by themselves, a small one; else more than
/// most caches hold.
const BUFFER_LINES: usize = if cfg!(target_arch = "x86_64") { 16 * LINES } else { 1024 * LINES };

/// Memory of one thread to move lines to and from.
pub(super) struct Buffer {
    lines: Vec<Line>,
    at: usize,
    flush: Flush,
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("lines", &self.lines.len()).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Buffer {
    /// Memory that is there: every page has been written.
    pub(super) fn new() -> Self {
        let mut lines = vec![Line([0; 8]); BUFFER_LINES];
        // Zeroed memory may be one page mapped many times; a value makes each its own.
        for line in &mut lines {
            line.0[0] = 1;
        }
        Self { lines, at: 0, flush: Flush::best() }
    }

    fn next(&mut self) -> &mut [Line] {
        let from = self.at;
        self.at = (from + LINES) % self.lines.len();
        &mut self.lines[from..][..LINES]
    }

    /// Reads [`LINES`] lines from memory.
    pub(super) fn read(&mut self) {
        let flush = self.flush;
        let lines = self.next();
        let mut sum = 0_u64;
        for line in &*lines {
            sum = sum.wrapping_add(line.0[0]);
            // A flush waits for the line's load, and later loads do not wait for it.
            flush.line(line);
        }
        black_box(sum);
    }

    /// Writes [`LINES`] lines to memory.
    pub(super) fn write(&mut self) {
        store(self.next());
    }
}

/// Arithmetic in registers that takes about as long as [`Buffer::read`].
pub(super) fn compute() {
    let mut value = black_box(1.0_f64);
    for _ in 0..LINES {
        value = black_box(value * 0.999 + 0.5);
    }
}

/// The way to put a line out of all caches.
#[derive(Clone, Copy)]
enum Flush {
    /// `clflushopt`: in any order with others.
    #[cfg(target_arch = "x86_64")]
    Unordered,
    /// `clflush`, which every x86-64 has.
    #[cfg(target_arch = "x86_64")]
    Ordered,
    /// Not at all: the buffer is large.
    #[cfg(not(target_arch = "x86_64"))]
    None,
}

impl Flush {
    #[cfg(target_arch = "x86_64")]
    fn best() -> Self {
        use std::arch::x86_64::{__cpuid, __cpuid_count};
        const LEAF: u32 = 7;
        const CLFLUSHOPT: u32 = 1 << 23;
        let there = __cpuid(0).eax >= LEAF && __cpuid_count(LEAF, 0).ebx & CLFLUSHOPT != 0;
        if there { Self::Unordered } else { Self::Ordered }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn best() -> Self {
        Self::None
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    #[allow(clippy::inline_always)] // It is one instruction in a loop that is timed.
    fn line(self, line: &Line) {
        let address = std::ptr::from_ref(line).cast::<u8>();
        match self {
            // SAFETY: the address is that of a live line; flushing changes no memory. The processor
            // has the instruction (`best`).
            Self::Unordered => unsafe {
                std::arch::asm!("clflushopt [{}]", in(reg) address, options(nostack, preserves_flags));
            },
            // SAFETY: the address is that of a live line; flushing changes no memory.
            Self::Ordered => unsafe { std::arch::x86_64::_mm_clflush(address) },
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn line(self, line: &Line) {
        black_box(line);
    }
}

/// Writes past the caches.
#[cfg(target_arch = "x86_64")]
fn store(lines: &mut [Line]) {
    use std::arch::x86_64::{__m128i, _mm_set1_epi8, _mm_sfence, _mm_stream_si128};
    // SAFETY: SSE2 is part of x86-64. A line is 64 bytes, aligned to 64, and ours alone; any bytes
    // are a valid line. The fence orders these stores before the next reads of the lines.
    unsafe {
        let value = _mm_set1_epi8(1);
        for line in lines {
            let address = std::ptr::from_mut(line).cast::<__m128i>();
            _mm_stream_si128(address, value);
            _mm_stream_si128(address.add(1), value);
            _mm_stream_si128(address.add(2), value);
            _mm_stream_si128(address.add(3), value);
        }
        _mm_sfence();
    }
}

/// Writes a buffer that is larger than the caches.
#[cfg(not(target_arch = "x86_64"))]
fn store(lines: &mut [Line]) {
    for line in lines {
        line.0 = black_box([1; 8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_buffer_is_used_in_turn_and_written() {
        let mut buffer = Buffer::new();
        for _ in 0..BUFFER_LINES / LINES {
            buffer.write();
        }
        assert_eq!(buffer.at, 0);
        buffer.read();
        assert_eq!(buffer.at, LINES);
        let first = buffer.lines[0].0[0];
        assert_ne!(first, 0);
        assert!(buffer.lines.iter().all(|line| line.0 == [first; 8]));
        compute();
    }
}
