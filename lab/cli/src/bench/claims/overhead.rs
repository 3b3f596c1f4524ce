//! A-over: the overhead of policies of memory bandwidth is negligible.
//!
//! The manager's own processor time is all that it does: reading the shared pages, samples,
//! decisions, stopping and continuing programs. Rates are declared, so machines with and without
//! counters decide alike. Programs that leave memory alone gain nothing by such a policy, so the
//! time that they lose is its price.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use numaestro_host::procfs;
use numaestro_repro::measured::Samples;

use super::super::launch::{self, Started};
use super::super::live::{self, Bench, Job};
use super::super::load::{self, Reading, Window};
use super::super::managed::Managed;
use super::{Measurement, RUN_LIMIT, quotients, whole};

/// Declared saturation rate of the way to memory, lines per millisecond.
const SATURATION: u32 = 10_000;
/// Programs of four threads.
const PROGRAMS: usize = 16;
const CROWD: Job = Job { kernel: "nbbma", arguments: &["--threads", "4"], work_s: 3600.0 };
/// Lines per millisecond that each of them is said to move; unequal, so that there is something to
/// decide.
const RATES: [&str; 4] = ["9000", "10", "4000", "1000"];
/// Programs whose delay is measured, and their number.
const QUIET: Job = Job { kernel: "nbbma", arguments: &["--threads", "1"], work_s: 1.5 };
const QUIET_PROGRAMS: usize = 4;
/// Time for which the manager is watched: ten quanta.
const WATCH: Duration = Duration::from_secs(1);
/// Time until a new policy is at work.
const SETTLE: Duration = Duration::from_millis(300);

const B2ARR: &str = "b2arr";
const B2ADSS: &str = "b2adss";
const NO_TURNS: &str = "equi";
const B2ARR_SHORT: &str = "share=dss turns=b2arr(quantum=1ms)";
const B2ADSS_SHORT: &str = "share=dss turns=b2adss(quantum=1ms)";

/// Measures the manager, then the programs.
pub fn overhead(of: &mut Measurement) -> Result<Vec<Samples>> {
    let bench = of.bench(RUN_LIMIT, [CROWD, QUIET].iter())?;
    let dir = tempfile::tempdir().context("cannot make a directory for the rates")?;
    let rates = dir.path().join("rates");
    std::fs::write(&rates, format!("{{\"bus\":0,\"saturation\":{SATURATION}}}\n")).context("cannot write the rates")?;
    let further: [OsString; 2] = ["--inject-rates".into(), rates.into()];
    let managed = Managed::start_undisturbed_with(&bench.places.numaestro, &further)?;
    let mut samples = manager(of, &bench, &managed)?;
    samples.push(delay(of, &bench, &managed)?);
    Ok(samples)
}

/// The manager's processor time with many threads, percent of one processor, which is the part of a
/// quantum.
fn manager(of: &mut Measurement, bench: &Bench, managed: &Managed) -> Result<Vec<Samples>> {
    const POLICIES: [&str; 5] = [B2ARR, B2ADSS, NO_TURNS, B2ARR_SHORT, B2ADSS_SHORT];
    managed.settle();
    let crowd = Crowd::start(bench, managed)?;
    let [b2arr, b2adss, none, b2arr_short, b2adss_short] = of.rounds.run::<5>(|which| {
        managed.set_policy(POLICIES[which])?;
        std::thread::sleep(SETTLE);
        crowd.watch(managed, bench.processors.len())
    })?;
    crowd.end()?;
    let samples = |name: &str, on: &Vec<f64>, off| Samples { name: name.to_owned(), on: on.clone(), off };
    Ok(vec![
        samples(B2ARR, &b2arr, b2arr_short),
        samples(B2ADSS, &b2adss, b2adss_short),
        samples("decides", &b2arr, none),
    ])
}

/// Programs that run until they are ended.
struct Crowd(Vec<Started>);

impl Crowd {
    fn start(bench: &Bench, managed: &Managed) -> Result<Self> {
        let mut crowd = Self(Vec::new());
        for rate in RATES.iter().cycle().take(PROGRAMS) {
            match bench.start(Some(managed), &CROWD, &["--btr", rate]) {
                Ok(program) => crowd.0.push(program),
                Err(error) => {
                    crowd.end()?;
                    return Err(error);
                }
            }
        }
        live::arrived(managed, PROGRAMS);
        Ok(crowd)
    }

    /// The manager's processor time in percent of one processor, and the load beside it.
    fn watch(&self, managed: &Managed, processors: usize) -> Result<(f64, Window)> {
        let programs: f64 = self.0.iter().map(|program| load::process_time(program.pid)).sum();
        let before = Reading::take(managed.time() + programs);
        let (since, used) = (Instant::now(), procfs::cpu_time_ns(managed.pid())?);
        std::thread::sleep(WATCH);
        let used = procfs::cpu_time_ns(managed.pid())? - used;
        let percent = 100.0 * used as f64 / since.elapsed().as_nanos() as f64;
        let apps = managed.status().and_then(|status| status.get("apps")?.as_array().map(Vec::len));
        ensure!(apps == Some(PROGRAMS), "{apps:?} of {PROGRAMS} programs are there");
        let programs: f64 = self.0.iter().map(|program| load::process_time(program.pid)).sum();
        let after = Reading::take(managed.time() + programs);
        Ok((percent, before.until(&after, 0.0, processors)))
    }

    fn end(self) -> Result<()> {
        self.0.into_iter().try_for_each(|program| launch::kill(program).map(drop))
    }
}

/// The time of programs that leave memory alone.
fn delay(of: &mut Measurement, bench: &Bench, managed: &Managed) -> Result<Samples> {
    let jobs = vec![(&QUIET, vec!["--btr", RATES[1]]); QUIET_PROGRAMS];
    let [none, b2arr, short] = of.rounds.run::<3>(|which| {
        let managed = (which > 0).then_some(managed);
        if let Some(managed) = managed {
            managed.set_policy([B2ARR, B2ARR_SHORT][which - 1])?;
        }
        let round = whole(bench.run_at_once(managed, &jobs)?)?;
        Ok((round.makespan_s(), round.window))
    })?;
    Ok(Samples { name: "delay".to_owned(), on: quotients(&b2arr, &none), off: quotients(&short, &none) })
}
