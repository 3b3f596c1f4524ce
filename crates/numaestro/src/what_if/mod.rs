//! `numaestro what-if`: what a recorded time would have been under other policies.
//!
//! The recording becomes a scenario ([`scene`]): each application a program with its own work,
//! applications that follow each other a stream. The policy that ran is simulated first. Its
//! difference from what happened is the error of the model ([`verdict`]).

mod report;
mod scene;
mod trial;
mod verdict;

use crate::cli::WhatIfArgs;
use crate::record::{Part, Recording};
use crate::say::{self, Failure};
use crate::sim::{files, policies};
use anyhow::Context;
use numaestro_sim::learn::mix::Bound;
use report::{Program, Report};
use scene::{Past, Scene};
use std::path::{Path, PathBuf};
use trial::{Times, simulate};
use verdict::{Errors, Verdict, sentence};

/// Policies that are tried where none are named.
const USUAL: &str = "equi,equip,dss,batch";

/// The subcommand.
pub fn what_if(dir: Option<PathBuf>, args: &WhatIfArgs) -> anyhow::Result<u8> {
    files::check_writable(&[args.html.as_ref()])?;
    let recording = Recording::named(dir, args.recording.as_deref())?;
    let journal = recording.journal(Part::of(&args.part)?)?;
    let name = journal.name().to_owned();
    let past = Past::read(journal)?;
    recording.warn();
    let scenes = Bound::BOTH.map(|bound| past.scene(bound));
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

/// Writes the scenario's files.
fn keep(scene: &Scene, directory: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for (name, text) in scene.files() {
        files::write(&directory.join(name), text)?;
    }
    Ok(())
}

fn answer(name: &str, past: &Past, scenes: &[Scene; 2], args: &WhatIfArgs) -> anyhow::Result<Report> {
    let sets = args.set.iter().map(|set| files::change(set)).collect::<anyhow::Result<Vec<_>>>()?;
    let all = |policy: Option<&str>| -> anyhow::Result<Vec<Times>> {
        let simulated = |scene| simulate(scene, policy, &sets, args.seeds);
        // Both bounds at once: a day takes some ten seconds.
        let (best, worst) = std::thread::scope(|scope| {
            let other = scope.spawn(|| simulated(&scenes[1]));
            (simulated(&scenes[0]), other.join())
        });
        let worst = worst.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok([best?, worst?].concat())
    };
    let given = args.policies.as_deref();
    let usual = all(None)?;
    let members = &scenes[0].members;
    let real = Times::recorded(members);
    let errors = Errors::of(&real, &Times::mean(&usual));
    let names: Vec<String> = members.iter().map(|member| member.program.name.clone()).collect();
    let mut verdicts = Vec::new();
    let mut left_out = Vec::new();
    for policy in policies::apart(given.unwrap_or(USUAL)) {
        match all(Some(&policy)) {
            Ok(other) => verdicts.push(Verdict::of(&policy, &usual, &other, &names, errors)),
            // Of the usual ones not each can run everywhere.
            Err(cause) if given.is_none() => left_out.push(format!("{policy}: {}", say::in_one_line(&cause))),
            Err(cause) => return Err(cause),
        }
    }
    if verdicts.is_empty() {
        return Err(Failure::error(say::USAGE, "there is no policy to try", "name some by --policies dss,batch"));
    }
    let assumed = members.iter().filter(|member| !member.program.assumed.is_empty());
    Ok(Report {
        recording: name.to_owned(),
        policy: past.policy.clone(),
        makespan_s: real.makespan / 1e9,
        turnaround_s: real.mean_turnaround() / 1e9,
        errors,
        sentence: sentence(&past.policy, &verdicts, members.len()),
        verdicts,
        programs: members.iter().zip(&real.turnarounds).map(|(member, real)| Program::of(member, *real)).collect(),
        streams: scenes[0].streams.iter().filter(|stream| stream.members.len() > 1).count(),
        assumed: assumed.map(|member| member.program.name.clone()).collect(),
        had_load: past.had_load,
        coarser: Some(scenes[0].coarseness).filter(|coarseness| coarseness.is_any()),
        left_out,
    })
}
