//! The programs of section 6 with the constants of the file of inputs.
//!
//! `nanos.toml` gives their structure: requests, phases, which of them repeat. Here each gets its
//! work, the number of its meetings and its speedup, as changes of fields of that file.

use super::constants::whole;
use crate::{Lab, Trouble};
use numaestro_sim::program::{Body, Phase, Program, read};
use numaestro_sim::read::Text;
use numaestro_sim::speedup::Curve;

/// Their structure.
pub const FILE: &str = include_str!("../../scenarios/programs/nanos.toml");
/// Processors of the machine.
const PROCESSORS: f64 = 64.0;
/// Lines of the second level cache of a processor.
const LINES: f64 = 32768.0;
/// The most processors that a SPEC program asks for (§6.4).
const ASKED: u32 = 32;
/// NAS programs with regions that meet in a loop.
const NAS: [&str; 9] = ["sp-W", "bt-W", "ft-W", "cg-W", "sp-A", "bt-A", "cg-A", "ft-A", "mg-A"];
/// NAS programs whose regions do not meet before their ends.
const EPD: [&str; 2] = ["epd-S", "epd-W"];
/// Programs that create their threads anew.
const EVOLVING: [&str; 3] = ["epd-S", "epd-W", "ltomcatv"];
/// SPEC programs, with the phase of the loop that is measured.
const SPEC: [(&str, &str); 5] = [
    ("tomcatv", "phases[0]"),
    ("ltomcatv", "phases[0].phases[3]"),
    ("swim", "phases[0]"),
    ("turb3d", "phases[0]"),
    ("apsi", "phases[0]"),
];

/// Fields of programs with their values.
#[derive(Debug, Default)]
struct Changes(Vec<(String, String)>);

impl Changes {
    #[allow(clippy::needless_pass_by_value)] // Texts and numbers alike, without a `&` at every call.
    fn set(&mut self, program: &str, field: &str, value: impl ToString) {
        self.0.push((format!("program.{program}.{field}"), value.to_string()));
    }

    fn time(&mut self, program: &str, field: &str, ns: f64) {
        self.set(program, field, format!("\"{} ns\"", ns.round()));
    }
}

/// The fields of `nanos.toml` that constants change, as paths and TOML values.
pub fn changes(lab: &Lab) -> Result<Vec<(String, String)>, Trouble> {
    let mut changes = Changes::default();
    for program in programs()? {
        if NAS.contains(&&*program.name) {
            nas(&mut changes, lab, &program)?;
        } else if EPD.contains(&&*program.name) {
            epd(&mut changes, lab, &program)?;
        }
    }
    for (name, measured) in SPEC {
        spec(&mut changes, lab, name, measured)?;
    }
    let lines = lab.constant("working set")? * LINES;
    for name in NAS.into_iter().chain(SPEC.map(|(name, _)| name)) {
        changes.set(name, "footprint", whole(lines));
    }
    for name in EVOLVING {
        changes.time(name, "creation", 1e6 * lab.constant("creation")?);
    }
    Ok(changes.0)
}

fn programs() -> Result<Vec<Program>, Trouble> {
    read(Text::new("nanos.toml", FILE)).map_err(|mistake| Trouble::new("nanos.toml", mistake.to_string()))
}

/// Work of a NAS program, seconds on one processor.
fn work_of(lab: &Lab, program: &str) -> Result<f64, Trouble> {
    Ok(lab.constant("work factor")? * lab.constant(&format!("work of {program}"))?)
}

/// One loop with one region: the work goes into all meetings evenly.
fn nas(changes: &mut Changes, lab: &Lab, program: &Program) -> Result<(), Trouble> {
    let name = &program.name;
    let other = || Trouble::new(name, "expected one loop with one region");
    let Body::Phases(phases) = &program.body else { return Err(other()) };
    let [Phase::Repeat { times, phases }] = &phases[..] else { return Err(other()) };
    let [Phase::Parallel { iterations, .. }] = &phases[..] else { return Err(other()) };
    let meetings = whole(f64::from(*iterations) * lab.constant("NAS meetings")?).max(1);
    let work = 1e9 * work_of(lab, name)? / f64::from(times * meetings);
    changes.set(name, "phases[0].phases[0].iterations", meetings);
    changes.time(name, "phases[0].phases[0].work", work);
    changes.set(name, "phases[0].phases[0].cv", lab.constant("imbalance")?);
    Ok(())
}

/// Regions that follow each other, each as long as the others on one processor. Without meetings
/// they have no imbalance.
fn epd(changes: &mut Changes, lab: &Lab, program: &Program) -> Result<(), Trouble> {
    let Body::Phases(phases) = &program.body else { return Ok(()) };
    let regions: Vec<usize> = (0..phases.len()).filter(|&at| matches!(phases[at], Phase::Parallel { .. })).collect();
    let work = 1e9 * work_of(lab, &program.name)? / regions.len() as f64;
    for at in regions {
        changes.time(&program.name, &format!("phases[{at}].work"), work);
    }
    Ok(())
}

/// A loop that is measured, with one region in it.
fn spec(changes: &mut Changes, lab: &Lab, name: &str, measured: &str) -> Result<(), Trouble> {
    let curve = curve(lab, name)?;
    let seconds = lab.constant("work factor")? * lab.constant(&format!("time of {name}"))?;
    let iterations = lab.constant("SPEC iterations")?;
    let meetings = whole(lab.constant("SPEC meetings")? / iterations).max(1);
    let (seconds, iterations, part) = if name == "ltomcatv" {
        let (io, rounds) = (lab.constant("ltomcatv I/O")?, whole(lab.constant("ltomcatv rounds")?).max(1));
        changes.set(name, "phases[0].times", rounds);
        changes.time(name, "phases[0].phases[1].work", 1e9 * seconds * io / f64::from(rounds));
        let each = whole(iterations / f64::from(rounds)).max(1);
        ((1.0 - io) * seconds / f64::from(rounds), each, PROCESSORS / lab.constant("level of table 3")?)
    } else {
        (seconds, whole(iterations).max(1), PROCESSORS / lab.constant("level of tables 4 and 5")?)
    };
    // The processors of which the printed time is taken to be: an even part of the machine, but for
    // apsi, which uses one.
    let processors = if name == "apsi" { 1 } else { whole(part.floor()) };
    let work = 1e9 * seconds * curve.speedup(processors) / f64::from(iterations * meetings);
    changes.set(name, &format!("{measured}.times"), iterations);
    changes.set(name, &format!("{measured}.phases[0].iterations"), meetings);
    changes.time(name, &format!("{measured}.phases[0].work"), work);
    changes.set(name, &format!("{measured}.phases[0].cv"), lab.constant("imbalance")?);
    changes.set(name, &format!("{measured}.phases[0].curve"), written(&curve));
    let (warm, counted) = (whole(lab.constant("warm-up iterations")?), whole(lab.constant("measured iterations")?));
    // Four threads of apsi are not efficient, so it measures itself against one.
    let baseline = if name == "apsi" { 1 } else { whole(lab.constant("BASE")?) };
    let analyzer = format!("{{ warm = {warm}, measured = {}, baseline = {baseline} }}", counted.max(1));
    changes.set(name, "analyzer", analyzer);
    Ok(())
}

/// Names of the programs that measure their speedups.
pub fn measured() -> impl Iterator<Item = &'static str> {
    SPEC.into_iter().map(|(name, _)| name)
}

/// The speedup of a SPEC program, of the shape that §6.1 describes.
pub fn curve(lab: &Lab, program: &str) -> Result<Curve, Trouble> {
    Ok(match program {
        "apsi" => Curve::Amdahl(lab.constant("apsi serial")?),
        // "Up to 16–20 processors": 18. The fall is that from there to 32.
        "turb3d" => {
            let peak = 18.0 * lab.constant("turb3d peak")?;
            Curve::Table(vec![(1, 1.0), (18, peak), (ASKED, peak * lab.constant("turb3d fall")?)])
        }
        // "Even achieving super-linear speedup with some number of processors": the gain comes with
        // each doubling up to 16, when the data has come to fit into caches.
        _ => {
            let gain = lab.constant("superlinear gain")?;
            let point = |doublings: u32| {
                let processors = 1 << doublings;
                (processors, f64::from(processors) * (1.0 + gain * f64::from(doublings.min(4)) / 4.0))
            };
            Curve::Table((0..=5).map(point).collect())
        }
    })
}

/// A curve as files have it.
fn written(curve: &Curve) -> String {
    match curve {
        Curve::Amdahl(serial) => format!("{{ amdahl = {serial} }}"),
        Curve::Table(points) => {
            let points: Vec<String> = points.iter().map(|(n, speedup)| format!("[{n}, {speedup}]")).collect();
            format!("{{ table = [{}] }}", points.join(", "))
        }
        _ => "\"linear\"".to_owned(),
    }
}
