//! A recording as a scenario of the simulator: its machine, its programs, its arrivals.

use crate::moment::Moment;
use crate::recordings::{Journal, Part, QUIET_MOST_NS, Ran, moment, stamp_of};
use crate::say::Failure;
use crate::say::WRONG_FILE;
use crate::sim::files::quoted;
use crate::sim::validate::machine;
use numaestro_engine::journal::{self, State};
use numaestro_engine::{Event, Nanos};
use numaestro_recording::Stamp;
use numaestro_sim::learn::Recorded;
use numaestro_sim::learn::coarse::{self, Coarseness};
use numaestro_sim::learn::journal::{Heard, Runs};
use numaestro_sim::learn::mix::{self, Bound, Member, Stream};
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_topology::{Machine, PuSet};
use std::fmt::Write;
use std::ops::ControlFlow;

/// The file names that the scenario uses.
const MACHINE: &str = "machine.toml";
const PROGRAMS: &str = "programs";
const SCENE: &str = "mix.toml";
/// Programs in a file. A file takes memory until all of it is read.
const PROGRAMS_IN_FILE: usize = 1000;
/// Shorter phases are not told apart, nanoseconds: as for `sim learn`.
const PHASE_NS_LEAST: u64 = 5_000_000;
/// Memory transactions per microsecond on a bus that is never full.
const BUS_PER_US: u64 = 1_000_000;

/// What a recording says.
#[derive(Debug)]
pub struct Past {
    machine: String,
    /// The policies under which applications ran, with the times on the journal's clock.
    pub ran: Ran,
    /// The last moment that it tells on both clocks.
    stamp: Option<Stamp>,
    /// Its first time on its clock.
    first: Option<Nanos>,
    /// The applications.
    pub recorded: Vec<Recorded>,
    /// Load outside kept processors busy at some time.
    pub had_load: bool,
}

impl Past {
    /// Reads the journal of a part. Where nothing more is heard, the state stays as it is up to the
    /// part's end.
    ///
    /// # Errors
    /// Exit code 2: it is no journal, or nobody has run in it.
    pub fn read(mut journal: Journal<'_>, wanted: Part) -> anyhow::Result<Self> {
        let (machine, settings, _) = journal.headed(journal::decode_head(journal.head()))?;
        let has_rates = settings.host.bandwidth;
        let mut past = Self {
            machine: machine_text(&machine, &settings.reserved, has_rates)?,
            ran: Ran::default(),
            stamp: None,
            first: None,
            recorded: Vec::new(),
            had_load: false,
        };
        past.ran.begins(&settings.policy);
        let mut runs = Runs::default();
        journal.each(Heard::decode, |line, heard| {
            let heard = heard.as_ref().map_err(Clone::clone);
            let Some(heard) = line.understood(heard)? else { return Ok(ControlFlow::Break(())) };
            runs.hear(heard);
            past.note(&line.text, heard);
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(at) = past.known_until(wanted, runs.now()) {
            // An event that changes nothing tells that time has passed.
            let _ = runs.line(&journal::encode(at, &Event::Timer, &[]));
        }
        past.recorded = runs.recorded(PHASE_NS_LEAST);
        let ran: Vec<&Recorded> = past.recorded.iter().filter(|app| app.run.length() > 0).collect();
        let Some(begin) = ran.iter().map(|app| app.arrived).min() else {
            let what = format!("{}: no program has run in it", journal.name());
            return Err(Failure::error(WRONG_FILE, what, "`--since` and `--until` name another part"));
        };
        let end = ran.iter().map(|app| app.ended.unwrap_or(Nanos::MAX)).max().unwrap_or(Nanos::MAX);
        past.ran = past.ran.between(begin, end);
        Ok(past)
    }

    /// The end of the known time: that of the last stamp, which a part has at its end. A journal
    /// without times of day has no stamps; long after its last line nothing is known.
    fn known_until(&self, part: Part, last: Nanos) -> Option<Nanos> {
        let length = match (part.since, part.until) {
            (None, Some(Moment::After(until))) => Some(until),
            // The part's first line is the state at its begin.
            (Some(Moment::After(since)), Some(Moment::After(until))) => Some(until.saturating_sub(since)),
            _ => None,
        };
        let end = || Some(self.first?.saturating_add(length?).min(last.saturating_add(QUIET_MOST_NS)));
        self.stamp.map_or_else(end, |stamp| Some(stamp.at))
    }

    /// Takes from a line what is not of one application.
    fn note(&mut self, line: &str, heard: &Heard) {
        match heard {
            Heard::Step(at, _, event, actions) => {
                self.first.get_or_insert(*at);
                self.ran.hear(*at, event, actions);
                self.had_load |= matches!(event, Event::Unmanaged { processors } if *processors > 0);
            }
            Heard::State(state) => {
                let State { at, state, .. } = state.as_ref();
                self.first.get_or_insert(*at);
                self.ran.is_now(*at, &state.policy, state.apps.len());
                self.had_load |= state.unmanaged > 0;
            }
            Heard::Aside => self.stamp = stamp_of(line).or(self.stamp),
        }
    }

    /// A moment as people say it, and as `--since` and `--until` take it.
    pub fn when(&self, at: Nanos) -> String {
        if let Some(stamp) = self.stamp {
            return moment(stamp.wall_at(at));
        }
        let after = at.saturating_sub(self.first.unwrap_or_default()) / self.unit();
        format!("+{}.{:03}s", after / 1000, after % 1000)
    }

    /// The last one before that moment.
    pub fn before(&self, at: Nanos) -> String {
        self.when(at.saturating_sub(1))
    }

    /// The first one that is not before that moment.
    pub fn after(&self, at: Nanos) -> String {
        self.when(at.saturating_add(self.unit() - 1))
    }

    /// The moments that are told apart.
    fn unit(&self) -> Nanos {
        if self.stamp.is_some() { 1_000_000_000 } else { 1_000_000 }
    }

    /// The scenario, with speedups that nobody has measured at this bound.
    pub fn scene(&self, bound: Bound) -> Scene {
        let mut members = mix::members(&self.recorded, bound);
        let coarseness = coarse::coarsen(&mut members);
        let streams = mix::streams(&members);
        let in_file = |(number, members): (usize, &[Member])| {
            let number = if number == 0 { String::new() } else { format!("-{}", number + 1) };
            let texts: Vec<String> = members.iter().map(program).collect();
            (format!("{PROGRAMS}{number}.toml"), texts.join("\n"))
        };
        let programs: Vec<_> = members.chunks(PROGRAMS_IN_FILE).enumerate().map(in_file).collect();
        let names: Vec<String> = programs.iter().map(|(name, _)| quoted(name)).collect();
        let text = self.text(&members, &streams, &names.join(", "));
        Scene { machine: self.machine.clone(), programs, text, coarseness, members, streams }
    }

    fn text(&self, members: &[Member], streams: &[Stream], programs: &str) -> String {
        let begin = members.iter().map(|member| member.recorded.arrived).min().unwrap_or_default();
        let mut out = format!(
            "name = \"as recorded\"\nmachine = {}\npolicy = {}\nprograms = [{programs}]\ncontention = \"none\"\n",
            quoted(MACHINE),
            quoted(self.ran.first()),
        );
        if !self.ran.switches().is_empty() {
            let switch =
                |(at, policy): &(Nanos, String)| format!("[\"{} ns\", {}]", at.saturating_sub(begin), quoted(policy));
            let _ =
                writeln!(out, "switches = [{}]", self.ran.switches().iter().map(switch).collect::<Vec<_>>().join(", "));
        }
        out.push_str("\n[workload]\nkind = \"streams\"\n");
        for stream in streams {
            let names = stream.members.iter().map(|&place| quoted(&members[place].program.name));
            let names: Vec<String> = names.collect();
            let start = stream.members.first().map_or(0, |&place| members[place].recorded.arrived - begin);
            let _ = write!(
                out,
                "\n[[workload.stream]]\nprograms = [{}]\nrepetitions = 1\nstart = \"{start} ns\"\ngap = \"{} ns\"\n",
                names.join(", "),
                stream.think_ns
            );
        }
        out
    }
}

/// The machine without the processors that the manager did not give out. `has_rates`: policies were
/// told rates of memory transactions there. The scenario has the same policies, then: each node, or
/// the machine, has a bus that is never full.
fn machine_text(machine: &Machine, reserved: &PuSet, has_rates: bool) -> anyhow::Result<String> {
    let mut left_out = machine.all();
    left_out.subtract(machine.allowed());
    left_out.or_with(reserved);
    let mut text = machine::text_of(machine)?;
    if has_rates {
        let each = if machine.numa_nodes().len() > 1 { "node" } else { "machine" };
        let _ =
            write!(text, "\n[[channel]]\nname = \"bus\"\nover = \"bus\"\neach = \"{each}\"\nper_us = {BUS_PER_US}\n");
    }
    if left_out.is_empty() {
        return Ok(text);
    }
    Ok(text.replacen("\n\n", &format!("\nreserved = \"{left_out}\"\n\n"), 1))
}

/// A `[[program]]` table with the wishes of its application.
fn program(member: &Member) -> String {
    let wish = &member.recorded.wish;
    let mut further = String::new();
    let min = wish.min.min(member.program.processors);
    if min > 1 {
        let _ = writeln!(further, "min = {min}");
    }
    if wish.weight_milli != 1000 {
        let _ = writeln!(further, "weight = {}", f64::from(wish.weight_milli) / 1000.0);
    }
    member.program.to_toml_with(&further)
}

/// A scenario that does the same as a recording.
#[derive(Debug)]
pub struct Scene {
    machine: String,
    /// Names and texts.
    programs: Vec<(String, String)>,
    text: String,
    /// A long recording is simulated in coarser steps.
    pub coarseness: Option<Coarseness>,
    /// The applications.
    pub members: Vec<Member>,
    /// Those that follow each other.
    pub streams: Vec<Stream>,
}

impl Files for Scene {
    fn text(&self, name: &str) -> Result<String, String> {
        let known = self.files().find(|(known, _)| *known == name);
        known.map(|(_, text)| text.to_owned()).ok_or_else(|| format!("{name} is no file of this recording"))
    }
}

impl Scene {
    /// The scenario with these changes (path and TOML value).
    ///
    /// # Errors
    /// A change is wrong, or a policy cannot run there. The user has no such file, so it is not
    /// named.
    pub fn scenario(&self, changes: &[(String, String)]) -> Result<Scenario, String> {
        Scenario::read_changed(Text::new(SCENE, &self.text), changes, self).map_err(|mistake| {
            match mistake.field.as_str() {
                "" | "policy" => mistake.problem,
                field => format!("{field}: {}", mistake.problem),
            }
        })
    }

    /// Its files: names and texts.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let programs = self.programs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        programs.chain([(MACHINE, self.machine.as_str()), (SCENE, self.text.as_str())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recordings::{numbered, story};

    const MS: u64 = 1_000_000;
    const WALL: u64 = 1_700_000_000_000_000_000;

    /// The head and these lines of the story, whose events come each millisecond; then a stamp.
    fn past(events: usize, at: Option<u64>, part: Part) -> anyhow::Result<Past> {
        let (mut lines, _) = story::journal();
        lines.truncate(events + 1);
        lines.extend(at.map(|at| Stamp { at, wall: WALL + at }.encode()));
        Past::read(Journal::begin("x", story::part(&lines, part)?)?, part)
    }

    fn length(past: &Past) -> u64 {
        past.recorded[0].run.length()
    }

    #[test]
    fn time_is_known_up_to_the_end_of_the_part() {
        let until = |until| Part { since: None, until: Some(until) };
        assert!(past(1, None, Part::default()).unwrap_err().to_string().starts_with("x: no program has run"));
        assert_eq!(length(&past(1, Some(50 * MS), Part::default()).unwrap()), 49 * MS);
        let wall = until(Moment::Wall(WALL + 80 * MS));
        assert_eq!(length(&past(1, Some(50 * MS), wall).unwrap()), 79 * MS);
        assert_eq!(length(&past(1, None, until(Moment::After(20 * MS))).unwrap()), 20 * MS);
        let part = Part { since: Some(Moment::After(5 * MS)), until: Some(Moment::After(20 * MS)) };
        assert_eq!(length(&past(1, None, part).unwrap()), 15 * MS);
    }

    #[test]
    fn moments_are_those_of_the_options() {
        let unstamped = past(2, None, Part::default()).unwrap();
        let said = |at| [unstamped.when(at), unstamped.before(at), unstamped.after(at)];
        assert_eq!(said(301 * MS), ["+0.300s", "+0.299s", "+0.300s"], "the first event was at 1 ms");
        assert_eq!(said(301 * MS + 1), ["+0.300s", "+0.300s", "+0.301s"]);
        let stamped = past(2, Some(5 * MS), Part::default()).unwrap();
        assert!(stamped.before(9 * MS) < stamped.after(9 * MS), "whole seconds around it");
    }

    #[test]
    fn a_host_with_counters_is_simulated_as_one() {
        let (lines, _) = story::journal();
        let with = |host: bool| {
            let head = lines[0].replace("\"host_bandwidth\":false", &format!("\"host_bandwidth\":{host}"));
            let all: Vec<_> = std::iter::once(head).chain(lines[1..].iter().cloned()).map(Ok).collect();
            let past = Past::read(Journal::begin("x", numbered(all.into_iter())).unwrap(), Part::default()).unwrap();
            past.scene(Bound::Best).scenario(&[("policy".to_owned(), quoted("b2arr"))]).map(|_| ())
        };
        assert_eq!(with(true), Ok(()));
        assert!(with(false).unwrap_err().contains("needs bandwidth counters"));
    }
}
