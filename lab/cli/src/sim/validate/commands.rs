//! Makes command lines of the programs of the mixes: load programs get as many repetitions as their
//! work takes on this machine.

use super::mixes::{MixProgram, Origin};
use crate::bench::calibrate::calibrate;
use crate::bench::mix::Program;
use crate::bench::places::{CommandLine, Places};
use crate::sim::learn::Subject;
use crate::target;
use std::collections::BTreeMap;

/// Programs that can be started here, by place, and the reasons against the others.
#[derive(Debug, Default)]
pub struct Subjects {
    /// By place in the mixes file.
    pub found: BTreeMap<usize, Subject>,
    /// One sentence each.
    pub missing: BTreeMap<usize, String>,
}

impl Subjects {
    /// Finds the `wanted` programs.
    pub fn find(programs: &[MixProgram], wanted: &[usize], places: &Places) -> Self {
        let mut all = Self::default();
        for &place in wanted {
            match line(&programs[place].origin, places) {
                Ok(line) => drop(all.found.insert(place, subject(&programs[place], line))),
                Err(reason) => drop(all.missing.insert(place, reason)),
            }
        }
        all
    }

    /// Gives load programs their repetitions; measures their speed on `processor`, `factor` times
    /// the work that their file says.
    pub fn calibrate(&mut self, programs: &[MixProgram], processor: usize, factor: f64) -> anyhow::Result<()> {
        for (&place, subject) in &mut self.found {
            if let Origin::Load { work_ns, runtime, .. } = &programs[place].origin {
                let key = Program { name: subject.name.clone(), runtime: *runtime };
                let rates = calibrate(&BTreeMap::from([(key.clone(), subject.line.clone())]), processor)?;
                let per_s = rates.get(&key).copied().unwrap_or(1.0);
                let repetitions = (*work_ns as f64 / 1e9 * factor * per_s).round().max(1.0);
                subject.line.arguments.extend(["--json".to_owned(), "--reps".to_owned(), format!("{repetitions}")]);
            }
        }
        Ok(())
    }
}

fn subject(program: &MixProgram, line: CommandLine) -> Subject {
    let checks_itself = matches!(program.origin, Origin::Load { .. });
    Subject { name: program.name.clone(), line, class: program.class, checks_itself }
}

fn line(origin: &Origin, places: &Places) -> Result<CommandLine, String> {
    match origin {
        Origin::Load { kernel, runtime, arguments, .. } => {
            let mut line = places.command(&Program { name: kernel.clone(), runtime: *runtime })?;
            line.arguments.extend(arguments.iter().cloned());
            Ok(line)
        }
        Origin::Command(words) => {
            let path = target::find(words[0].as_ref(), std::env::var_os("PATH")).map_err(|error| error.to_string())?;
            Ok(CommandLine { executable: path, arguments: words[1..].to_vec() })
        }
    }
}
