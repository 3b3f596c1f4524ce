//! A recorded mix as programs of the simulator: one for each application.
//!
//! A recording has no runs on chosen numbers of processors, so a curve point by point cannot be had
//! from it. Programs are taken to be of Amdahl's kind: S(n) = n / (1 + f·(n − 1)), with one unknown
//! serial share f. The runs of one name that have done the same work tell it: for the right f the
//! work Σ S(n)·t(n) of all runs is the same ([`Shares`]). Reports of speedups count as well. What
//! nobody can tell is assumed to lie between two bounds, and predictions are made for both
//! ([`Bound`]).
//!
//! **Source**: Amdahl 1967; the equation of work is that of [`super::fit()`].

use super::fit::with_speedups;
use super::measured::Measured;
use super::program::LearnedProgram;
use super::recorded::Recorded;
use crate::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Runs of one name whose work differs by at most this share are runs of the same program.
const SAME_WORK: f64 = 0.10;
/// Serial shares that make the work of runs differ by so much more than the best one does are as
/// good as it: runs are measured no better.
const AS_GOOD: f64 = 0.02;
/// The largest serial share of a program of which nothing is known.
const SHARE_MOST: f64 = 0.2;
/// Serial shares that are tried: from 0 to 1.
const STEPS: u32 = 200;
/// A wider interval means that the speedups are assumed.
const KNOWN: f64 = 0.02;
/// A program that begins at most this long after the end of one of its name follows it.
const THINK_NS_MOST: Nanos = 2_000_000_000;

/// One end of the interval in which the unknown speedups lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Programs use many processors as well as may be.
    Best,
    /// As badly as may be.
    Worst,
}

impl Bound {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Best, Self::Worst];
}

/// The serial shares that the runs of a program allow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

/// Speedup on so many processors with this serial share.
fn speedup(share: f64, processors: u32) -> f64 {
    let n = f64::from(processors.max(1));
    n / (1.0 + share * (n - 1.0))
}

impl Shares {
    const UNKNOWN: Self = Self { least: 0.0, most: SHARE_MOST };

    /// Of runs of one name.
    fn of(runs: &[&Measured]) -> Self {
        Self::reported(runs).or_else(|| Self::by_work(runs)).unwrap_or(Self::UNKNOWN)
    }

    /// What the programs have reported of themselves.
    fn reported(runs: &[&Measured]) -> Option<Self> {
        let reports = runs.iter().flat_map(|run| &run.reports).filter(|report| report.processors > 1);
        let share = |n: f64, speedup: f64| ((n / speedup.max(0.01) - 1.0) / (n - 1.0)).clamp(0.0, 1.0);
        let shares: Vec<f64> = reports.map(|report| share(f64::from(report.processors), report.speedup)).collect();
        let (least, most) = (shares.iter().copied().reduce(f64::min)?, shares.iter().copied().reduce(f64::max)?);
        Some(Self { least, most })
    }

    /// Those for which the runs have done the same work; `None`: the runs do not tell.
    fn by_work(runs: &[&Measured]) -> Option<Self> {
        if runs.len() < 2 {
            return None;
        }
        let shares = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let lengths: Vec<_> = runs.iter().map(|run| run.parallel_lengths()).collect();
        let differences: Vec<(f64, f64)> = shares.map(|share| (share, difference(&lengths, share))).collect();
        let best = differences.iter().map(|(_, difference)| *difference).reduce(f64::min)?;
        if best > SAME_WORK {
            return None;
        }
        let good = differences.iter().filter(|(_, difference)| *difference <= best + AS_GOOD).map(|(share, _)| *share);
        let (least, most) = (good.clone().reduce(f64::min)?, good.reduce(f64::max)?);
        // Runs that had the same processors all the time are as good with any share.
        (most < 1.0 || least > 0.0).then_some(Self { least, most: most.min(least + SHARE_MOST) })
    }

    fn at(self, bound: Bound) -> f64 {
        match bound {
            Bound::Best => self.least,
            Bound::Worst => self.most,
        }
    }

    fn is_known(self) -> bool {
        self.most - self.least <= KNOWN
    }
}

/// Difference of the works of runs with this serial share, as a share of the largest. `runs`: of
/// each the length of its parallel time by processors.
fn difference(runs: &[BTreeMap<u32, Nanos>], share: f64) -> f64 {
    let works = runs.iter().map(|lengths| work(lengths, share));
    let (least, most) = works.fold((f64::MAX, 0.0_f64), |(least, most), work| (least.min(work), most.max(work)));
    if most > 0.0 { (most - least) / most } else { 0.0 }
}

fn work(lengths: &BTreeMap<u32, Nanos>, share: f64) -> f64 {
    lengths.iter().map(|(&processors, &length_ns)| length_ns as f64 * speedup(share, processors)).sum()
}

/// One application.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// As it was recorded, without its run: those of a day take more memory than all else.
    pub recorded: Recorded,
    /// The program that does the same. Its name is one of a kind.
    pub program: LearnedProgram,
}

/// A user who starts one program after the other: closed arrivals. One program alone is an open
/// arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Places of its members, in order.
    pub members: Vec<usize>,
    /// Mean time from the end of one to the arrival of the next, nanoseconds.
    pub think_ns: Nanos,
}

/// The applications that have run, as programs.
pub fn members(recorded: &[Recorded], bound: Bound) -> Vec<Member> {
    let ran = || recorded.iter().filter(|app| app.run.length() > 0);
    let mut runs: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for app in ran().filter(|app| !app.name.is_empty() && app.ended.is_some() && !app.had_begun) {
        runs.entry(&app.name).or_default().push(&app.run);
    }
    let shares: BTreeMap<&str, Shares> = runs.iter().map(|(name, runs)| (*name, Shares::of(runs))).collect();
    let member = |recorded: &Recorded| {
        let known = shares.get(recorded.name.as_str()).copied().unwrap_or_else(|| Shares::of(&[&recorded.run]));
        let asks = recorded.wish.request.min(recorded.wish.max).max(1);
        let name = format!("{}#{}", recorded.name, recorded.app);
        let program = with_speedups(&name, asks, curve(&recorded.run, asks, known.at(bound)), &recorded.run);
        let assumed = program.curve.iter().map(|(n, _)| *n).filter(|&n| n > 1 && !known.is_known()).collect();
        Member { recorded: recorded.without_run(), program: LearnedProgram { assumed, ..program } }
    };
    ran().map(member).collect()
}

/// Points of the curve: those that matter for the run and for what it asks for, and the powers of
/// two between.
fn curve(run: &Measured, asks: u32, share: f64) -> Vec<(u32, f64)> {
    let most = asks.max(run.widest()).max(1);
    let mut points: BTreeSet<u32> = run.spans.iter().map(|span| span.processors.max(1)).collect();
    points.extend(std::iter::successors(Some(1_u32), |n| n.checked_mul(2)).take_while(|n| *n < most));
    points.insert(most);
    points.into_iter().map(|n| (n, speedup(share, n))).collect()
}

/// The members as streams, in order of their first arrivals. Programs whose names are not known
/// follow nobody.
pub fn streams(members: &[Member]) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let mut thinks: Vec<Vec<Nanos>> = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, member) in members.iter().enumerate() {
        let recorded = &member.recorded;
        let of_name = by_name.entry(&recorded.name).or_default();
        let think = |number: usize| {
            let last = &members[*streams[number].members.last()?].recorded;
            let think = recorded.arrived.checked_sub(last.ended?)?;
            (think <= THINK_NS_MOST && !recorded.name.is_empty()).then_some(think)
        };
        let follows = of_name.iter().filter_map(|&number| Some((think(number)?, number))).min();
        if let Some((think, number)) = follows {
            streams[number].members.push(place);
            thinks[number].push(think);
        } else {
            // One that ended long ago is followed by nobody any more.
            let is_open = |&number: &usize| {
                let last = streams[number].members.last().and_then(|&last| members[last].recorded.ended);
                last.is_none_or(|ended| recorded.arrived.saturating_sub(ended) <= THINK_NS_MOST)
            };
            of_name.retain(is_open);
            of_name.push(streams.len());
            streams.push(Stream { members: vec![place], think_ns: 0 });
            thinks.push(Vec::new());
        }
    }
    for (stream, thinks) in streams.iter_mut().zip(thinks) {
        stream.think_ns = thinks.iter().sum::<Nanos>() / thinks.len().max(1) as u64;
    }
    streams
}

#[cfg(test)]
mod tests {
    use super::super::measured::{Activity, Span};
    use super::*;
    use numaestro_engine::{AppId, Wish};

    const SECOND: Nanos = 1_000_000_000;

    fn app(number: u64, name: &str, arrived: u64, spans: &[(u32, u64)]) -> Recorded {
        let span = |&(processors, seconds): &(u32, u64)| Span {
            activity: Activity::Parallel,
            processors,
            length_ns: seconds * SECOND,
        };
        let spans: Vec<Span> = spans.iter().map(span).collect();
        let length: Nanos = spans.iter().map(|span| span.length_ns).sum();
        Recorded {
            app: AppId(number),
            name: name.to_owned(),
            arrived: arrived * SECOND,
            ended: Some(arrived * SECOND + length),
            had_begun: false,
            wish: Wish::new(4),
            run: Measured { spans, ..Measured::default() },
        }
    }

    #[test]
    fn runs_of_the_same_work_tell_the_speedup_and_others_assume_it() {
        // Work 10 s, S(2) = 1.25: the serial share is 0.6.
        let same = vec![app(1, "a", 0, &[(1, 10)]), app(2, "a", 20, &[(2, 8)]), app(3, "a", 40, &[(1, 5), (2, 4)])];
        let speedups = |recorded: &[Recorded]| Bound::BOTH.map(|bound| members(recorded, bound)[0].program.speedup(2));
        let [best, worst] = speedups(&same);
        assert!(worst <= 1.25 && 1.25 <= best && best - worst < 0.06, "{worst} to {best}");
        let work = members(&same, Bound::Best)[2].program.amount_of(Activity::Parallel);
        assert!(work.abs_diff(10 * SECOND) < SECOND / 5, "{work}");
        // Other work, one run, or the same processors all the time: nobody can tell.
        let other = vec![app(1, "a", 0, &[(1, 10)]), app(2, "a", 20, &[(2, 30)])];
        let alone = vec![app(1, "a", 0, &[(2, 10)])];
        let alike = vec![app(1, "a", 0, &[(2, 10)]), app(2, "a", 20, &[(2, 10)])];
        for recorded in [other, alone, alike] {
            let found = speedups(&recorded);
            assert!((found[0] - 2.0).abs() < 1e-6 && (found[1] - 2.0 / 1.2).abs() < 1e-6, "{found:?}");
            assert_eq!(members(&recorded, Bound::Best)[0].program.assumed, [2, 4]);
        }
    }

    #[test]
    fn a_program_knows_its_speedup_best() {
        let report = super::super::measured::Report { at: 1, processors: 2, speedup: 1.6 };
        let mut reported = app(1, "a", 0, &[(2, 10)]);
        reported.run.reports.push(report);
        let found = &members(&[reported], Bound::Worst)[0].program;
        assert!((found.speedup(2) - 1.6).abs() < 1e-6 && found.assumed.is_empty(), "{found:?}");
        assert_eq!(found.processors, 4);
    }

    #[test]
    fn a_program_that_follows_one_of_its_name_is_in_its_stream() {
        let found = members(
            &[
                app(1, "a", 0, &[(2, 10)]),
                app(2, "b", 3, &[(2, 4)]),
                app(3, "a", 11, &[(2, 5)]),
                app(4, "b", 60, &[(2, 4)]),
            ],
            Bound::Best,
        );
        let stream = |members: &[usize], seconds: u64| Stream { members: members.to_vec(), think_ns: seconds * SECOND };
        assert_eq!(streams(&found), [stream(&[0, 2], 1), stream(&[1], 0), stream(&[3], 0)]);
        let nameless = vec![app(1, "", 0, &[(2, 10)]), app(2, "", 11, &[(2, 5)])];
        assert_eq!(streams(&members(&nameless, Bound::Best)).len(), 2, "nobody knows that they belong together");
    }
}
