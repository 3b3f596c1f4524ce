//! The applications of a journal, while it is read: each with its processors and its activity.
//!
//! On processors that are shared, an application is assumed to have an equal part of each. Such a
//! time counts as a shorter one on as many processors of its own.
//!
//! A change of one application is carried to those on the same processors, and to nobody else: a
//! day of a large machine has ten million lines.

use super::measured::{Activity, Measured, Span};
use super::recorded::Recorded;
use crate::Nanos;
use numaestro_engine::{AppId, Wish};
use numaestro_topology::{PuId, PuSet};
use std::collections::BTreeMap;

/// An application in the course of the journal.
#[derive(Debug)]
pub(super) struct Course {
    /// The result.
    pub(super) recorded: Recorded,
    pub(super) activity: Activity,
    /// It only waits for its children, and holds nothing.
    pub(super) is_wrapper: bool,
    /// Threads that it was told.
    pub(super) count: u32,
    pub(super) pus: PuSet,
    pub(super) stopped: bool,
    /// The run is known until then, nanoseconds.
    known_until: Nanos,
    /// The part of its processors that it has since then, thousandths.
    part_milli: u64,
}

impl Course {
    pub(super) fn new(app: AppId, name: String, at: Nanos, wish: Wish) -> Self {
        let run = Measured::default();
        Self {
            recorded: Recorded { app, name, arrived: at, ended: None, had_begun: false, wish, run },
            activity: Activity::Parallel,
            is_wrapper: false,
            count: 0,
            pus: PuSet::default(),
            stopped: false,
            known_until: at,
            part_milli: 1000,
        }
    }

    fn runs(&self) -> bool {
        self.count > 0 && !self.stopped && !self.is_wrapper && self.recorded.ended.is_none()
    }

    /// The processors of which it takes time. One that is paused is a guest where others are, and
    /// takes none.
    fn takes(&self) -> Option<&PuSet> {
        (self.runs() && self.activity != Activity::Paused).then_some(&self.pus)
    }

    /// Time goes on until `at`.
    fn until(&mut self, at: Nanos) {
        let length_ns = at.saturating_sub(self.known_until);
        let part_milli = if self.takes().is_some() { self.part_milli } else { 1000 };
        let length_ns = if part_milli < 1000 { length_ns.saturating_mul(part_milli) / 1000 } else { length_ns };
        if self.runs() && length_ns > 0 {
            let span = Span { activity: self.activity, processors: self.count, length_ns };
            self.recorded.run.append(span);
        }
        self.known_until = at;
    }
}

/// All applications.
#[derive(Debug, Default)]
pub(super) struct Courses {
    /// In order of their arrival.
    all: Vec<Course>,
    /// Places of those that have not ended.
    open: BTreeMap<AppId, usize>,
    /// By processor: places of those that take time of it.
    takers: Vec<Vec<usize>>,
    /// Places of those whose parts may have changed; a buffer.
    beside: Vec<usize>,
}

impl Courses {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, in order of their arrival, as far as they are known.
    pub(super) fn all(&self) -> impl Iterator<Item = &Recorded> {
        self.all.iter().map(|course| &course.recorded)
    }

    /// The journal has ended: all of them, in order of their arrival.
    pub(super) fn end(mut self, at: Nanos) -> impl Iterator<Item = Recorded> {
        for &place in self.open.values() {
            self.all[place].until(at);
        }
        self.all.into_iter().map(|course| course.recorded)
    }

    /// There is one more.
    pub(super) fn add(&mut self, course: Course) {
        let place = self.all.len();
        self.open.insert(course.recorded.app, place);
        let pus = course.takes().cloned().unwrap_or_default();
        self.all.push(course);
        self.take(place, &pus);
        self.set_parts(place);
    }

    /// One has ended.
    pub(super) fn depart(&mut self, app: AppId, at: Nanos) {
        self.change(app, at, |course| course.recorded.ended = Some(at));
        self.open.remove(&app);
    }

    /// Something of one that has not ended changes.
    pub(super) fn change(&mut self, app: AppId, at: Nanos, change: impl FnOnce(&mut Course)) {
        let Some(&place) = self.open.get(&app) else { return };
        let course = &mut self.all[place];
        course.until(at);
        let took = course.takes().cloned();
        change(course);
        if course.takes() == took.as_ref() {
            // More threads on the same processors have other parts of them.
            self.set_parts(place);
            return;
        }
        let (took, takes) = (took.unwrap_or_default(), course.takes().cloned().unwrap_or_default());
        let (left, new) = (took.difference(&takes), takes.difference(&took));
        for &other in left.union(&new).iter().flat_map(|pu| self.takers.get(pu.index()).into_iter().flatten()) {
            self.all[other].until(at);
        }
        for pu in &left {
            self.takers[pu.index()].retain(|&taker| taker != place);
            self.beside.extend(&self.takers[pu.index()]);
        }
        self.take(place, &new);
        self.set_parts(place);
    }

    /// One takes time of these processors in addition.
    fn take(&mut self, place: usize, pus: &PuSet) {
        for pu in pus {
            if self.takers.len() <= pu.index() {
                self.takers.resize_with(pu.index() + 1, Vec::new);
            }
            self.beside.extend(&self.takers[pu.index()]);
            self.takers[pu.index()].push(place);
        }
    }

    /// The parts of one application, and of those beside it. An equal part of each processor; more
    /// threads than processors have them together.
    fn set_parts(&mut self, place: usize) {
        self.beside.push(place);
        self.beside.sort_unstable();
        self.beside.dedup();
        for place in self.beside.drain(..) {
            let course = &mut self.all[place];
            let part = |pu: PuId| 1000 / self.takers.get(pu.index()).map_or(1, |takers| takers.len().max(1) as u64);
            let parts: u64 = course.pus.iter().map(part).sum();
            course.part_milli = (parts / u64::from(course.count.max(1))).min(1000);
        }
    }
}
