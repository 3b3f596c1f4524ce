//! A recording as a scenario of the simulator: its machine, its programs, its arrivals.

use crate::record::Journal;
use crate::say::Failure;
use crate::sim::WRONG_FILE;
use crate::sim::files::quoted;
use crate::sim::validate::machine;
use numaestro_engine::journal;
use numaestro_engine::{Action, Event, Nanos};
use numaestro_sim::learn::coarse::{self, Coarseness};
use numaestro_sim::learn::journal::{Recorded, Runs};
use numaestro_sim::learn::mix::{self, Bound, Member, Stream};
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_topology::{Machine, PuSet};
use std::fmt::Write;

/// The file names that the scenario uses.
const MACHINE: &str = "machine.toml";
const PROGRAMS: &str = "programs.toml";
const SCENE: &str = "mix.toml";
/// Shorter phases are not told apart, nanoseconds: as for `sim learn`.
const PHASE_NS_LEAST: u64 = 5_000_000;

/// What a recording says.
#[derive(Debug)]
pub struct Past {
    machine: String,
    /// The policy at its begin.
    pub policy: String,
    /// Policies that it was switched to, with the times on the journal's clock.
    switches: Vec<(Nanos, String)>,
    /// The applications.
    pub recorded: Vec<Recorded>,
    /// Load outside kept processors busy at some time.
    pub had_load: bool,
}

impl Past {
    /// Reads a journal.
    ///
    /// # Errors
    /// Exit code 2: it is no journal, or nobody has run in it.
    pub fn read(mut journal: Journal<'_>) -> anyhow::Result<Self> {
        let (machine, settings, _) = journal.headed(journal::decode_head(journal.head()))?;
        let mut past = Self {
            machine: machine_text(&machine, &settings.reserved)?,
            policy: settings.policy,
            switches: Vec::new(),
            recorded: Vec::new(),
            had_load: false,
        };
        let mut runs = Runs::default();
        while let Some(line) = journal.line()? {
            let Some(()) = line.understood(runs.line(&line.text))? else { break };
            past.note(&line.text);
        }
        past.recorded = runs.recorded(PHASE_NS_LEAST);
        if past.recorded.iter().all(|app| app.run.length() == 0) {
            return Err(journal.wrong("no program has run in it"));
        }
        Ok(past)
    }

    /// Takes from a line what is not of one application.
    fn note(&mut self, line: &str) {
        // Most lines are about one application, and reading a line takes time.
        if !line.contains("\"policy\"") && !line.contains("\"unmanaged\"") {
            return;
        }
        if let Ok(state) = journal::State::decode(line) {
            if self.recorded.is_empty() && self.switches.is_empty() {
                self.policy = state.state.policy;
            }
            self.had_load |= state.state.unmanaged > 0;
            return;
        }
        match journal::decode(line) {
            Ok((_, _, actions)) if actions.iter().any(Action::is_refusal) => {}
            Ok((at, Event::Policy { policy }, _)) => self.switches.push((at, policy)),
            Ok((_, Event::Unmanaged { processors }, _)) => self.had_load |= processors > 0,
            _ => {}
        }
    }

    /// The scenario, with speedups that nobody has measured at this bound.
    pub fn scene(&self, bound: Bound) -> Scene {
        let mut members = mix::members(self.recorded.clone(), bound);
        let coarseness = coarse::coarsen(&mut members);
        let streams = mix::streams(&members);
        let programs: Vec<String> = members.iter().map(program).collect();
        let begin = members.iter().map(|member| member.recorded.arrived).min().unwrap_or_default();
        let text = self.text(&members, &streams, begin);
        Scene { machine: self.machine.clone(), programs: programs.join("\n"), text, coarseness, members, streams }
    }

    fn text(&self, members: &[Member], streams: &[Stream], begin: Nanos) -> String {
        let mut out = format!(
            "name = \"as recorded\"\nmachine = {}\npolicy = {}\nprograms = [{}]\ncontention = \"none\"\n",
            quoted(MACHINE),
            quoted(&self.policy),
            quoted(PROGRAMS)
        );
        if !self.switches.is_empty() {
            let switch =
                |(at, policy): &(Nanos, String)| format!("[\"{} ns\", {}]", at.saturating_sub(begin), quoted(policy));
            let _ = writeln!(out, "switches = [{}]", self.switches.iter().map(switch).collect::<Vec<_>>().join(", "));
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

/// The machine without the processors that the manager did not give out.
fn machine_text(machine: &Machine, reserved: &PuSet) -> anyhow::Result<String> {
    let mut left_out = machine.all();
    left_out.subtract(machine.allowed());
    left_out.or_with(reserved);
    let text = machine::text_of(machine)?;
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
    programs: String,
    text: String,
    /// A long recording is simulated in coarser steps.
    pub coarseness: Coarseness,
    /// The applications.
    pub members: Vec<Member>,
    /// Those that follow each other.
    pub streams: Vec<Stream>,
}

impl Files for Scene {
    fn text(&self, name: &str) -> Result<String, String> {
        match name {
            MACHINE => Ok(self.machine.clone()),
            PROGRAMS => Ok(self.programs.clone()),
            _ => Err(format!("{name} is no file of this recording")),
        }
    }
}

impl Scene {
    /// The scenario with these changes (path and TOML value).
    ///
    /// # Errors
    /// Exit code 2: a change is wrong, or a policy cannot run there.
    pub fn scenario(&self, changes: &[(String, String)]) -> anyhow::Result<Scenario> {
        Scenario::read_changed(Text::new(SCENE, &self.text), changes, self)
            .map_err(|mistake| Failure::error(WRONG_FILE, mistake.to_string(), ""))
    }

    /// Its files: names and texts.
    pub fn files(&self) -> [(&'static str, &str); 3] {
        [(MACHINE, &self.machine), (PROGRAMS, &self.programs), (SCENE, &self.text)]
    }
}
