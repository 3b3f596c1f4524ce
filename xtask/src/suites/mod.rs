//! `cargo xtask suites`: the own test suites of libgomp and libomp. Each program is run alone, and
//! then managed while its processors change every few milliseconds; it must do the same. What may
//! differ, and why, is in `testdata/suites/known.tsv`.
//!
//! The suites are not ours and not in the repository: `scripts/fetch-suites.sh` fetches them.

mod build;
mod collect;
mod dejagnu;
mod ended;
mod judge;
mod known;
mod lit;
mod manager;
mod options;
mod recipe;
mod records;
mod report;
mod trial;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use known::Known;
use manager::Manager;
use numaestro_policy::Random;
use options::Options;
use recipe::{Case, Compiler, Recipe};
use report::Report;
use trial::{Bench, Terms};

/// Where the suites are, below the repository.
const DIRECTORY: &str = "build/suites";

/// Fetches, runs and reports.
pub fn run(root: &Path, arguments: &[&str]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    let fetched = Command::new(root.join("scripts/fetch-suites.sh")).status().context("scripts/fetch-suites.sh")?;
    match fetched.code() {
        Some(0) => {}
        // It has said why.
        Some(77) => return Ok(ExitCode::SUCCESS),
        _ => bail!("the suites could not be fetched"),
    }
    let recipes = collect::all(&root.join(DIRECTORY).join("source"))?;
    let known = known::read(root)?;
    let cases = draw(&recipes, &options);
    if options.list {
        for case in &cases {
            println!("{case}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    println!("suites: {} cases, seed {}; again with --seed {}", cases.len(), options.seed, options.seed);
    let report = Mutex::new(Report::new(options.seed));
    all(root, &options, &cases, &known, &report)?;
    let report = report.into_inner().map_err(|_| anyhow!("a worker has failed"))?;
    if let Some(path) = &options.json {
        std::fs::write(path, format!("{:#}\n", report.json()))?;
    }
    println!("{}", report.text());
    Ok(if report.faults() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The cases that are asked for, those of one program and compiler together.
fn draw<'a>(recipes: &'a [Recipe], options: &Options) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for recipe in recipes.iter().filter(|recipe| options.wants(&recipe.name)) {
        for compiler in [Compiler::Gcc, Compiler::Clang] {
            if compiler.command(recipe.language).is_none() || options.compiler.is_some_and(|one| one != compiler) {
                continue;
            }
            for run in 0..recipe.said.runs.len() {
                cases.extend(options.threads.iter().map(|&threads| Case { recipe, compiler, run, threads }));
            }
        }
    }
    if let Some(count) = options.draw {
        shuffle(&mut cases, options.seed);
        cases.truncate(count);
        cases.sort_by(|a, b| (&a.recipe.name, a.compiler).cmp(&(&b.recipe.name, b.compiler)));
    }
    cases
}

/// Another order.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Random::new(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u32 + 1) as usize);
    }
}

/// Runs all cases, on as many workers as are asked for.
fn all(root: &Path, options: &Options, cases: &[Case<'_>], known: &[Known], report: &Mutex<Report>) -> Result<()> {
    let same = |a: &Case<'_>, b: &Case<'_>| a.recipe.name == b.recipe.name && a.compiler == b.compiler;
    let programs: Vec<&[Case<'_>]> = cases.chunk_by(same).collect();
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    let work = |number: u32| -> Result<()> {
        let scratch = root.join(DIRECTORY).join(format!("work-{}-{number}", std::process::id()));
        let ended = Worker { options, known, report, number }.work(&scratch, &mut || {
            let taken = next.fetch_add(1, Ordering::Relaxed);
            let program = programs.get(taken)?;
            if taken > 0 && taken.is_multiple_of(200) {
                println!("suites: {taken} of {} programs", programs.len());
            }
            if options.seconds.is_some_and(|seconds| begin.elapsed() > seconds) {
                report.lock().ok()?.left_out += program.len() as u64;
                return Some(&[]);
            }
            Some(program)
        });
        let _ = std::fs::remove_dir_all(&scratch);
        ended
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.workers).map(|number| scope.spawn(move || work(number))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker has failed"))?)
    })
}

/// One who takes program after program.
struct Worker<'a> {
    options: &'a Options,
    known: &'a [Known],
    report: &'a Mutex<Report>,
    number: u32,
}

impl Worker<'_> {
    fn work<'b>(&self, scratch: &Path, next: &mut dyn FnMut() -> Option<&'b [Case<'b>]>) -> Result<()> {
        let directory = scratch.join("programs");
        std::fs::create_dir_all(&directory)?;
        let command = std::path::absolute(&self.options.command)?;
        let mut manager = Manager::start(&command, &scratch.join("manager"))?;
        let processors = std::thread::available_parallelism()?.get() as u32;
        let terms = Terms {
            alone_max: self.options.alone_max,
            workers: self.options.workers,
            times: self.options.times,
            processors,
        };
        let random = Random::new(self.options.seed + u64::from(self.number));
        let mut bench = Bench { manager: &mut manager, scratch: directory.clone(), random, terms };
        while let Some(cases) = next() {
            let Some(first) = cases.first() else { continue };
            let program = build::program(first.recipe, first.compiler, &directory)?;
            records::forget_the_dead();
            self.report().add_program(first, program.is_some());
            let Some(program) = program else { continue };
            for case in cases {
                let trial = bench.try_case(case, &program)?;
                let known = self.known.iter().find(|known| known.covers(case)).map(|known| known.cause.as_str());
                let by_hand = build::by_hand(case.recipe, case.compiler);
                let line = self.report().add(case, &trial, known, &by_hand);
                if let Some(line) = line {
                    println!("{line}");
                }
            }
        }
        Ok(())
    }

    fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
