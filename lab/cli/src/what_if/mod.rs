//! `numaestro what-if`: what a recorded time would have been under other policies.
//!
//! The recording becomes a scenario ([`scene`]): each application a program with its own work,
//! applications that follow each other a stream. The policy that ran is simulated first. Its
//! difference from what happened is the error of the model ([`verdict`]).

mod args;
mod doubt;
mod report;
mod scene;
mod sentence;
mod trial;
mod verdict;

pub use args::WhatIfArgs;

use crate::recordings::{Part, Recording};
use crate::say::{self, Failure};
use crate::sim::{files, policies};
use anyhow::Context;
use numaestro_sim::learn::mix::Bound;
use report::{Program, Report};
use scene::{Past, Scene};
use sentence::sentence;
use std::path::{Path, PathBuf};
use std::thread;
use trial::{Times, simulate};
use verdict::{Errors, Verdict};

/// Policies that are tried where none are named.
const USUAL: &str = "equi,equip,dss,batch";

/// The subcommand.
pub fn what_if(dir: Option<PathBuf>, args: &WhatIfArgs) -> anyhow::Result<u8> {
    files::check_writable(&[args.html.as_ref()])?;
    let recording = Recording::named(dir, args.recording.as_deref())?;
    let wanted = Part::of(&args.part)?;
    let journal = recording.journal(wanted)?;
    let name = journal.name().to_owned();
    let past = Past::read(journal, wanted)?;
    recording.warn();
    let scenes = both(Bound::BOTH, |bound| past.scene(bound));
    if let Some(directory) = &args.keep {
        keep(&scenes[0], directory)?;
    }
    let report = answer(&name, &past, &scenes, args)?;
    if let Some(path) = &args.html {
        files::write(path, &report.page())?;
    }
    say::print(&if args.json { format!("{}\n", serde_json::to_string_pretty(&report)?) } else { report.words() })?;
    Ok(say::OK)
}

/// The same for both bounds at once: a day takes some time.
fn both<A: Send, B: Send>([one, other]: [A; 2], of: impl Fn(A) -> B + Sync) -> [B; 2] {
    thread::scope(|scope| {
        let other = scope.spawn(|| of(other));
        [of(one), other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
    })
}

/// Writes the scenario's files.
fn keep(scene: &Scene, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for (name, text) in scene.files() {
        files::write(&directory.join(name), text)?;
    }
    Ok(())
}

/// The changes of `--set`: paths and TOML values.
type Sets = [(String, String)];

fn answer(name: &str, past: &Past, scenes: &[Scene; 2], args: &WhatIfArgs) -> anyhow::Result<Report> {
    let sets = args.set.iter().map(|set| files::change(set)).collect::<anyhow::Result<Vec<_>>>()?;
    let members = &scenes[0].members;
    let real = Times::recorded(members);
    let tried = policies::apart(args.policies.as_deref().unwrap_or(USUAL));
    if tried.is_empty() {
        return Err(Failure::error(say::USAGE, "there is no policy to try", "name some by --policies dss,batch"));
    }
    let has_ended = members.iter().any(|member| member.recorded.ended.is_some());
    let Tried { errors, verdicts, left_out } =
        if has_ended { try_all(name, past, scenes, &sets, &tried, args)? } else { Tried::default() };
    let assumed = members.iter().filter(|member| !member.program.assumed.is_empty());
    let policies = past.ran.policies();
    Ok(Report {
        recording: name.to_owned(),
        policy: past.ran.first().to_owned(),
        makespan_s: has_ended.then_some(real.makespan / 1e9),
        turnaround_s: real.mean_turnaround().map(|ns| ns / 1e9),
        sentence: sentence(&policies, &verdicts, members.len(), errors),
        policies,
        errors,
        verdicts,
        programs: members.iter().zip(&real.turnarounds).map(|(member, real)| Program::of(member, *real)).collect(),
        streams: scenes[0].streams.iter().filter(|stream| stream.members.len() > 1).count(),
        assumed: assumed.map(|member| member.program.name.clone()).collect(),
        had_load: past.had_load,
        coarser: scenes[0].coarseness.max(scenes[1].coarseness),
        left_out,
    })
}

/// What the simulations say.
#[derive(Default)]
struct Tried {
    /// Of what ran.
    errors: Option<Errors>,
    verdicts: Vec<Verdict>,
    /// Usual policies that cannot run there, with the reason.
    left_out: Vec<String>,
}

fn try_all(
    name: &str,
    past: &Past,
    scenes: &[Scene; 2],
    sets: &Sets,
    tried: &[String],
    args: &WhatIfArgs,
) -> anyhow::Result<Tried> {
    let all = |policy: Option<&str>| -> anyhow::Result<Vec<Times>> {
        let simulated = |scene| simulate(scene, policy, sets, args.seeds);
        let [best, worst] = both([&scenes[0], &scenes[1]], simulated);
        Ok([best?, worst?].concat())
    };
    let members = &scenes[0].members;
    let usual = all(None).map_err(|cause| cannot(name, past, &scenes[0]).unwrap_or(cause))?;
    let errors = Errors::of(&Times::recorded(members), &Times::mean(&usual));
    let names: Vec<String> = members.iter().map(|member| member.program.name.clone()).collect();
    let (mut verdicts, mut left_out) = (Vec::new(), Vec::new());
    for policy in tried {
        match all(Some(policy)) {
            Ok(other) => {
                let verdict = Verdict::of(policy, &usual, &other, &names, errors);
                verdicts.push(verdict.doubted(doubt::doubt(policy, past)));
            }
            // Of the usual ones not each can run everywhere.
            Err(cause) if args.policies.is_none() => left_out.push(say::in_one_line(&cause)),
            Err(cause) => return Err(cause),
        }
    }
    Ok(Tried { errors: Some(errors), verdicts, left_out })
}

/// Which of the policies that ran cannot be simulated, and which part of the recording has others.
/// `None`: that is not why.
fn cannot(name: &str, past: &Past, scene: &Scene) -> Option<anyhow::Error> {
    let reason = |policy: &str| {
        let alone = [("policy", files::quoted(policy)), ("switches", "[]".to_owned())];
        scene.scenario(&alone.map(|(path, value)| (path.to_owned(), value))).err()
    };
    let failed = |problem: String, what: &str, next: String| {
        let what = format!("{name} cannot be simulated as it was: {problem}{what}");
        Some(Failure::error(say::WRONG_FILE, what, next))
    };
    let switches = past.ran.switches();
    if let Some(problem) = reason(past.ran.first()) {
        let next = switches.first().map(|(at, _)| format!("`--since \"{}\"` takes the time after it", past.after(*at)));
        return failed(problem, "", next.unwrap_or_default());
    }
    let (at, problem) = switches.iter().find_map(|(at, policy)| Some((*at, reason(policy)?)))?;
    let next = format!("`--until \"{}\"` takes the time before it", past.before(at));
    failed(problem, &format!("; it ran from {} on", past.when(at)), next)
}
