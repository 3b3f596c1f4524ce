//! The same mix in the simulator: a scenario as text, which goes through the reader of all
//! scenarios.

use super::mixes::{Mix, Mixes};
use crate::say::Failure;
use crate::say::WRONG_FILE;
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::validation::Times;
use numaestro_sim::world::World;
use std::fmt::Write;

/// The file names that scenarios use.
const MACHINE: &str = "machine.toml";
const PROGRAMS: &str = "programs.toml";

/// The machine file and the learned programs, which all scenarios share.
#[derive(Debug)]
pub struct Models {
    machine: String,
    programs: String,
}

impl Files for Models {
    fn text(&self, name: &str) -> Result<String, String> {
        match name {
            MACHINE => Ok(self.machine.clone()),
            PROGRAMS => Ok(self.programs.clone()),
            _ => Err(format!("{name} is no file of this comparison")),
        }
    }
}

impl Models {
    /// The models of this machine and of these program files.
    pub fn new(machine: String, programs: &[String]) -> Self {
        Self { machine, programs: programs.join("\n") }
    }

    /// Simulates a mix under a policy.
    ///
    /// # Errors
    /// Exit code 2: the policy cannot run on this machine.
    pub fn simulate(&self, mixes: &Mixes, mix: &Mix, policy: &str) -> anyhow::Result<Times> {
        let text = scenario(mixes, mix, policy);
        let name = format!("{} under {policy}", mix.name);
        let wrong = |reason: &dyn std::fmt::Display| Failure::error(WRONG_FILE, format!("{name}: {reason}"), "");
        let scenario = Scenario::read(Text::new(&name, &text), self).map_err(|mistake| wrong(&mistake))?;
        let world = World::new(scenario.setup(scenario.seed), scenario.source(scenario.seed));
        let outcome = world.map_err(|rejected| wrong(&rejected))?.run(&mut ());
        let programs: Vec<(u64, u64)> = outcome.jobs.iter().map(|job| (job.arrived, job.ended)).collect();
        if programs.len() != mix.arrivals.len() {
            return Err(wrong(&format!("{} of {} programs have ended", programs.len(), mix.arrivals.len())));
        }
        Times::of(&programs).ok_or_else(|| wrong(&"it has no programs"))
    }

    /// Files with which `numaestro sim run` repeats the simulations: names and texts.
    pub fn files(&self, mixes: &Mixes, chosen: &[&Mix]) -> Vec<(String, String)> {
        let mut files = vec![(MACHINE.to_owned(), self.machine.clone()), (PROGRAMS.to_owned(), self.programs.clone())];
        for mix in chosen {
            files.extend(
                mix.policies.first().map(|policy| (format!("{}.toml", mix.name), scenario(mixes, mix, policy))),
            );
        }
        files
    }
}

/// A mix under a policy as a scenario; the other policies of the mix are in its sweep.
fn scenario(mixes: &Mixes, mix: &Mix, policy: &str) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut out = format!(
        "name = {}\nmachine = {}\npolicy = {}\nprograms = [{}]\ncontention = \"none\"\nseeds = 1\n\n[workload]\nkind = \"list\"\narrivals = [\n",
        quoted(&mix.name),
        quoted(MACHINE),
        quoted(policy),
        quoted(PROGRAMS)
    );
    for &(at, program) in &mix.arrivals {
        let _ = writeln!(out, "    {{ at = \"{at} ns\", program = {} }},", quoted(&mixes.programs[program].name));
    }
    out.push_str("]\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE_TEXT: &str = "name = \"here\"\nabout = \"two\"\ntopology = \"core:2 pu:1\"\ncycle = \"1 ns\"\n\
        [memory]\npage_bytes = 4096\nnode_pages = 1000\n[access]\nunit = \"ns\"\nhit = 1\n\
        [[access.class]]\nname = \"all\"\nwithin = \"machine\"\nline = 10\n";

    fn mixes() -> Mixes {
        let text = "policies = [\"batch\", \"equi\"]\n[[program]]\nname = \"a\"\ncommand = [\"a\"]\n\
            [[mix]]\nname = \"two\"\nprograms = [\"a\", \"a\"]\ngap = 0\n";
        Mixes::read(Text::new("m", &text.replace("gap = 0\n", ""))).expect("mixes")
    }

    #[test]
    fn work_and_order_decide_a_simulated_mix() {
        let program = "[[program]]\nname = \"a\"\nprocessors = 2\nphases = [{ do = \"parallel\", iterations = 200, work = \"10 ms\" }]\n";
        let mixes = mixes();
        let times = |program: &str, policy: &str| {
            let models = Models::new(MACHINE_TEXT.to_owned(), &[program.to_owned()]);
            models.simulate(&mixes, &mixes.mixes[0], policy).expect("a run")
        };
        let (batch, equi) = (times(program, "batch"), times(program, "equi"));
        // 2 s of work each on two processors, 50 ms apart.
        assert!(batch.makespan.abs_diff(2_000_000_000) < 20_000_000, "{batch:?}");
        assert!(batch.turnaround.abs_diff(1_475_000_000) < 20_000_000, "{batch:?}");
        assert!(equi.turnaround > batch.turnaround + 300_000_000, "{equi:?}");
        let double = times(&program.replace("10 ms", "20 ms"), "batch");
        assert!(double.makespan.abs_diff(2 * batch.makespan) < 60_000_000, "{double:?}");
    }

    #[test]
    fn kept_files_are_scenarios_of_their_own() {
        let mixes = mixes();
        let models = Models::new(MACHINE_TEXT.to_owned(), &[]);
        let names: Vec<String> = models.files(&mixes, &[&mixes.mixes[0]]).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["machine.toml", "programs.toml", "two.toml"]);
    }
}
