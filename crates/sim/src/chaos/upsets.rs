//! Faults that strike by themselves. Knows nothing of what comes of them.

use super::faults::Fault;
use super::ledger::Ledger;
use super::stage::{Happening, Stage, Verdict};
use crate::Nanos;
use numaestro_engine::{Engine, Event, Settings};
use numaestro_topology::PuId;

const MS: Nanos = 1_000_000;
const HOURS_5: i64 = 5 * 3600 * 1_000_000_000;

impl Stage<'_> {
    /// One of them.
    pub fn strike(&mut self, fault: Fault) -> Verdict {
        if self.calm {
            return Ok(());
        }
        self.struck += 1;
        self.expect_strike(fault);
        match fault {
            Fault::Death => self.somebody_dies(),
            Fault::Unplug => self.unplug(),
            Fault::Clock => self.clock_jumps(),
            Fault::Load => {
                let most = self.plan.machine.pu_count() as u32 + 2;
                self.unmanaged = self.faults.stream(fault).below(most);
                self.say(Event::Unmanaged { processors: self.unmanaged });
            }
            Fault::Restart => self.kill_manager(),
            Fault::Policy => return self.switch(),
            _ => {}
        }
        Ok(())
    }

    fn somebody_dies(&mut self) {
        let living: Vec<usize> = (0..self.programs.len()).filter(|&index| self.programs[index].alive).collect();
        if !living.is_empty() {
            let index = living[self.faults.stream(Fault::Death).below(living.len() as u32) as usize];
            self.note("! dies", self.programs[index].app, "");
            self.dies(index);
        }
    }

    /// One processor, all but one, or one that does not exist; they come back after some time.
    fn unplug(&mut self) {
        let count = self.plan.machine.pu_count() as u32;
        let stream = self.faults.stream(Fault::Unplug);
        let (kind, first) = (stream.below(12), stream.below(count));
        if kind == 0 {
            let pu = PuId(count + stream.below(100));
            self.say(Event::Offline { pu });
            self.say(Event::Online { pu });
            return;
        }
        let many = if kind == 1 { count - 1 } else { 1 };
        for pu in (first..first + many).map(|pu| PuId(pu % count)) {
            let after = self.faults.stream(Fault::Unplug).exponential() * self.plan.chaos_ns as f64 / 8.0;
            let left = self.usable_now();
            let last = left == 1 && !self.plan.settings.reserved.contains(pu);
            // The system keeps the last one.
            if last || !self.offline.insert(pu) {
                continue;
            }
            self.note("! unplug", None, &format!("PU {pu}"));
            self.say(Event::Offline { pu });
            self.after(after as Nanos, Happening::Back(pu));
        }
        self.reckon_all();
    }

    fn usable_now(&self) -> usize {
        let mut usable = self.plan.machine.all().difference(&self.plan.settings.reserved);
        usable.subtract(&self.offline);
        usable.len()
    }

    /// A processor is plugged in again.
    pub fn plug(&mut self, pu: PuId) -> Verdict {
        if self.offline.remove(pu) {
            self.note("! plug", None, &format!("PU {pu}"));
            self.say(Event::Online { pu });
            self.reckon_all();
        }
        Ok(())
    }

    fn clock_jumps(&mut self) {
        let stream = self.faults.stream(Fault::Clock);
        let far = [1_000_000, 1_000_000_000, HOURS_5][stream.below(3) as usize];
        let by = if stream.below(2) == 0 { far } else { -far };
        self.note("! clock", None, &format!("jumps by {by}"));
        self.set_clock(self.ahead.saturating_add(by));
    }

    /// Nobody is told anything any more; programs go on, and most of them find the next manager.
    fn kill_manager(&mut self) {
        if self.engine.take().is_none() {
            return;
        }
        self.note("! killed", None, "");
        self.by_id.clear();
        self.inbox.clear();
        for index in 0..self.programs.len() {
            let never = self.faults.stream(Fault::Restart).below(8) == 0;
            let after = self.faults.stream(Fault::Restart).exponential() * 4e8;
            let program = &mut self.programs[index];
            (program.app, program.alone) = (None, true);
            // Those that it had stopped go on: nobody stops without it.
            (program.stopped, program.goes_on) = (false, true);
            // Whoever waited starts without a manager.
            if program.alive && !never {
                self.after((after as Nanos).min(super::calm::REJOIN_MAX_NS), Happening::Rejoins(index));
            }
        }
        self.reckon_all();
        let pause = [MS, 20 * MS, 500 * MS][self.faults.stream(Fault::Restart).below(3) as usize];
        self.after(pause, Happening::Manager);
        self.set_timer();
    }

    /// A manager for what is there now.
    pub fn start_manager(&mut self) -> Verdict {
        if self.engine.is_some() {
            return Ok(());
        }
        let settings = Settings { policy: self.policy.clone(), ..self.plan.settings.clone() };
        self.note("manager", None, &settings.policy);
        self.ledger = Ledger::new(self.plan.machine.pu_count(), settings.grace_ns);
        let engine = Engine::new(self.plan.machine.clone(), settings, self.plan.seed);
        self.engine = Some(engine.map_err(|rejected| format!("a manager cannot start: {rejected}"))?);
        let offline: Vec<PuId> = self.offline.iter().collect();
        for pu in offline {
            self.tell(Event::Offline { pu })?;
        }
        self.tell(Event::Unmanaged { processors: self.unmanaged })
    }

    /// To another policy, or to none that there is; or to other parties.
    fn switch(&mut self) -> Verdict {
        if self.faults.stream(Fault::Policy).below(4) == 0 {
            let parties = self.plan.other_parties();
            return self.tell(Event::Parties { parties });
        }
        let nonsense = self.faults.stream(Fault::Policy).below(10) == 0;
        let policy = if nonsense { "share=nonsense".to_owned() } else { self.plan.policy() };
        self.tell(Event::Policy { policy })?;
        if let Some(engine) = &self.engine {
            self.policy = engine.policy().to_string();
        }
        Ok(())
    }
}
