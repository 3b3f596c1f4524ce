//! `numaestro bench kill`: measures how long after `kill -9` of a program another one has its
//! processors.
//!
//! Two programs share the machine; one is killed; the kernel's view of the other's affinity tells
//! when it has grown.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::super::args::ProbeArgs;
use super::super::bounds::KILL_MS;
use super::super::coexec::find_places;
use super::super::launch::{self, Started};
use super::super::managed::Managed;
use super::regions::{Regions, allowed, until};
use super::{Quantity, conclude};

/// Longest wait for anything.
const LIMIT: Duration = Duration::from_secs(5);
/// Between two looks; a timer of the kernel adds about as much again.
const PAUSE: Duration = Duration::from_micros(50);

/// Measures with any compiler that is here.
pub fn kill(args: &ProbeArgs) -> Result<ExitCode> {
    let processors = launch::processors()?.len();
    if processors < 2 {
        bail!("two programs cannot have different processors on a machine with one");
    }
    let places = find_places(&args.places)?;
    let managed = Managed::start_undisturbed(&places.numaestro)?;
    let regions = Regions::build(&places, "gcc").or_else(|_| Regions::build(&places, "clang"))?;
    managed.settle();
    let heir = begin(&managed, &regions)?;
    let mut samples = Vec::new();
    let mut result = Ok(());
    for _ in 0..args.runs.unwrap_or(50) {
        match once(&managed, &regions, heir.pid) {
            Ok(ms) => samples.push(ms),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    launch::kill(heir)?;
    result?;
    let quantity = Quantity::new("kill -9 until another has the processors", "ms", samples).context("no samples")?;
    conclude(args, &[quantity.promised("p99", KILL_MS)])
}

/// A program in regions of 50 µs that lives long enough.
fn begin(managed: &Managed, regions: &Regions) -> Result<Started> {
    let mut command = managed.run(&[], &regions.path());
    launch::start(command.args(["watch", "600", "50"]), None)
}

fn once(managed: &Managed, regions: &Regions, heir: u32) -> Result<f64> {
    let processors = || allowed(launch::number(heir)).unwrap_or(0);
    let all = u32::try_from(launch::processors()?.len())?;
    let Some(_) = until(PAUSE, LIMIT, || processors() == all) else {
        bail!("a program alone does not get the whole machine")
    };
    let victim = begin(managed, regions)?;
    let shared = until(PAUSE, LIMIT, || processors() < all);
    // Long enough for the victim to attach and to settle down.
    std::thread::sleep(Duration::from_millis(30));
    let before = processors();
    let killed = Instant::now();
    launch::kill(victim)?;
    if shared.is_none() || before == all {
        bail!("the first program gives no processors to the second");
    }
    let Some(_) = until(PAUSE, LIMIT, || processors() == all) else {
        bail!("the processors of a killed program are lost")
    };
    Ok(killed.elapsed().as_secs_f64() * 1e3)
}
