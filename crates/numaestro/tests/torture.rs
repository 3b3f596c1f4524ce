//! Torture: every construct of OpenMP and everything that could notice how its threads are run,
//! while the allocation changes every 5 ms. A program under the manager must print byte for byte
//! what it prints alone, and end in the same way.
//!
//! The programs are in `client/torture`. What they print depends on the size of their teams only.
//! Each test runs a group of them by every compiler, a few times with other team sizes, processors,
//! orders and neighbours. Settings:
//!
//! * `NUMAESTRO_TORTURE_ROUNDS`: how often each program is run, usually 2; 100 is the long form.
//! * `NUMAESTRO_TORTURE_SEED`: draws everything that is drawn. A failure names the seed that it was
//!   found with.
//! * `NUMAESTRO_TORTURE_MILLISECONDS`: how long a run repeats its parts, usually 120.
//! * `NUMAESTRO_TORTURE_WEIGHT`: how many times the usual number of barriers and the like, usually
//!   1.
//! * `NUMAESTRO_TORTURE_ONLY`: names of programs, separated by commas; others are left out.
//! * `NUMAESTRO_TORTURE_THREADS`: one team size instead of those drawn.
//! * `NUMAESTRO_TORTURE_PLAIN`: runs alone are repeated so often, and must print the same each
//!   time; usually 1.
//! * `NUMAESTRO_TORTURE_CLASS`: a class for `numaestro run`.

mod support;

use numaestro_skip::part;
use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;
use support::ended::{self, Ended};
use support::flipper::{Flipper, Pattern, Sleepers};
use support::manager::{Manager, alone};
use support::programs::{COMPILERS, torture};
use support::shaker::Shaker;
use support::{Dice, hang, number, processors, turn};

/// Team sizes: one for each processor, a few, an odd number, and many.
const SIZES: [u64; 5] = [2, 4, 7, 16, 64];
/// The allocation of a run must change so often, or nothing was shown.
const CHANGES_MIN: u64 = 4;
/// Of so many runs one may show nothing: 64 threads of a program leave little time to whoever
/// disturbs them.
const RUNS_PER_UNDISTURBED: u64 = 20;
/// A run that was not disturbed so often is repeated for twice the time, at most so often.
const REPEATS_MAX: u32 = 4;

/// A program of `client/torture` and how it is run.
#[derive(Clone, Copy)]
struct Program {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// Larger teams are left out.
    threads_max: u64,
    /// Made by these compilers.
    compilers: &'static [&'static str],
}

const fn with(name: &'static str) -> Program {
    Program { name, environment: &[], threads_max: 64, compilers: &COMPILERS }
}

/// LLVM's runtime joins partial results in an order that depends on the team size only.
const FIXED_ORDER: &[(&str, &str)] = &[("KMP_DETERMINISTIC_REDUCTION", "true")];

/// What is drawn for one run.
#[derive(Debug, Clone, Copy)]
struct Draw {
    threads: u64,
    order: u64,
    pattern: Pattern,
    /// Programs come and go besides.
    visited: bool,
}

impl Draw {
    /// Team sizes and processors follow each other, so that a few rounds have many of them; the
    /// rest is drawn.
    fn new(dice: &mut Dice, round: u64, program: &Program, long: bool) -> Self {
        let sizes: Vec<u64> = SIZES.into_iter().filter(|size| *size <= program.threads_max).collect();
        let offset = dice.roll(sizes.len() as u64);
        let threads = sizes[((offset + 2 * round) % sizes.len() as u64) as usize];
        // With a neighbour that stays, two processors leave one for the program.
        let crowded = (round + dice.roll(2)) % 2 == 1;
        let pattern = Pattern {
            neighbours: 1 + usize::from(crowded) + dice.roll(2) as usize,
            period: Duration::from_micros([5000, 5000, 2500, 8000][dice.roll(4) as usize]),
            crowded,
        };
        let threads = number("NUMAESTRO_TORTURE_THREADS", threads);
        Self { threads, order: dice.roll(1000), pattern, visited: long && dice.roll(4) == 0 }
    }
}

/// The processors that the manager gives out: two, or the only one.
fn cpus() -> String {
    let list = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let list = list.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux").trim();
    let all = list.split(',').flat_map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse::<u32>().expect("a number")..=to.parse().expect("a number")
    });
    all.take(2).map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",")
}

/// Everything that one test needs.
struct Stage {
    manager: Manager,
    sleepers: Sleepers,
    plain: HashMap<String, Ended>,
    seed: u64,
    rounds: u64,
    failures: Vec<String>,
    /// Runs whose allocation did not change enough.
    undisturbed: Vec<String>,
    runs: u64,
    changes: u64,
}

impl Stage {
    fn new() -> Self {
        Self {
            manager: Manager::of_processors(&cpus()),
            sleepers: Sleepers::new(3),
            plain: HashMap::new(),
            seed: number("NUMAESTRO_TORTURE_SEED", 20_261_122),
            rounds: number("NUMAESTRO_TORTURE_ROUNDS", 2),
            failures: Vec::new(),
            undisturbed: Vec::new(),
            runs: 0,
            changes: 0,
        }
    }

    fn settle(command: &mut Command, program: &Program, draw: &Draw) {
        command.env("OMP_NUM_THREADS", draw.threads.to_string()).env("NUMAESTRO_TORTURE_SEED", draw.order.to_string());
        command.env("NUMAESTRO_TORTURE_WEIGHT", number("NUMAESTRO_TORTURE_WEIGHT", 1).to_string());
        command.envs(program.environment.iter().copied());
    }

    /// What the program prints alone.
    fn plain(&mut self, what: &str, path: &str, program: &Program, draw: &Draw) -> Option<&Ended> {
        let key = format!("{path} {} {:?}", draw.threads, program.environment);
        if !self.plain.contains_key(&key) {
            for again in 0..number("NUMAESTRO_TORTURE_PLAIN", 1).max(1) {
                let mut command = alone([path, "0"]);
                // Nobody spins there: the output is the same, and machines with much to do are
                // spared.
                command.env("OMP_WAIT_POLICY", "passive");
                let order = Draw { order: draw.order + again, ..*draw };
                Self::settle(&mut command, program, &order);
                let ended = match ended::start(&mut command).end_within(hang()) {
                    Ok(ended) => ended,
                    Err(description) => {
                        self.failures.push(format!("{what}: hangs alone\n{description}"));
                        return None;
                    }
                };
                if !ended.status.success() {
                    self.failures.push(format!("{what}: alone it ends with {}: {}", ended.code(), ended.stderr));
                    return None;
                }
                let first = self.plain.entry(key.clone()).or_insert_with(|| ended.clone());
                if first.stdout != ended.stdout || first.code() != ended.code() {
                    let differs = difference(&first.stdout, &ended.stdout);
                    self.failures
                        .push(format!("{what}: alone it is not the same each time: {differs}{}", ended.stderr));
                }
            }
        }
        self.plain.get(&key)
    }

    /// The program under the manager, disturbed.
    fn disturbed(&self, path: &str, program: &Program, draw: &Draw, dice: &mut Dice) -> Result<(Ended, u64), String> {
        let mut milliseconds = number("NUMAESTRO_TORTURE_MILLISECONDS", 120);
        let mut repeat = 0;
        loop {
            let mut command = self.manager.command(["run"]);
            if let Ok(class) = std::env::var("NUMAESTRO_TORTURE_CLASS") {
                command.args(["--class", &class]);
            }
            command.args(["--", path, &format!("{}", milliseconds as f64 / 1000.0)]);
            Self::settle(&mut command, program, draw);
            let shaker = draw.visited.then(|| Shaker::start(&self.manager));
            let running = ended::start(&mut command);
            let own = Dice::seeded(self.seed, dice.roll(1 << 40));
            let flipper = Flipper::start(&self.manager, &self.sleepers, running.pid(), draw.pattern, own);
            let ended = running.end_within(hang());
            let changes = flipper.end();
            drop(shaker);
            let ended = ended?;
            if changes >= CHANGES_MIN || repeat == REPEATS_MAX || !ended.status.success() {
                return Ok((ended, changes));
            }
            repeat += 1;
            milliseconds *= 2;
        }
    }

    fn run(&mut self, round: u64, program: &Program, compiler: &str) {
        let Some(path) = torture(compiler, program.name) else {
            return part(&format!("{compiler} has not made {}", program.name));
        };
        let salt = program
            .name
            .bytes()
            .chain(compiler.bytes())
            .fold(0, |sum: u64, byte| sum * 31 % 1_000_003 + u64::from(byte));
        // Each program has a dice of its own, so that it is drawn the same when it is run without
        // the others.
        let mut dice = Dice::seeded(self.seed + 1_000_003 * round, salt);
        let draw = Draw::new(&mut Dice::seeded(self.seed, salt), round, program, self.rounds > 10);
        let what = format!("{} by {compiler}, seed {}, round {round}, {draw:?}", program.name, self.seed);
        let Some(plain) = self.plain(&what, &path, program, &draw).cloned() else { return };
        self.runs += 1;
        match self.disturbed(&path, program, &draw, &mut dice) {
            Err(description) => self.failures.push(format!("{what}: hangs\n{description}")),
            Ok((ended, changes)) => {
                self.changes += changes;
                if ended.code() != plain.code() || ended.stdout != plain.stdout {
                    let differs = difference(&plain.stdout, &ended.stdout);
                    let said = ended.stderr.lines().take(12).collect::<Vec<_>>().join("\n  ");
                    let (is, was) = (ended.code(), plain.code());
                    self.failures.push(format!("{what}: ends with {is}, alone with {was}; {differs}\n  {said}"));
                } else if changes < CHANGES_MIN && processors() > 1 {
                    self.undisturbed.push(format!("{what}: its allocation has changed {changes} times"));
                }
            }
        }
    }
}

/// The first line that is not the same.
fn difference(plain: &str, managed: &str) -> String {
    let lines = plain.lines().zip(managed.lines()).find(|(plain, managed)| plain != managed);
    match lines {
        Some((plain, managed)) => format!("\"{managed}\" instead of \"{plain}\""),
        None if plain.len() == managed.len() => "the same output".to_owned(),
        None => format!("{} lines instead of {}", managed.lines().count(), plain.lines().count()),
    }
}

#[track_caller]
fn check(group: &str, programs: &[Program]) {
    let _turn = turn();
    if processors() == 1 {
        part("changes of the number of processors: one processor only");
    }
    let mut stage = Stage::new();
    let pid = stage.manager.pid();
    let only = std::env::var("NUMAESTRO_TORTURE_ONLY").unwrap_or_default();
    for round in 0..stage.rounds {
        for program in programs.iter().filter(|p| only.is_empty() || only.split(',').any(|name| name == p.name)) {
            for compiler in program.compilers {
                stage.run(round, program, compiler);
            }
        }
    }
    let undisturbed = stage.undisturbed.len() as u64;
    eprintln!(
        "{group}: seed {}, {} runs, {} changes of the allocation, {undisturbed} runs had too few",
        stage.seed, stage.runs, stage.changes
    );
    if undisturbed > stage.runs.div_ceil(RUNS_PER_UNDISTURBED) {
        stage.failures.push(format!("too many runs show nothing:\n{}", stage.undisturbed.join("\n")));
    }
    assert!(stage.runs > 0 || !stage.failures.is_empty(), "{group}: no program was run");
    let again = format!("NUMAESTRO_TORTURE_SEED={} NUMAESTRO_TORTURE_ROUNDS={}", stage.seed, stage.rounds);
    assert!(
        stage.failures.is_empty(),
        "{} of {} runs, again with {again}:\n{}",
        stage.failures.len(),
        stage.runs,
        stage.failures.join("\n")
    );
    drop(stage.sleepers);
    assert_eq!(stage.manager.pid(), pid, "the manager was lost on the way");
    stage.manager.expect_all_free();
}

const fn by_gcc(name: &'static str) -> Program {
    Program { compilers: &["gcc"], ..with(name) }
}

#[test]
fn regions() {
    let said = Program { environment: &[("OMP_DYNAMIC", "false"), ("OMP_PROC_BIND", "true")], ..with("regions") };
    // libgomp counts the threads of all teams of a thread, nested ones included.
    let limit = Program { environment: &[("OMP_THREAD_LIMIT", "16")], threads_max: 16, ..by_gcc("alone") };
    check("regions", &[with("regions"), said, with("nested"), with("alone"), limit, with("hosts"), with("wide")]);
}

#[test]
fn sharing_of_work() {
    let scheduled = Program { environment: &[("OMP_SCHEDULE", "guided,3")], ..with("loops") };
    let division = Program { compilers: &["clang"], ..with("division") };
    check("sharing of work", &[with("loops"), scheduled, division, with("ordered"), with("doacross"), with("shares")]);
}

#[test]
fn synchronisation() {
    let active = Program { environment: &[("OMP_WAIT_POLICY", "active")], threads_max: 4, ..with("barriers") };
    let passive = Program { environment: &[("OMP_WAIT_POLICY", "passive")], ..with("locks") };
    check("synchronisation", &[with("locks"), passive, with("barriers"), active]);
}

#[test]
fn waiting_without_barriers() {
    check("waiting without barriers", &[with("spin"), with("waits"), with("mutexes")]);
}

#[test]
fn tasks_and_reductions() {
    let fixed = Program { environment: FIXED_ORDER, compilers: &["clang"], ..with("reduce") };
    let cancelling = Program { environment: &[("OMP_CANCELLATION", "true")], ..with("cancel") };
    check("tasks and reductions", &[with("reduce"), fixed, with("tasks"), with("depend"), cancelling, with("cancel")]);
}

#[test]
fn what_belongs_to_a_thread() {
    let large = Program { environment: &[("OMP_STACKSIZE", "16M")], threads_max: 16, ..with("stacks") };
    let all = [with("private"), with("library"), with("control"), with("stacks"), large, with("heap")];
    check("what belongs to a thread", &all);
}

#[test]
fn the_system() {
    // libgomp has none, and waits for ever at times for a target task of sequential code.
    let targets = Program { compilers: &["clang"], ..with("targets") };
    check(
        "the system",
        &[with("signals"), with("processes"), with("threads"), with("settings"), with("leave"), targets],
    );
}

#[test]
fn tasks_that_need_other_threads() {
    check("tasks that need other threads", &[with("pollers")]);
}

#[test]
fn births_in_regions() {
    check("births in regions", &[with("births")]);
}

#[test]
fn signals_for_threads() {
    check("signals for threads", &[with("delivered")]);
}

#[test]
fn sizes_that_are_set() {
    check("sizes that are set", &[with("sizes")]);
}

#[test]
fn whole_programs_in_c_and_other_languages() {
    check("whole programs", &[with("kernels"), with("learned"), with("classes"), by_gcc("words")]);
}
