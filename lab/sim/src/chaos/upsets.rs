//! The faults that strike by themselves.

use super::agenda::Happening;
use super::faults::{Fault, REJOIN_MAX_NS};
use super::ledger::Ledger;
use super::marks::Around;
use super::program::{Halt, Program};
use super::shell;
use super::stage::{Stage, Verdict};
use crate::Nanos;
use numaestro_engine::{Engine, Event, Settings};
use numaestro_topology::PuId;

const MS: Nanos = 1_000_000;
const HOURS_5: i64 = 5 * 3600 * 1_000_000_000;

/// Adds the next time of a fault that strikes by itself: the higher its rate, the sooner.
pub(super) fn expect_strike(stage: &mut Stage<'_>, fault: Fault) {
    let milli = stage.faults.milli(fault);
    if milli > 0 {
        let mean = stage.plan.chaos_ns as f64 / (2.0 + f64::from(milli) * 0.06);
        let after = stage.faults.stream(fault).exponential() * mean;
        stage.agenda.after(after as Nanos, Happening::Strikes(fault));
    }
}

/// A fault strikes.
pub(super) fn strike(stage: &mut Stage<'_>, fault: Fault) -> Verdict {
    if stage.calm {
        return Ok(());
    }
    stage.faults.count();
    expect_strike(stage, fault);
    match fault {
        Fault::Death => somebody_dies(stage),
        Fault::Unplug => unplug(stage),
        Fault::Clock => clock_jumps(stage),
        Fault::Load => {
            let most = stage.plan.machine.pu_count() as u32 + 2;
            stage.supply.unmanaged = stage.faults.stream(fault).below(most);
            shell::say(stage, Event::Unmanaged { processors: stage.supply.unmanaged });
        }
        Fault::Restart => kill_manager(stage),
        Fault::Policy => return switch(stage),
        // These faults strike at a notice or an action.
        Fault::Late | Fault::Lost | Fault::Repeated | Fault::Wrong | Fault::Action | Fault::Never => {}
    }
    Ok(())
}

fn somebody_dies(stage: &mut Stage<'_>) {
    let living: Vec<usize> = (0..stage.programs.len()).filter(|&index| stage.programs[index].alive).collect();
    if !living.is_empty() {
        let index = living[stage.faults.stream(Fault::Death).below(living.len() as u32) as usize];
        stage.note("! dies", stage.programs[index].app, "");
        stage.dies(index);
    }
}

/// Unplugs one processor, all but one, or one that does not exist; they come back after some time.
fn unplug(stage: &mut Stage<'_>) {
    let count = stage.plan.machine.pu_count() as u32;
    let stream = stage.faults.stream(Fault::Unplug);
    let (kind, first) = (stream.below(12), stream.below(count));
    if kind == 0 {
        let pu = PuId(count + stream.below(100));
        shell::say(stage, Event::Offline { pu });
        shell::say(stage, Event::Online { pu });
        return;
    }
    let many = if kind == 1 { count - 1 } else { 1 };
    stage.observer.around.reach_if(Around::AllButOneUnplugged, kind == 1 && count > 2);
    for pu in (first..first + many).map(|pu| PuId(pu % count)) {
        let after = stage.faults.stream(Fault::Unplug).exponential() * stage.plan.chaos_ns as f64 / 8.0;
        let left = usable_now(stage);
        let last = left == 1 && !stage.plan.settings.reserved.contains(pu);
        // The system keeps the last one.
        if last || !stage.supply.offline.insert(pu) {
            continue;
        }
        stage.note("! unplug", None, &format!("PU {pu}"));
        stage.observer.around.reach_if(Around::UnpluggedWithoutManager, stage.manager.engine.is_none());
        shell::say(stage, Event::Offline { pu });
        stage.agenda.after(after as Nanos, Happening::Back(pu));
    }
    stage.reckon_all();
}

fn usable_now(stage: &Stage<'_>) -> usize {
    let mut usable = stage.plan.machine.all().difference(&stage.plan.settings.reserved);
    usable.subtract(&stage.supply.offline);
    usable.len()
}

/// A processor is plugged in again.
pub(super) fn plug(stage: &mut Stage<'_>, pu: PuId) -> Verdict {
    if stage.supply.offline.remove(pu) {
        stage.note("! plug", None, &format!("PU {pu}"));
        shell::say(stage, Event::Online { pu });
        stage.reckon_all();
    }
    Ok(())
}

fn clock_jumps(stage: &mut Stage<'_>) {
    let stream = stage.faults.stream(Fault::Clock);
    let far = [1_000_000, 1_000_000_000, HOURS_5][stream.below(3) as usize];
    let by = if stream.below(2) == 0 { far } else { -far };
    stage.note("! clock", None, &format!("jumps by {by}"));
    let (leaving, around) = (stage.observer.watch.is_leaving(), &mut stage.observer.around);
    around.reach_if(Around::ClockBackWhileOneLeaves, leaving && by < 0);
    around.reach_if(Around::ClockAheadWhileOneLeaves, leaving && by > 0);
    stage.agenda.jump(by);
    stage.set_timer();
}

fn mark_kill(stage: &mut Stage<'_>) {
    let leaving = stage.observer.watch.is_leaving();
    let any = |is: fn(&Program) -> bool| stage.programs.iter().any(|program| program.alive && is(program));
    let around = &mut stage.observer.around;
    around.reach_if(Around::KilledAmidTurns, any(Program::is_stopped));
    around.reach_if(Around::KilledWhileOneWaits, any(|program| program.app.is_some() && program.position() > 0));
    around.reach_if(Around::KilledWhileOneLeaves, leaving);
    around.reach_if(Around::KilledBeforeAllAreBack, any(|program| program.alone && program.app.is_none()));
}

/// Kills the manager. Programs go on without targets, and most of them find the next manager.
fn kill_manager(stage: &mut Stage<'_>) {
    if stage.manager.engine.take().is_none() {
        return;
    }
    stage.note("! killed", None, "");
    mark_kill(stage);
    stage.observer.watch.forget();
    stage.manager.by_id.clear();
    stage.manager.inbox.clear();
    for index in 0..stage.programs.len() {
        let never = stage.faults.stream(Fault::Restart).below(8) == 0;
        let after = stage.faults.stream(Fault::Restart).exponential() * 4e8;
        let program = &mut stage.programs[index];
        (program.app, program.alone) = (None, true);
        // The programs that it had stopped go on: without a manager no program is stopped.
        program.halt = Halt::No;
        // A program that waited starts without a manager.
        if program.alive && !never {
            stage.agenda.after((after as Nanos).min(REJOIN_MAX_NS), Happening::Rejoins(index));
        }
    }
    stage.reckon_all();
    let pause = [MS, 20 * MS, 500 * MS][stage.faults.stream(Fault::Restart).below(3) as usize];
    stage.agenda.after(pause, Happening::Manager);
    stage.set_timer();
}

/// Starts a manager for the programs and processors of the present.
pub(super) fn start_manager(stage: &mut Stage<'_>) -> Verdict {
    if stage.manager.engine.is_some() {
        return Ok(());
    }
    let settings = Settings { policy: stage.manager.policy.clone(), ..stage.plan.settings.clone() };
    stage.note("manager", None, &settings.policy);
    stage.manager.ledger = Ledger::new(stage.plan.machine.pu_count(), settings.grace_ns);
    let engine = Engine::new(stage.plan.machine.clone(), settings, stage.plan.seed);
    stage.manager.engine = Some(engine.map_err(|rejected| format!("a manager cannot start: {rejected}"))?);
    let offline: Vec<PuId> = stage.supply.offline.iter().collect();
    for pu in offline {
        shell::tell(stage, Event::Offline { pu })?;
    }
    shell::tell(stage, Event::Unmanaged { processors: stage.supply.unmanaged })
}

/// Switches to another policy, or to one that does not exist; or to other parties.
fn switch(stage: &mut Stage<'_>) -> Verdict {
    if stage.faults.stream(Fault::Policy).below(4) == 0 {
        let parties = stage.plan.other_parties();
        return shell::tell(stage, Event::Parties { parties });
    }
    let nonsense = stage.faults.stream(Fault::Policy).below(10) == 0;
    let policy = if nonsense { "share=nonsense".to_owned() } else { stage.plan.policy() };
    shell::tell(stage, Event::Policy { policy })?;
    if let Some(engine) = &stage.manager.engine {
        stage.manager.policy = engine.policy().to_string();
    }
    Ok(())
}
