//! `numaestro sim chaos`: runs many seeds on all processors, or one of them event by event. The
//! simulator makes the faults, and checks the invariants.

use super::args::ChaosArgs;
use super::progress::Progress;
use super::{runner, stop};
use crate::say;
use numaestro_sim::chaos::{self, Fault, Listener, Options, Reached, Summary};
use rayon::prelude::*;
use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::Ordering;

/// Failures that are shown.
const SHOWN: usize = 10;

/// Notes the progress of a run, and its messages.
struct Watch {
    traces: bool,
    steps: u64,
    text: String,
}

impl Listener for Watch {
    fn wants_trace(&self) -> bool {
        self.traces
    }

    fn trace(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        // Shown while it goes on: a run that never ends can be seen too. A closed pipe ends nothing
        // but the trace.
        self.traces &= say::print(&self.text).is_ok();
        self.text.clear();
    }

    fn step(&mut self, step: u64) {
        self.steps = step;
    }
}

/// One run; an engine's broken invariant is a failure like others.
fn run(seed: u64, options: &Options, traces: bool) -> Result<Summary, (u64, String)> {
    let mut watch = Watch { traces, steps: 0, text: String::new() };
    let done = panic::catch_unwind(AssertUnwindSafe(|| chaos::run(seed, options, &mut watch)));
    match done {
        Ok(outcome) => outcome.map_err(|failure| (failure.step, failure.to_string())),
        Err(cause) => {
            let text = cause.downcast_ref::<String>().cloned();
            let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let what = text.unwrap_or_else(|| "no message".to_owned());
            Err((watch.steps, format!("seed {seed}, step {}: the engine failed: {what}", watch.steps)))
        }
    }
}

/// The subcommand.
pub fn chaos(args: &ChaosArgs) -> anyhow::Result<u8> {
    let options = Options { without: args.without.clone(), steps: args.steps, ..Options::default() };
    // Failures are told below, each once.
    panic::set_hook(Box::new(|_| {}));
    match args.seed {
        Some(seed) => one(seed, &options, args.trace),
        None => many(args, &options),
    }
}

fn one(seed: u64, options: &Options, traces: bool) -> anyhow::Result<u8> {
    match run(seed, options, traces) {
        Ok(summary) => {
            let about = summary.about.clone();
            say::print(&format!("seed {seed}: {about}\n{}\n", counts(1, &[summary])))?;
            Ok(say::OK)
        }
        Err((step, what)) => {
            say::print(&format!("{what}\n{}", hints(seed, step, options)))?;
            Ok(1)
        }
    }
}

fn many(args: &ChaosArgs, options: &Options) -> anyhow::Result<u8> {
    let stop = stop::on_signal()?;
    let progress = Progress::new(args.seeds, None);
    let seeds = args.first..args.first.saturating_add(args.seeds);
    let outcomes: Vec<_> = runner::pool(args.workers)?.install(|| {
        let each = |seed| {
            let goes_on = !stop.flag().load(Ordering::Relaxed);
            let outcome = goes_on.then(|| (seed, run(seed, options, false)));
            progress.run();
            outcome
        };
        seeds.into_par_iter().map(each).collect()
    });
    drop(progress);
    let stopped = outcomes.iter().any(Option::is_none);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (seed, outcome) in outcomes.into_iter().flatten() {
        match outcome {
            Ok(summary) => good.push(summary),
            Err((at, what)) => bad.push((seed, at, what)),
        }
    }
    let mut text = String::new();
    for (seed, step, what) in bad.iter().take(SHOWN) {
        let _ = write!(text, "{what}\n{}", hints(*seed, *step, options));
    }
    if bad.len() > SHOWN {
        let _ = writeln!(text, "... and {} more", bad.len() - SHOWN);
    }
    let _ = writeln!(text, "{}", counts(good.len() + bad.len(), &good));
    let _ = writeln!(text, "{} of {} runs found something wrong", bad.len(), good.len() + bad.len());
    say::print(&text)?;
    Ok(if !bad.is_empty() {
        1
    } else if stopped {
        stop::STOPPED
    } else {
        say::OK
    })
}

/// The events of all runs, in numbers.
fn counts(runs: usize, good: &[Summary]) -> String {
    let sum = |of: fn(&Summary) -> u64| good.iter().map(of).sum::<u64>();
    let mut reached = Reached::default();
    for summary in good {
        reached.add(&summary.reached);
    }
    let slowest = good.iter().map(|summary| summary.settled_ns).max().unwrap_or(0) as f64 / 1e6;
    format!(
        "{runs} runs, {} events, {} actions, {} faults, {} programs ended; settled after at most {slowest:.1} ms of calm\n{}",
        sum(|summary| summary.events),
        sum(|summary| summary.actions),
        sum(|summary| summary.faults),
        sum(|summary| summary.ended),
        situations(&reached),
    )
}

/// How many of the situations that chaos runs can come to these came to, and the names of the
/// others.
fn situations(reached: &Reached) -> String {
    let ((some, all), never) = (reached.count(), reached.never());
    let never = if never.is_empty() { String::new() } else { format!("; never: {}", never.join(", ")) };
    format!("{some} of {all} situations reached{never}")
}

/// The command that shows a failure again, with as few faults as it needs.
fn hints(seed: u64, step: u64, options: &Options) -> String {
    let mut least = options.clone();
    let mut steps = step;
    for fault in Fault::ALL {
        let mut fewer = least.clone();
        fewer.without.push(fault);
        if let Err((step, _)) = run(seed, &fewer, false) {
            (least, steps) = (fewer, step);
        }
    }
    let needed: Vec<&str> =
        Fault::ALL.into_iter().filter(|fault| !least.without.contains(fault)).map(Fault::name).collect();
    let without: Vec<&str> = least.without.iter().map(|fault| fault.name()).collect();
    let without = if without.is_empty() { String::new() } else { format!(" --without {}", without.join(",")) };
    let needed = if needed.is_empty() { "no fault".to_owned() } else { needed.join(", ") };
    format!("  needs {needed}, {steps} steps: numaestro sim chaos --seed {seed} --trace{without}\n")
}
