//! `numaestro sim validate --staged`: the processors that programs had under a live manager
//! beside the ones that they have in the simulator. The comparison is
//! `numaestro_sim::validation::allocations`; files and output are here.

use super::ValidateArgs;
use crate::columns::{Side, lines};
use crate::say::WRONG_FILE;
use crate::say::{self, Failure};
use crate::sim::files::{self, Directory};
use crate::sim::policies::apart;
use crate::texts;
use numaestro_sim::machine;
use numaestro_sim::read::Text;
use numaestro_sim::validation::allocations::{Aspect, Comparison, StagedRun, Stages, Tally, simulate};
use numaestro_topology::Machine;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Version of the JSON form.
const VERSION: u32 = 1;

/// A staged run beside its simulation.
#[derive(Serialize)]
struct Compared {
    file: String,
    mix: String,
    /// The policy of the live manager.
    policy: String,
    /// The policy of the simulator.
    simulated_policy: String,
    holds: bool,
    comparison: Comparison,
}

#[derive(Serialize)]
struct Document<'a> {
    numaestro_allocations: u32,
    holds: bool,
    staged: &'a [Compared],
}

/// Compares the staged runs of the command line.
///
/// # Errors
/// Exit code 2: a file is wrong.
pub fn compare(args: &ValidateArgs) -> anyhow::Result<u8> {
    files::check_writable(&[args.json.as_ref()])?;
    let policies: Vec<String> = args.policies.iter().flat_map(|list| apart(list)).collect();
    if policies.len() > 1 {
        return Err(Failure::error(say::USAGE, "--staged takes one policy for the simulator", "leave out --policies"));
    }
    let model = args.machine.as_deref().map(other_machine).transpose()?;
    let one = |path| compared(path, policies.first().map(String::as_str), model.as_ref());
    let compared = args.staged.iter().map(|path| one(path)).collect::<anyhow::Result<Vec<_>>>()?;
    say::print(&table(&compared))?;
    let holds = compared.iter().all(|one| one.holds);
    if let Some(path) = &args.json {
        let document = Document { numaestro_allocations: VERSION, holds, staged: &compared };
        files::write(path, &(serde_json::to_string_pretty(&document)? + "\n"))?;
    }
    Ok(if holds { say::OK } else { say::FAILED })
}

fn wrong(what: &dyn std::fmt::Display, next: &str) -> anyhow::Error {
    Failure::error(WRONG_FILE, what.to_string(), next)
}

fn text(path: &Path) -> anyhow::Result<String> {
    texts::text(path).map_err(|error| wrong(&format!("cannot read {}: {error}", path.display()), ""))
}

/// The machine of a file, to be simulated instead of the staged one.
fn other_machine(path: &Path) -> anyhow::Result<Machine> {
    let (name, content) = (path.display().to_string(), text(path)?);
    let model = machine::read(Text::new(&name, &content), &Directory::of(path));
    model.map(|model| model.topology).map_err(|mistake| wrong(&mistake, ""))
}

/// Compares one staged run with the simulation of its steps.
fn compared(path: &Path, policy: Option<&str>, model: Option<&Machine>) -> anyhow::Result<Compared> {
    let (file, content) = (path.display().to_string(), text(path)?);
    let next = "staged runs are written by the scenarios `validate-...` of `make test-numa`; testdata/staged has some";
    let (staged, machine) = StagedRun::read(Text::new(&file, &content)).map_err(|mistake| wrong(&mistake, next))?;
    let live = Stages::of(staged.journal()).map_err(|error| wrong(&format!("{file}: {error}"), next))?;
    let policy = policy.unwrap_or(staged.policy());
    let model = model.unwrap_or(&machine);
    let simulated = simulate(model, staged.steps(), (policy, staged.seed())).map_err(|rejected| {
        wrong(&format!("{file} under {policy}: {rejected}"), "`numaestro policy list` shows policies")
    })?;
    let comparison = Comparison::new(&staged, (&machine, &live), (model, &simulated));
    let (mix, live_policy) = (staged.mix().to_owned(), staged.policy().to_owned());
    Ok(Compared {
        file,
        mix,
        policy: live_policy,
        simulated_policy: policy.to_owned(),
        holds: comparison.holds(),
        comparison,
    })
}

fn table(compared: &[Compared]) -> String {
    let head = ["mix", "policy"].into_iter().chain(Aspect::ALL.map(Aspect::name)).chain(["identical"]);
    let mut rows: Vec<Vec<String>> = vec![head.map(str::to_owned).collect()];
    for one in compared {
        let policy = if one.policy == one.simulated_policy {
            one.policy.clone()
        } else {
            format!("{}, simulated {}", one.policy, one.simulated_policy)
        };
        rows.push([vec![one.mix.clone(), policy], agreements(&[&one.comparison])].concat());
    }
    let all: Vec<&Comparison> = compared.iter().map(|one| &one.comparison).collect();
    rows.push([vec!["all".to_owned(), String::new()], agreements(&all)].concat());
    let mut out = lines(&rows, Side::Left).join("\n") + "\n";
    for one in compared {
        disagreements(one, &mut out);
    }
    out
}

/// Steps that agree of all steps, for each aspect, and to the last processor.
fn agreements(comparisons: &[&Comparison]) -> Vec<String> {
    let sum = |tally: &dyn Fn(&Comparison) -> Tally| {
        let (agree, of) = comparisons
            .iter()
            .map(|one| tally(one))
            .fold((0, 0), |(agree, of), tally| (agree + tally.agree, of + tally.of));
        if of == 0 { String::new() } else { format!("{agree}/{of}") }
    };
    let aspects = Aspect::ALL.iter().map(|aspect| sum(&|comparison| comparison.tally(*aspect)));
    aspects.chain([sum(&Comparison::identical)]).collect()
}

/// The steps of a staged run that do not agree.
fn disagreements(one: &Compared, out: &mut String) {
    for step in one.comparison.steps() {
        let wrong: Vec<&str> = step.disagreements().map(Aspect::name).collect();
        if !wrong.is_empty() {
            let (place, wrong) = (format!("{} under {}, step {}", one.mix, one.policy, step.step), wrong.join(", "));
            let _ = writeln!(out, "\n{place}: {wrong}\n  live       {}\n  simulated  {}", step.live, step.simulated);
        }
    }
}
