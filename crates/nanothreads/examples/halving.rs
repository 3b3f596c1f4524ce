//! What it costs to lose one of two processors in the middle: nano-threads against a conventional
//! team.
//!
//!     cargo run --release -p numaestro-nanothreads --example halving [-- ROUNDS]
//!
//! Cost is the time taken over the ideal time; with 2 processors until `h` and 1 afterwards, work
//! that takes `s` on one processor takes `s - h` at best. Nano-threads hold one processor by
//! themselves from then on; the team is folded, all its threads onto one. The serial time is
//! measured anew before each run, the programs run turn by turn, and medians are printed. The
//! conventional team (`fixed_team.c`) needs gcc or clang with OpenMP.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nanothreads::{Barrier, Runtime, Scripted, join, parallel_for, scope};

const PIECES: usize = 64;
/// So long a nano-thread waits for the others to begin; it holds its processor meanwhile, so not
/// for ever.
const PATIENCE: Duration = Duration::from_millis(50);
const PHASES: usize = 1500;
/// About 3 microseconds, so a phase takes some 100 microseconds on two processors.
const STEPS: u64 = 4000;

/// Never inlined, so that the compiler makes the same of it everywhere.
#[inline(never)]
fn piece(index: usize) {
    let mut value = index as u64;
    for _ in 0..STEPS {
        value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// A parallel loop for each phase.
fn loops() {
    for _ in 0..PHASES {
        parallel_for(0..PIECES, 1, piece);
    }
}

/// One tree of joins, from beginning to end.
fn tree(first: usize, last: usize) {
    if last - first == 1 {
        return piece(first);
    }
    let middle = usize::midpoint(first, last);
    join(|| tree(first, middle), || tree(middle, last));
}

/// Two nano-threads that never end before the program does, with a barrier after each phase: the
/// conventional program.
fn team() {
    let (barrier, started) = (Barrier::new(2), AtomicUsize::new(0));
    scope(|scope| {
        for rank in 0..2 {
            let (barrier, started) = (&barrier, &started);
            scope.spawn(move |_| {
                // On a virtual processor each before it begins, as a team's threads are.
                let start = Instant::now();
                started.fetch_add(1, Ordering::Relaxed);
                while started.load(Ordering::Relaxed) < 2 && start.elapsed() < PATIENCE {
                    std::thread::yield_now();
                }
                for _ in 0..PHASES {
                    (rank * PIECES / 2..(rank + 1) * PIECES / 2).for_each(piece);
                    barrier.wait();
                }
            });
        }
    });
}

struct Run {
    serial: f64,
    halved: f64,
    total: f64,
}

impl Run {
    fn cost(&self) -> f64 {
        self.total / (self.serial - self.halved)
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn nano_threads(untied: bool, work: fn()) -> Result<Run, Box<dyn std::error::Error>> {
    let serial = seconds(|| (0..PHASES).for_each(|_| (0..PIECES).for_each(piece)));
    let processors = Scripted::new(2);
    let builder = Runtime::builder().vps(2).allocation(processors.clone()).bind(true);
    #[allow(unsafe_code)]
    // SAFETY: this program keeps no thread-local data.
    let builder = if untied { unsafe { builder.untied() } } else { builder };
    let runtime = builder.build()?;
    let start = Instant::now();
    let helper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs_f64(serial / 4.0));
        processors.set(1);
        start.elapsed().as_secs_f64()
    });
    let total = seconds(|| runtime.install(work));
    let halved = helper.join().map_err(|_| "the helper panicked")?;
    Ok(Run { serial, halved, total })
}

fn compile() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fixed_team.c");
    let program = std::env::temp_dir().join(format!("fixed_team-{}", std::process::id()));
    let compiled = |compiler: &&str| {
        let mut command = Command::new(compiler);
        command.args(["-O2", "-fopenmp", "-pthread"]).arg(&source).arg("-o").arg(&program);
        command.output().is_ok_and(|output| output.status.success())
    };
    ["gcc", "clang"].iter().any(compiled).then_some(program)
}

fn conventional(program: &Path, wait: &[(&str, &str)]) -> Result<Run, Box<dyn std::error::Error>> {
    let output =
        Command::new(program).args([PHASES.to_string(), STEPS.to_string()]).envs(wait.iter().copied()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [serial, halved, total] => Ok(Run { serial, halved, total }),
        _ => Err("fixed_team said something else".into()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    type Measure = Box<dyn Fn() -> Result<Run, Box<dyn std::error::Error>>>;
    let rounds: usize = std::env::args().nth(1).map_or(Ok(7), |text| text.parse())?;
    let mut programs: Vec<(&str, Measure)> = vec![
        ("nano-threads, loops", Box::new(|| nano_threads(false, loops))),
        ("nano-threads, one tree of joins", Box::new(|| nano_threads(false, || tree(0, PIECES * PHASES)))),
        ("nano-threads, two with a barrier, tied", Box::new(|| nano_threads(false, team))),
        ("nano-threads, two with a barrier, untied", Box::new(|| nano_threads(true, team))),
    ];
    let program = compile();
    if let Some(program) = program.clone() {
        let (usual, active) = (program.clone(), program);
        programs.push(("OpenMP, fixed team", Box::new(move || conventional(&usual, &[]))));
        let wait = [("OMP_WAIT_POLICY", "active")];
        programs.push(("OpenMP, fixed team, active waiting", Box::new(move || conventional(&active, &wait))));
    } else {
        println!("no compiler with OpenMP: the conventional team is left out");
    }
    let mut costs = vec![Vec::new(); programs.len()];
    for _ in 0..rounds {
        for (costs, (_, measure)) in costs.iter_mut().zip(&programs) {
            costs.push(measure()?.cost());
        }
    }
    println!("2 processors, 1 after a quarter of the serial time; {rounds} interleaved rounds");
    println!("{:<42} {:>12} {:>8} {:>8}", "time over ideal time", "median", "least", "most");
    for (costs, (name, _)) in costs.iter_mut().zip(&programs) {
        costs.sort_by(f64::total_cmp);
        println!("{name:<42} {:>12.3} {:>8.3} {:>8.3}", costs[costs.len() / 2], costs[0], costs[costs.len() - 1]);
    }
    if let Some(program) = program {
        std::fs::remove_file(program)?;
    }
    Ok(())
}
