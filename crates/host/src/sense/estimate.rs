//! Guesses rates where nothing counts them: a program that a full bus slows down must be using it.
//!
//! A thread that spends the part `b` of its time alone on waiting for memory is slowed down by
//! `s = (1 − b) + b·σ` where one that does nothing but stream is slowed down by `σ`. `σ` is
//! measured by [`super::probe`], `s` is the pace of the program's own parallel regions against
//! their best, so
//!
//! ```text
//! b = (s − 1) / (σ − 1), within 0 and 1        BTR = b · R / s
//! ```
//!
//! with `R` the rate of one streaming thread alone. It is a guess, and it says so
//! ([`Rung::error_permille`]): a thread that waits for memory one access at a time (pointer
//! chasing) moves fewer lines than `b·R`; a program that has never run alone does not know its
//! best, so its `s` and with it its rate come out too small; and while the bus is not full (`σ`
//! below [`FULL_MILLI`]) nothing can be seen at all: then the latest rate holds for
//! [`REMEMBER_NS`], after which the rate is unknown again.

use std::collections::BTreeMap;

use super::{Moment, Outcome, Rung, Source, Subject};

/// A bus on which streams are slowed down by less than this is not full: the difference would be
/// noise. Thousandths.
pub const FULL_MILLI: u32 = 1200;
/// The rate of an application from a time with a full bus is taken to hold so long.
pub const REMEMBER_NS: u64 = 60_000_000_000;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Estimate {
    /// `b·R` of each application, and when it was seen.
    seen: BTreeMap<u64, (f64, u64)>,
}

impl Source for Estimate {
    fn rung(&self) -> Rung {
        Rung::Estimate
    }

    fn sample(&mut self, subject: &Subject<'_>, moment: &Moment) -> Outcome {
        let stretch = f64::from(subject.stretch_milli.max(1000)) / 1000.0;
        let full = moment.stream_stretch_milli.filter(|stretch| *stretch >= FULL_MILLI);
        if let Some(stream) = full
            && subject.stretch_milli > 0
            && moment.stream_rate > 0
        {
            let bound = ((stretch - 1.0) / (f64::from(stream) / 1000.0 - 1.0)).clamp(0.0, 1.0);
            self.seen.insert(subject.app, (bound * f64::from(moment.stream_rate), moment.now_ns));
        }
        match self.seen.get(&subject.app) {
            Some((alone, then)) if moment.now_ns.saturating_sub(*then) <= REMEMBER_NS => {
                Outcome::Rates(subject.everywhere(alone / stretch))
            }
            _ if subject.stretch_milli == 0 => Outcome::Nothing("its pace is not known".to_owned()),
            _ => Outcome::Nothing("the bus has not been full while it ran".to_owned()),
        }
    }

    fn forget(&mut self, app: u64) {
        self.seen.remove(&app);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ThreadUse;
    use super::*;

    fn sample(source: &mut Estimate, stretch_milli: u32, stream: Option<u32>, now_ns: u64) -> Outcome {
        let threads = [Some(ThreadUse { tid: 1, used_ns: 50_000_000 })];
        let subject = Subject { app: 1, name: "x", threads: &threads, declared: None, stretch_milli };
        source.sample(&subject, &Moment { now_ns, stream_stretch_milli: stream, stream_rate: 200_000 })
    }

    fn rate(outcome: &Outcome) -> f64 {
        match outcome {
            Outcome::Rates(rates) => rates[0].expect("it has run"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_suffers_like_a_stream_is_a_stream_and_who_does_not_suffer_is_none() {
        let at = |stretch| rate(&sample(&mut Estimate::default(), stretch, Some(2000), 0));
        assert!((at(2000) - 100_000.0).abs() < 1.0, "half of its rate alone");
        assert!((at(1500) - 100_000.0 / 1.5).abs() < 1.0);
        assert!(at(1000).abs() < 1e-9);
        assert!((at(4000) - 50_000.0).abs() < 1.0, "it suffers from something else too");
    }

    #[test]
    fn what_was_seen_while_the_bus_was_full_is_remembered_for_a_while() {
        let mut source = Estimate::default();
        assert!(matches!(sample(&mut source, 1500, Some(1100), 0), Outcome::Nothing(_)), "the bus is not full");
        assert!(matches!(sample(&mut source, 0, Some(2000), 0), Outcome::Nothing(_)), "its pace is not known");
        rate(&sample(&mut source, 1500, Some(2000), 5));
        assert!((rate(&sample(&mut source, 1000, None, 6)) - 100_000.0).abs() < 1.0, "alone again, at its own rate");
        assert!(matches!(sample(&mut source, 1000, None, 6 + REMEMBER_NS), Outcome::Nothing(_)));
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        let mut told = 0;
        for stretch in [0, 1, 999, 1000, 1001, u32::MAX] {
            for stream in [None, Some(0), Some(1000), Some(FULL_MILLI), Some(u32::MAX)] {
                if let Outcome::Rates(rates) = sample(&mut Estimate::default(), stretch, stream, 0) {
                    assert!(rates[0].unwrap().is_finite(), "{stretch} {stream:?}");
                    told += 1;
                }
            }
        }
        assert!(told > 0, "nothing was estimated");
    }
}
