//! Calm: faults stop, what was lost is said again, and everything must come right within bounds. Knows no policy.

use super::program::{Doing, Style};
use super::stage::{Stage, Verdict};
use crate::Nanos;
use numaestro_engine::{AppState, Event, PuState, Snapshot};
use numaestro_topology::PuSet;

/// No notice is later than this.
pub(super) const LATE_MAX_NS: Nanos = 2_000_000_000;
/// Nobody needs longer to find a new manager, if it does at all.
pub(super) const REJOIN_MAX_NS: Nanos = 3_000_000_000;
/// Rounds of two grace times (to be told, to be forced) until everything has settled: what one vacates may let the next one move.
const ROUNDS: u64 = 32;
/// Rounds until what is said again is no news.
const AGAIN_ROUNDS: u32 = 4;
/// Rounds in which then nothing may move, though everything is said again in each.
const STABLE_ROUNDS: u32 = 16;
/// Time of each.
const ROUND_NS: Nanos = 150_000_000;
/// By how much longer all of them together may take if they run in turns.
const TURNS: u64 = 8;
/// For everybody's start, besides the time that it runs.
const START_NS: Nanos = 500_000_000;

impl Stage<'_> {
    /// Settles, is stable, comes to its end, leaves nothing behind.
    pub fn come_right(&mut self) -> Verdict {
        self.note("calm", None, "");
        self.faults.heal();
        (self.calm, self.frozen) = (true, true);
        self.reckon_all();
        let offline: Vec<_> = self.offline.iter().collect();
        for pu in offline {
            self.plug(pu)?;
        }
        self.until(self.now + LATE_MAX_NS + REJOIN_MAX_NS)?;
        self.settle()?;
        self.stay()?;
        self.drain()?;
        if self.is_cut() { Ok(()) } else { self.all_is_free() }
    }

    /// Everybody says again what holds, as clients do that attach again.
    fn repeat(&mut self) -> Verdict {
        let usable: Vec<_> = self.plan.machine.all().iter().collect();
        for pu in usable {
            self.tell(Event::Online { pu })?;
        }
        self.tell(Event::Unmanaged { processors: self.unmanaged })?;
        self.tell(Event::FreeMemory { bytes: self.free_memory.clone() })?;
        for index in 0..self.programs.len() {
            let program = &self.programs[index];
            let (Some(app), true) = (program.app, program.alive) else { continue };
            let processors = program.wants.max(1);
            let wants = match (program.doing, program.style) {
                (Doing::Wrapping, _) => Event::Request { app, processors: 0 },
                (_, Style::Demands) => Event::Demand { app, processors, idle: PuSet::new() },
                _ => Event::Request { app, processors },
            };
            let phase = match program.doing {
                Doing::Sequential => Event::Sequential { app },
                Doing::Blocked => Event::Blocked { app },
                Doing::Parallel | Doing::Wrapping => Event::Parallel { app },
            };
            let bytes = program.bytes.clone();
            self.tell(Event::Stoppable { app })?;
            self.tell(Event::Memory { app, bytes })?;
            self.tell(wants)?;
            self.tell(phase)?;
            if self.programs[index].slowness.is_some() {
                self.looks(index)?;
            }
            let epoch = self.programs[index].seen;
            self.tell(Event::Adopted { app, epoch })?;
        }
        Ok(())
    }

    /// Within a bound, everybody is where it was told to be.
    fn settle(&mut self) -> Verdict {
        let settings = &self.plan.settings;
        let bound = settings.recovery_ns + settings.cooldown_ns + ROUNDS * 2 * settings.grace_ns;
        let (begin, mut moves) = (self.now, self.moves);
        self.repeat()?;
        while !self.is_cut() && self.next().is_some_and(|at| at <= begin + bound) {
            self.step()?;
            if std::mem::replace(&mut moves, self.moves) != self.moves {
                self.settled_ns = self.now - begin;
            }
        }
        self.now = self.now.max(begin + bound);
        // Programs that look at their pages seldom do it now. What is said again may be news: a guest cannot lend what it has only now.
        for _ in 0..AGAIN_ROUNDS {
            moves = self.moves;
            self.repeat()?;
            self.until(self.now + ROUND_NS)?;
            if self.moves == moves {
                break;
            }
        }
        if self.is_cut() { Ok(()) } else { self.all_is_settled() }
    }

    /// Whether those that have no processors are stopped until they have, so that it goes on and on.
    fn takes_turns(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.policy().turns.stops())
    }

    /// Whether it tries from time to time how many processors applications can use.
    fn searches(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.policy().needs().speedup)
    }

    /// Whether new targets come for ever: at every end of a turn, and whenever a search tries another number.
    fn goes_on_and_on(&self) -> bool {
        self.takes_turns() || self.searches()
    }

    /// Then nothing moves any more, but for turns and searches.
    fn stay(&mut self) -> Verdict {
        let moves = self.moves;
        for round in 0..STABLE_ROUNDS {
            self.repeat()?;
            self.until(self.now + ROUND_NS)?;
            if self.is_cut() {
                return Ok(());
            }
            if self.moves != moves && !self.goes_on_and_on() {
                return Err(format!("the allocation still moves in round {round} of calm"));
            }
        }
        self.all_is_settled()
    }

    fn snapshot(&self) -> Result<Snapshot, String> {
        Ok(self.engine.as_ref().ok_or("there is no manager")?.snapshot())
    }

    /// Everybody has what it was told, or a place in the queue.
    fn all_is_settled(&self) -> Verdict {
        let snapshot = self.snapshot()?;
        for pu in &snapshot.pus {
            let moves = pu.state == PuState::Leaving && !self.goes_on_and_on();
            if moves || pu.state == PuState::Offline {
                return Err(format!("PU {} is still {} and {:?}'s", pu.pu, pu.state_name(), pu.owner));
            }
        }
        if let Some(ghost) = snapshot.apps.iter().find(|app| !self.by_id.contains_key(&app.app)) {
            return Err(format!("{} is gone, and the engine does not know", ghost.app));
        }
        for index in 0..self.programs.len() {
            self.is_settled(index, &snapshot)?;
        }
        self.nobody_is_where_others_are()
    }

    fn is_settled(&self, index: usize, snapshot: &Snapshot) -> Verdict {
        let program = &self.programs[index];
        let (Some(name), true) = (program.app, program.alive) else { return Ok(()) };
        let found = snapshot.apps.iter().find(|app| app.app == name);
        let Some(found) = found else { return Err(format!("the engine has lost {name}")) };
        if found.state == AppState::Waiting {
            let told = program.position == found.position || self.plan.settings.positions < found.position;
            let waits = program.position > 0 && told && !program.started;
            return if waits {
                Ok(())
            } else {
                Err(format!("{name} waits at {}, but was told {}", found.position, program.position))
            };
        }
        if program.stopped != (found.state == AppState::Stopped) {
            return Err(format!("{name} is {}, but it is stopped: {}", found.state.name(), program.stopped));
        }
        if program.stopped && program.page.is_none() {
            return Ok(());
        }
        let Some(page) = &program.page else { return Err(format!("{name} has never been given a processor")) };
        if page.epoch != found.epoch || page.pus != found.pus || page.pus.is_empty() {
            return Err(format!("{name} is told {} (epoch {}) and has {}", page.pus, page.epoch, found.pus));
        }
        // Who never does anything by itself is where it was forced to be, if it had to leave something.
        // Where targets go on coming, the latest may be so new that a slow program has not seen it.
        let has_had_time = found.adopted == found.epoch || !self.goes_on_and_on();
        let settled = program.slowness.is_some() && !program.stopped && has_had_time;
        if settled && program.placed != page.pus {
            return Err(format!("{name} was told {} and is on {}", page.pus, program.placed));
        }
        Ok(())
    }

    /// Whoever is told that it is alone is alone, but for those that never do anything by themselves.
    fn nobody_is_where_others_are(&self) -> Verdict {
        let mut taken = PuSet::new();
        for (index, program) in self.programs.iter().enumerate() {
            let runs = program.alive && program.app.is_some() && !program.stopped;
            let page = program.page.as_ref().filter(|page| runs && !page.shared);
            if let Some(page) = page {
                if taken.intersects(&page.pus) {
                    return Err(format!("two are told to be alone on {}", taken.intersection(&page.pus)));
                }
                taken.or_with(&page.pus);
                self.nobody_else_on(index, &page.pus)?;
            }
        }
        Ok(())
    }

    /// Everybody gets to run until it ends, even if only one can at a time.
    fn drain(&mut self) -> Verdict {
        self.note("drain", None, "");
        self.frozen = false;
        self.unmanaged = 0;
        self.tell(Event::Unmanaged { processors: 0 })?;
        self.reckon_all();
        let work: Nanos =
            self.programs.iter().filter(|program| program.alive).map(|program| program.left + START_NS).sum();
        // In turns, most of the time may go by while others make room.
        let each = if self.takes_turns() { TURNS } else { 1 };
        let bound = self.now + each * work + self.plan.settings.cooldown_ns + ROUNDS * 2 * self.plan.settings.grace_ns;
        while !self.is_cut() && self.programs.iter().any(|program| program.alive) {
            if self.next().is_none_or(|at| at > bound) {
                let starved: Vec<String> = self
                    .programs
                    .iter()
                    .filter(|program| program.alive)
                    .filter_map(|program| program.app)
                    .map(|app| app.to_string())
                    .collect();
                return Err(format!("{} starve", starved.join(", ")));
            }
            self.step()?;
        }
        self.until(self.now + self.plan.settings.cooldown_ns + ROUND_NS)
    }

    /// All that there was is free again.
    fn all_is_free(&self) -> Verdict {
        let snapshot = self.snapshot()?;
        if let Some(app) = snapshot.apps.first() {
            return Err(format!("{} has ended and is still there", app.app));
        }
        let usable = self.plan.machine.all().difference(&self.plan.settings.reserved);
        if snapshot.usable != usable || !snapshot.queue.is_empty() {
            return Err(format!("{} of {usable} are left, and {} wait", snapshot.usable, snapshot.queue.len()));
        }
        for pu in snapshot.pus.iter().filter(|pu| usable.contains(pu.pu)) {
            if pu.state != PuState::Free || pu.owner.is_some() || pu.next.is_some() || !pu.guests.is_empty() {
                return Err(format!("PU {} is lost: {}, {:?}, {:?}", pu.pu, pu.state_name(), pu.owner, pu.guests));
            }
        }
        Ok(())
    }
}
