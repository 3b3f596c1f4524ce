//! Summaries of the times that the examples measure.

/// Microseconds that `percent` of these nanoseconds do not exceed.
pub fn percentile(times: &mut [u64], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100] as f64 / 1000.0
}
