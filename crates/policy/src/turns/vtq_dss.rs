//! Gangs of applications, one after another, each for a time that makes the processor time of all
//! equal; others fill the holes.
//!
//! **Source**: Variable Time Quantum DSS (VTQ-DSS), Martorell et al. 2000, §4.3. The proportions
//! are `share=dss`.
//!
//! **Terms**: r(j) = request within the user's limits and the machine; P = `capacity`; gang =
//! applications that run together; repository = those at the end of the list that do not complete a
//! gang; q(j) = quantum of one application, Q0 = `quantum`, at first; a(j) = its processors in the
//! gang; c(j) = processor time it has had in this gang since the gang has had these members with
//! these requests; hole = processors that no member of the gang uses.
//!
//! **Algorithm**
//! ```text
//! list = applications in order of arrival
//! gang = the longest run of the list from the place behind the last gang on, with sum of r ≤ k·P and sum of minimums ≤ P; at least one
//!        a run that reaches the end of the list and is not full: the repository; go on at the beginning, where a gang may be all there is
//! gang: lasts as long as the longest q(j); everybody starts at once; when q(j) is over j is stopped
//! hole (from the beginning, q(j) over, j gone, j asks for less): the first of the repository whose r fits, else its head, cut to the hole,
//!        until the gang ends; then it is last in the repository; if there is none, the same among all that wait, from behind the gang on
//!        (work-list); if nobody waits, those that were cut get more
//! gang over: q(j) = Q0 - `equal` · (Q0 - clamp(Q0 · min a / a(j) + (mean c − c(j)) / a(j), `min`, Q0))
//! ```
//! Members keep their counts in the gang while holes are filled. An application that comes, or asks
//! for more, counts when the next gang is formed, or in the repository at once.
//!
//! **Differs from the paper**: it prints no rule for the quanta and none for the choice from the
//! repository. It "tries to equalize" processor time; `equal` says how far (100 %: within a gang
//! until it is equal, 0 %: not at all). There applications of the repository may wait for ever.
//! Here they are a gang of their own at the end of a round in which one of them did not run, and
//! the others that wait fill what it leaves. Minimums count, as in `sw-dss`.
//!
//! **Progress**: every application runs within two rounds of gangs.
//!
//! **Use when** all applications are to have the same processor time, with small and large
//! requests, and there are enough narrow applications for the holes. **Avoid when** there are none:
//! an application that has had its time is stopped though no other can use its processors.

use super::machinery::quantum::QUANTUM_NS;
use super::machinery::ring::{self, K_MILLI, Ring, Room, behind, request};
use crate::answer::Answer;
use crate::parameters::{Parameters, join};
use crate::part::{Info, Needs, Turns};
use crate::rejected::Rejected;
use crate::turn::Turn;
use crate::view::{AppId, View};
use numaestro_quantity::DURATION;
use std::ops::Range;

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Turns> = Answer {
    info: Info {
        name: "vtq-dss",
        summary: "Gangs in which everybody runs as long as makes processor time equal",
        source: "VTQ-DSS, Martorell et al. 2000, §4.3",
    },
    build: |given| Ok(Box::new(VtqDss::read(given)?)),
};

/// Default of the shortest quantum of an application, nanoseconds.
const SHORTEST_NS: u64 = 10_000_000;

/// Default of the part of equal processor time that quanta are to bring, percent.
const EQUAL: u32 = 100;

/// The role of an application in the present gang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    /// It waits.
    #[default]
    Waits,
    /// It is one of the gang.
    Member,
    /// It fills a hole.
    Fills,
}

/// The record of an application.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub app: AppId,
    pub role: Role,
    /// q, nanoseconds.
    pub quantum_ns: u64,
    /// c: processor time in the gang, nanoseconds.
    pub cpu_ns: u64,
    /// a, or its processors in a hole; 0: not known yet, or none.
    pub count: u32,
    /// It has run in this round.
    ran: bool,
    /// First, last, number and requests of the gang that `cpu_ns` is about.
    gang: (AppId, AppId, usize, u64),
}

/// Config, state and buffers.
#[derive(Debug, Clone)]
pub struct VtqDss {
    k_milli: u32,
    quantum_ns: u64,
    shortest_ns: u64,
    /// Config: the part of equal processor time that quanta are to bring, percent. Default: all of
    /// it; the paper prints no rule.
    equal: u32,
    ring: Ring,
    /// The records, in order of arrival.
    pub(super) records: Vec<Record>,
    /// Applications that may fill holes, or do; the next one first.
    pub(super) repository: Vec<AppId>,
    /// The place behind the gang.
    place: AppId,
    /// Time when the gang began, nanoseconds.
    began: Option<u64>,
    /// Time when it was last asked, nanoseconds.
    asked_ns: u64,
}

impl VtqDss {
    /// With k in thousandths, the first and the shortest quantum in nanoseconds.
    pub fn new(k_milli: u32, quantum_ns: u64, shortest_ns: u64) -> Self {
        Self {
            k_milli,
            quantum_ns,
            shortest_ns,
            equal: EQUAL,
            ring: Ring::default(),
            records: Vec::new(),
            repository: Vec::new(),
            place: AppId(0),
            began: None,
            asked_ns: 0,
        }
    }

    /// With the part of equal processor time that quanta are to bring, percent.
    pub fn equalizing(self, equal: u32) -> Self {
        Self { equal: equal.min(EQUAL), ..self }
    }

    /// From a policy text: `k`, `quantum`, `min`, `equal`.
    ///
    /// # Errors
    /// A value that cannot be read or makes no sense.
    pub(crate) fn read(parameters: &mut Parameters) -> Result<Self, Rejected> {
        let k = parameters.milli("k")?.unwrap_or(K_MILLI);
        let quantum = parameters.duration("quantum")?.unwrap_or(QUANTUM_NS);
        let shortest = parameters.duration("min")?;
        if let Some(shortest) = shortest.filter(|&shortest| shortest > quantum) {
            let (min, quantum) = (DURATION.write(shortest), DURATION.write(quantum));
            return Err(Rejected::new(format!("vtq-dss: min={min} is more than quantum={quantum}")));
        }
        let equal = parameters.percent("equal")?.unwrap_or(EQUAL);
        Ok(Self::new(k, quantum, shortest.unwrap_or(SHORTEST_NS).min(quantum)).equalizing(equal))
    }

    /// Follows arrivals and departures, and adds the processor time since the latest question.
    fn sync(&mut self, view: &View<'_>) {
        self.ring.sync(view);
        let (ring, passed) = (&self.ring, view.now_ns.saturating_sub(self.asked_ns));
        self.asked_ns = view.now_ns;
        self.records.retain_mut(|record| {
            let slot = ring.find(view, record.app);
            let allocation = slot.map_or(0, |slot| view.app(slot).allocation);
            if record.role == Role::Member && allocation > 0 {
                record.cpu_ns = record.cpu_ns.saturating_add(passed.saturating_mul(u64::from(allocation)));
                record.count = if record.count == 0 { allocation } else { record.count };
            }
            slot.is_some()
        });
        for &slot in self.ring.slots() {
            let app = view.app(slot).id;
            let Err(at) = self.records.binary_search_by_key(&app, |record| record.app) else { continue };
            let (gang, quantum_ns) = ((app, app, 0, 0), self.quantum_ns);
            self.records
                .insert(at, Record { app, role: Role::Waits, quantum_ns, cpu_ns: 0, count: 0, ran: false, gang });
        }
    }

    /// The longest run of the list from an index on; true if no other application can be taken in.
    fn run(&self, view: &View<'_>, from: usize) -> (Range<usize>, bool) {
        let (slots, mut room) = (self.ring.slots(), Room::new(view, self.k_milli));
        let len = slots[from..].iter().take_while(|&&slot| room.take(view, slot)).count();
        (from..from + len, room.is_full())
    }

    /// Index in the list of the place behind the gang.
    fn index(&self, view: &View<'_>) -> usize {
        self.ring.slots().partition_point(|&slot| view.app(slot).id < self.place)
    }

    /// Ends the present gang: computes quanta for the next time, and puts the applications in holes
    /// last in the repository.
    fn finish(&mut self) {
        let members = || self.records.iter().filter(|record| record.role == Role::Member && record.count > 0);
        let (number, least) = (members().count() as u64, members().map(|record| record.count).min().unwrap_or(1));
        let mean = members().map(|record| record.cpu_ns).sum::<u64>() / number.max(1);
        for record in &mut self.records {
            if record.role == Role::Member && record.count > 0 {
                let (count, first) = (i128::from(record.count), i128::from(self.quantum_ns));
                let ahead = i128::from(record.cpu_ns) - i128::from(mean);
                let quantum = (first * i128::from(least) - ahead) / count;
                let quantum = quantum.clamp(i128::from(self.shortest_ns), first);
                let quantum = first - i128::from(self.equal) * (first - quantum) / i128::from(EQUAL);
                record.quantum_ns = u64::try_from(quantum).unwrap_or(self.quantum_ns);
            }
        }
        // The applications in holes move behind the others, in their order.
        let mut at = 0;
        for _ in 0..self.repository.len() {
            let app = self.repository[at];
            if self.records.iter().any(|record| record.app == app && record.role == Role::Fills) {
                self.repository.remove(at);
                self.repository.push(app);
            } else {
                at += 1;
            }
        }
        for record in &mut self.records {
            (record.role, record.count) = (Role::Waits, 0);
        }
    }

    /// Begins the next gang. There is at least one application.
    fn form(&mut self, view: &View<'_>) {
        let (len, from) = (self.ring.slots().len(), self.index(view));
        let (mut run, full) = self.run(view, from);
        let incomplete = from > 0 && run.end == len && !full;
        let starved = run.clone().any(|at| !self.records[at].ran);
        if run.is_empty() || incomplete && !starved {
            self.records.iter_mut().for_each(|record| record.ran = false);
            run = self.run(view, 0).0;
        }
        let slots = &self.ring.slots()[run.clone()];
        let requests: u64 = slots.iter().map(|&slot| u64::from(request(view, slot))).sum();
        let gang = (self.records[run.start].app, self.records[run.end - 1].app, run.len(), requests);
        for (record, &slot) in self.records[run].iter_mut().zip(slots) {
            if record.gang != gang {
                (record.gang, record.cpu_ns) = (gang, 0);
            }
            (record.role, record.ran) = (Role::Member, true);
            // Where all requests fit they are the counts; else the share part divides.
            record.count = if requests <= u64::from(view.capacity) { request(view, slot) } else { 0 };
        }
        (self.place, self.began) = (behind(gang.1), Some(view.now_ns));
    }

    /// Lists the applications that may fill holes: those at the end of the list that do not
    /// complete a gang.
    fn sync_repository(&mut self, view: &View<'_>) {
        let len = self.ring.slots().len();
        let (mut tail, mut full) = self.run(view, self.index(view));
        while tail.end < len {
            (tail, full) = self.run(view, tail.end);
        }
        let tail = if full { &[] } else { &self.records[tail] };
        self.repository.retain(|&app| tail.iter().any(|record| record.app == app));
        for record in tail {
            if !self.repository.contains(&record.app) {
                self.repository.push(record.app);
            }
        }
    }

    /// Time when the quantum of a member is over, nanoseconds.
    fn expiry(&self, record: &Record) -> u64 {
        self.began.unwrap_or(0).saturating_add(record.quantum_ns)
    }

    /// Says whether it runs now.
    fn runs(&self, record: &Record, now: u64) -> bool {
        match record.role {
            Role::Waits => false,
            Role::Member => now < self.expiry(record),
            Role::Fills => true,
        }
    }

    /// Gives the processors that no member uses to applications that wait.
    fn fill(&mut self, view: &View<'_>) {
        let mut hole = view.capacity;
        for at in 0..self.records.len() {
            if self.runs(&self.records[at], view.now_ns) {
                if self.records[at].count == 0 {
                    return;
                }
                hole = hole.saturating_sub(self.records[at].count.min(self.wanted(view, at)));
            }
        }
        while hole > 0
            && let Some((at, count)) = self.choose(view, hole)
        {
            hole -= count;
            let record = &mut self.records[at];
            (record.role, record.ran, record.count) = (Role::Fills, true, record.count + count);
            // Processors that an application did not ask for were given away.
            for at in 0..self.records.len() {
                self.records[at].count = self.records[at].count.min(self.wanted(view, at));
            }
        }
    }

    /// r of the application that a record is about: records and list go together.
    fn wanted(&self, view: &View<'_>, at: usize) -> u32 {
        request(view, self.ring.slots()[at])
    }

    /// The application for a hole, and its processors.
    fn choose(&self, view: &View<'_>, hole: u32) -> Option<(usize, u32)> {
        let found = |app: &AppId| self.records.binary_search_by_key(app, |record| record.app).ok();
        let repository = || self.repository.iter().filter_map(found);
        let behind = || self.ring.from(view, self.place).filter_map(|slot| found(&view.app(slot).id));
        let waiting = self.waiting(view, hole, repository).or_else(|| self.waiting(view, hole, behind));
        let more = || {
            let was_cut =
                |&at: &usize| self.records[at].role == Role::Fills && self.records[at].count < self.wanted(view, at);
            let at = repository().chain(behind()).find(was_cut)?;
            Some((at, (self.wanted(view, at) - self.records[at].count).min(hole)))
        };
        waiting.map(|at| (at, self.wanted(view, at).min(hole))).or_else(more)
    }

    /// The first of these that waits and whose request fits, else the first whose minimum does.
    fn waiting<I: Iterator<Item = usize>>(&self, view: &View<'_>, hole: u32, from: impl Fn() -> I) -> Option<usize> {
        let waits = || from().filter(|&at| self.records[at].role == Role::Waits);
        let fits = waits().find(|&at| self.wanted(view, at) <= hole);
        fits.or_else(|| waits().find(|&at| view.app(self.ring.slots()[at]).min <= hole))
    }
}

impl Turns for VtqDss {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn needs(&self) -> Needs {
        ring::NEEDS
    }

    fn parameters(&self) -> String {
        let time =
            |name: &str, ns: u64, default: u64| (ns != default).then(|| format!("{name}={}", DURATION.write(ns)));
        let quantum = time("quantum", self.quantum_ns, QUANTUM_NS);
        let shortest = time("min", self.shortest_ns, SHORTEST_NS.min(self.quantum_ns));
        let equal = (self.equal != EQUAL).then(|| format!("equal={}%", self.equal));
        join([ring::k_parameter(self.k_milli), quantum, shortest, equal])
    }

    fn stops(&self) -> bool {
        true
    }

    fn now(&mut self, view: &View<'_>, turn: &mut Turn) -> Option<u64> {
        self.sync(view);
        turn.running.clear();
        if self.records.is_empty() {
            (self.began, self.place) = (None, AppId(0));
            self.repository.clear();
            return None;
        }
        let members = |record: &&Record| record.role == Role::Member;
        if !self.records.iter().filter(members).any(|record| self.runs(record, view.now_ns)) {
            self.finish();
            self.form(view);
        }
        self.sync_repository(view);
        self.fill(view);
        for (record, &slot) in self.records.iter().zip(self.ring.slots()) {
            if self.runs(record, view.now_ns) {
                turn.running.push(slot);
                if record.count > 0 {
                    turn.limit(slot, record.count);
                }
            }
        }
        let expiries = self.records.iter().filter(members).map(|record| self.expiry(record));
        expiries.filter(|&expiry| expiry > view.now_ns).min()
    }
}

#[cfg(test)]
mod tests;
