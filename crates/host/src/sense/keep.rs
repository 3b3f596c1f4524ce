//! Lets only whole numbers that can be true pass to the policies. A rate that is no number,
//! negative or beyond the bandwidth of any memory is dropped, and the last good one of the same
//! thread stands in for it for [`HOLD_NS`]; after that the rate is unknown.

use std::collections::BTreeMap;

/// Most transactions per millisecond of one thread that are believed: 1 TB/s, more than the memory
/// of any one processor gives.
pub const RATE_MAX: u32 = 16_000_000;
/// So long a good rate stands in for bad ones: ten quanta of 100 ms.
pub const HOLD_NS: u64 = 1_000_000_000;

/// The last good rates of every application, by virtual processor.
#[derive(Debug, Default)]
pub struct Kept {
    apps: BTreeMap<u64, Vec<Option<(u32, u64)>>>,
    /// Raw rates that were not believed, so far.
    dropped: u64,
}

/// The rate as a whole number, if it can be true.
pub(crate) fn sensible(raw: f64, most: u32) -> Option<u32> {
    // The casts are within range by the comparison, which NaN fails.
    #[allow(clippy::cast_sign_loss)]
    (raw >= 0.0 && raw <= f64::from(most)).then(|| raw.round() as u32)
}

impl Kept {
    /// Raw rates in, believable ones out; `None` in stays `None` out.
    pub fn admit(&mut self, app: u64, raw: &[Option<f64>], now_ns: u64) -> Vec<Option<u32>> {
        let known = self.apps.entry(app).or_default();
        known.resize(raw.len(), None);
        let mut rates = Vec::with_capacity(raw.len());
        for (last, raw) in known.iter_mut().zip(raw) {
            rates.push(raw.and_then(|raw| {
                if let Some(rate) = sensible(raw, RATE_MAX) {
                    *last = Some((rate, now_ns));
                    return Some(rate);
                }
                self.dropped += 1;
                held(*last, now_ns)
            }));
        }
        rates
    }

    /// The rates that still stand in when no rung can tell, for `threads` virtual processors.
    pub fn stand_in(&self, app: u64, threads: usize, now_ns: u64) -> Vec<Option<u32>> {
        let known = self.apps.get(&app).map_or(&[][..], Vec::as_slice);
        (0..threads).map(|vp| held(known.get(vp).copied().flatten(), now_ns)).collect()
    }

    /// An application has gone.
    pub fn forget(&mut self, app: u64) {
        self.apps.remove(&app);
    }

    /// Raw rates that were not believed, so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn held(last: Option<(u32, u64)>, now_ns: u64) -> Option<u32> {
    last.filter(|(_, then)| now_ns.saturating_sub(*then) <= HOLD_NS).map(|(rate, _)| rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300, RATE_MAX as f64 + 1.0];

    #[test]
    fn what_cannot_be_true_is_replaced_by_the_last_good_rate_for_a_while() {
        for bad in BAD {
            let mut kept = Kept::default();
            assert_eq!(kept.admit(1, &[Some(bad)], 5), [None], "{bad}: nothing is known yet");
            assert_eq!(kept.admit(1, &[Some(99.6)], 10), [Some(100)]);
            assert_eq!(kept.admit(1, &[Some(bad)], 10 + HOLD_NS), [Some(100)], "{bad}");
            assert_eq!(kept.admit(1, &[Some(bad)], 11 + HOLD_NS), [None], "{bad}: too long ago");
            assert_eq!(kept.dropped(), 3);
        }
    }

    #[test]
    fn the_bounds_themselves_are_believed() {
        let mut kept = Kept::default();
        assert_eq!(kept.admit(1, &[Some(0.0), Some(f64::from(RATE_MAX))], 0), [Some(0), Some(RATE_MAX)]);
        assert_eq!(kept.admit(1, &[Some(-0.0)], 0), [Some(0)]);
    }

    #[test]
    fn threads_and_applications_are_kept_apart() {
        let mut kept = Kept::default();
        kept.admit(1, &[Some(1.0), Some(2.0)], 0);
        kept.admit(2, &[Some(9.0)], 0);
        assert_eq!(kept.admit(1, &[None, Some(f64::NAN)], 1), [None, Some(2)], "who has not run has no rate");
        assert_eq!(kept.stand_in(1, 3, 1), [Some(1), Some(2), None]);
        kept.forget(1);
        assert_eq!(kept.stand_in(1, 2, 1), [None, None]);
        assert_eq!(kept.stand_in(2, 1, HOLD_NS + 1), [None]);
    }
}
