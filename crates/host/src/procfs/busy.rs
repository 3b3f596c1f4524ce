//! Reads the busy and idle time of each processor from `/proc/stat`.

use std::fs;
use std::path::Path;

use crate::error::{self, HostError};

/// Time since boot that processors have spent, in clock ticks, for each by OS index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Busy {
    /// `(OS index, busy ticks, idle ticks)`.
    pub processors: Vec<(u32, u64, u64)>,
}

/// Reads `/proc/stat`.
pub fn busy_of_all_processors() -> Result<Busy, HostError> {
    let path = Path::new("/proc/stat");
    let text = fs::read_to_string(path).map_err(error::file("read", path))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Busy {
    let mut processors = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(os) = words.next().and_then(|word| word.strip_prefix("cpu")?.parse().ok()) else { continue };
        let ticks: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
        // user nice system idle iowait irq softirq steal; guest times are already in user and nice.
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        let busy = at(0) + at(1) + at(2) + at(5) + at(6);
        processors.push((os, busy, at(3) + at(4)));
    }
    Busy { processors }
}

impl Busy {
    /// Busy and idle ticks since `before`, over the processors that `wanted` says.
    pub fn since(&self, before: &Self, wanted: impl Fn(u32) -> bool) -> (u64, u64) {
        let mut sum = (0, 0);
        for (os, busy, idle) in &self.processors {
            let Some((_, busy_then, idle_then)) = before.processors.iter().find(|entry| entry.0 == *os) else {
                continue;
            };
            if wanted(*os) {
                sum.0 += busy.saturating_sub(*busy_then);
                sum.1 += idle.saturating_sub(*idle_then);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_over_the_wanted_processors() {
        let before = parse("cpu  9 9\ncpu0 10 0 5 100 0 0 0 3 0 0\ncpu1 1 1 1 50 5 1 1 0 0 0\nintr 5\n");
        let after = parse("cpu  9 9\ncpu0 20 0 5 110 0 0 0 9 0 0\ncpu1 2 1 1 50 9 1 1 0 0 0\n");
        assert_eq!(after.since(&before, |_| true), (11, 14));
        assert_eq!(after.since(&before, |os| os == 0), (10, 10));
    }
}
