//! One run of a program, as it was seen from outside.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The activity of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// One of its threads works.
    Serial,
    /// Several of its threads work, or it has one processor and cannot show whether they would.
    Parallel,
    /// None of its threads runs.
    Paused,
}

/// A time in which activity and processors stayed the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The activity.
    pub activity: Activity,
    /// Processors that the program had.
    pub processors: u32,
    /// Length, nanoseconds.
    pub length_ns: Nanos,
}

impl Span {
    /// The same activity on as many processors.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.activity, self.processors) == (other.activity, other.processors)
    }
}

/// A speedup that the program has reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Time since the program's arrival, nanoseconds.
    pub at: Nanos,
    /// Processors during the measurement.
    pub processors: u32,
    /// Speedup over one processor.
    pub speedup: f64,
}

/// See the file's header.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// From the start to the end, in order.
    pub spans: Vec<Span>,
    /// Parallel regions, or meetings of another kind; 0: not known.
    pub regions: u64,
    /// The engine has learned of a sequential phase or a pause of it.
    pub has_told_phases: bool,
    /// Reports of its speedup, in order of time.
    pub reports: Vec<Report>,
}

impl Measured {
    /// A run in which a program was busy all the time on so many processors.
    pub fn busy(processors: u32, length_ns: Nanos) -> Self {
        let spans = vec![Span { activity: Activity::Parallel, processors, length_ns }];
        Self { spans, ..Self::default() }
    }

    /// The run of median length, the longer one of two in the middle; `None` without runs.
    pub fn median(mut runs: Vec<Self>) -> Option<Self> {
        runs.sort_by_key(Self::length);
        let middle = runs.len() / 2;
        (!runs.is_empty()).then(|| runs.swap_remove(middle))
    }

    /// Length of all spans of this activity, nanoseconds.
    pub fn length_of(&self, activity: Activity) -> Nanos {
        self.spans.iter().filter(|span| span.activity == activity).map(|span| span.length_ns).sum()
    }

    /// Length of the run, nanoseconds.
    pub fn length(&self) -> Nanos {
        self.spans.iter().map(|span| span.length_ns).sum()
    }

    /// Most processors that the program had.
    pub fn widest(&self) -> u32 {
        self.spans.iter().map(|span| span.processors).max().unwrap_or(0)
    }

    /// Adds a span behind the last one. Both are one if they are alike.
    pub(super) fn append(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if last.is_like(&span) => last.length_ns += span.length_ns,
            _ => self.spans.push(span),
        }
    }

    /// Length of its parallel spans by processors, nanoseconds.
    pub fn parallel_lengths(&self) -> BTreeMap<u32, Nanos> {
        let mut lengths = BTreeMap::new();
        for span in self.spans.iter().filter(|span| span.activity == Activity::Parallel) {
            *lengths.entry(span.processors).or_default() += span.length_ns;
        }
        lengths
    }

    /// The same run with spans of at least `least` nanoseconds: a shorter one counts as the longer
    /// of its neighbours. The length of the run does not change.
    #[must_use]
    pub fn without_short_spans(mut self, least: Nanos) -> Self {
        self.join_equals();
        let mut row = Row::of(&self.spans);
        // The shortest first, of equals the earliest. A span that grows has another entry.
        let short =
            |(place, span): (usize, &Span)| (span.length_ns < least).then_some(Reverse((span.length_ns, place)));
        let mut shortest: BinaryHeap<_> = self.spans.iter().enumerate().filter_map(short).collect();
        while let Some(Reverse((length_ns, place))) = shortest.pop() {
            let (before, after) = row.beside(place);
            let length = |place: Option<usize>| place.map(|place| self.spans[place].length_ns);
            let heir = if length(before) >= length(after) { before } else { after };
            let Some(heir) = heir.filter(|_| row.is_there(place) && self.spans[place].length_ns == length_ns) else {
                continue;
            };
            self.spans[heir].length_ns += length_ns;
            row.remove(place);
            let mut grown = heir;
            if let (Some(before), Some(after)) = (before, after)
                && self.spans[before].is_like(&self.spans[after])
            {
                self.spans[before].length_ns += self.spans[after].length_ns;
                row.remove(after);
                grown = before;
            }
            shortest.extend(short((grown, &self.spans[grown])));
        }
        let mut places = 0..;
        self.spans.retain(|_| places.next().is_some_and(|place| row.is_there(place)));
        self
    }

    /// Neighbours that are alike become one span.
    fn join_equals(&mut self) {
        for span in std::mem::take(&mut self.spans).into_iter().filter(|span| span.length_ns > 0) {
            self.append(span);
        }
    }
}

/// The places of a row of things of which some are taken out: each knows its neighbours.
struct Row {
    /// By place: those before and after it; `None`: it has been taken out.
    beside: Vec<Option<(Option<usize>, Option<usize>)>>,
}

impl Row {
    fn of(things: &[Span]) -> Self {
        let beside = |place: usize| Some((place.checked_sub(1), (place + 1 < things.len()).then_some(place + 1)));
        Self { beside: (0..things.len()).map(beside).collect() }
    }

    fn is_there(&self, place: usize) -> bool {
        self.beside[place].is_some()
    }

    /// The neighbours of a place that is there.
    fn beside(&self, place: usize) -> (Option<usize>, Option<usize>) {
        self.beside[place].unwrap_or_default()
    }

    fn remove(&mut self, place: usize) {
        let Some((before, after)) = self.beside[place].take() else { return };
        if let Some((_, next)) = before.and_then(|before| self.beside[before].as_mut()) {
            *next = after;
        }
        if let Some((previous, _)) = after.and_then(|after| self.beside[after].as_mut()) {
            *previous = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(spans: &[(Activity, Nanos)]) -> Measured {
        let span = |&(activity, length_ns)| Span { activity, processors: 2, length_ns };
        Measured { spans: spans.iter().map(span).collect(), ..Measured::default() }
    }

    #[test]
    fn short_spans_go_to_the_longer_neighbour_and_no_time_is_lost() {
        use Activity::{Parallel, Paused, Serial};
        let measured = run(&[(Serial, 40), (Parallel, 3), (Serial, 30), (Paused, 60), (Serial, 5), (Parallel, 400)]);
        let found = measured.without_short_spans(10);
        assert_eq!(found, run(&[(Serial, 73), (Paused, 60), (Parallel, 405)]));
        assert_eq!(found.length(), 538);
    }

    /// The shortest goes to the longer of its neighbours, again and again.
    fn one_by_one(mut measured: Measured, least: Nanos) -> Measured {
        measured.join_equals();
        while let Some(place) = (0..measured.spans.len()).min_by_key(|&place| measured.spans[place].length_ns) {
            let length = |place: usize| measured.spans.get(place).map(|span| span.length_ns);
            let (own, before, after) = (length(place), place.checked_sub(1).and_then(length), length(place + 1));
            if own >= Some(least) || before.or(after).is_none() {
                break;
            }
            let heir = if before >= after { place - 1 } else { place + 1 };
            measured.spans[heir].length_ns += measured.spans[place].length_ns;
            measured.spans.remove(place);
            measured.join_equals();
        }
        measured
    }

    proptest::proptest! {
        #[test]
        fn short_spans_go_in_the_order_of_their_lengths(
            drawn in proptest::collection::vec((0..3_u8, 1..3_u32, 0..30_u64), 0..40),
            least in 0..25_u64,
        ) {
            let activity = |number| [Activity::Serial, Activity::Parallel, Activity::Paused][usize::from(number)];
            let span = |&(number, processors, length_ns): &(u8, u32, u64)| {
                Span { activity: activity(number), processors, length_ns }
            };
            let measured = Measured { spans: drawn.iter().map(span).collect(), ..Measured::default() };
            assert_eq!(measured.clone().without_short_spans(least), one_by_one(measured, least));
        }
    }

    #[test]
    fn the_median_run_is_one_of_the_runs() {
        let median = |lengths: &[Nanos]| Measured::median(lengths.iter().map(|&ns| Measured::busy(2, ns)).collect());
        assert_eq!(median(&[90, 20, 30]), Some(Measured::busy(2, 30)));
        assert_eq!(median(&[20, 90]), Some(Measured::busy(2, 90)));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_single_short_span_stays() {
        let measured = run(&[(Activity::Serial, 1)]);
        assert_eq!(measured.clone().without_short_spans(10), measured);
        assert_eq!(run(&[]).without_short_spans(10), run(&[]));
    }
}
