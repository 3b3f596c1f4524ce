//! What references cost: where pages are, what caches have lost, and who is in the way. Knows nothing of events, threads' states and policies.
//!
//! [`Memory`] is the one door. The world tells it what runs where and asks for paces; it answers with rates, never with times.

/// How queueing for channels is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contention {
    /// Nobody is in anybody's way.
    None,
    /// Max-min fair shares of each channel: exact far below and far above saturation.
    #[default]
    MaxMin,
    /// Approximate mean value analysis (Schweitzer): has the knee.
    Amva,
}
