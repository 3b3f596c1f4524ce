//! The end of a turn of fixed length.

use numaestro_quantity::DURATION;

/// Default length of a quantum, nanoseconds (Antonopoulos et al. 2004, §4: as long as the standard
/// Linux scheduler's).
pub const QUANTUM_NS: u64 = 100_000_000;

/// Config and state.
#[derive(Debug, Clone)]
pub struct Quantum {
    /// Config: its length, nanoseconds.
    pub length_ns: u64,
    began: Option<u64>,
}

impl Quantum {
    /// A quantum that has not begun.
    pub const fn new(length_ns: u64) -> Self {
        Self { length_ns, began: None }
    }

    /// Says whether the latest quantum is over, or none has begun. A clock that was set back ends
    /// it too.
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.began.is_none_or(|began| now_ns < began || now_ns - began >= self.length_ns)
    }

    /// Begins a new quantum.
    pub fn begin(&mut self, now_ns: u64) {
        self.began = Some(now_ns);
    }

    /// Time when it ends, nanoseconds.
    pub fn end(&self) -> u64 {
        self.began.unwrap_or(0).saturating_add(self.length_ns)
    }

    /// Its length as a parameter in policy texts, if it is not the default.
    pub fn parameter(&self) -> Option<String> {
        (self.length_ns != QUANTUM_NS).then(|| format!("quantum={}", DURATION.write(self.length_ns)))
    }
}
