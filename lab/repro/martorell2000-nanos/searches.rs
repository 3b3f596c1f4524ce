//! Tables 3 to 5: speedups measured while programs run, and their use in decisions.

use super::constants::whole;
use super::policy::Policy;
use super::runs::{APSI, CAUSE_UNKNOWN, LTOMCATV, Run, TURB3D, Told, Workload, all, means, of_program, totals};
use super::search_cost::Curves;
use super::times::{around, words};
use super::{cpuset, gangs};
use crate::{Estimate, Finding, Judge, Lab, Outcomes, Trouble, ratio};
use numaestro_sim::outcome::{JobRecord, Outcome};

/// A workload that begins with so many applications at a time: with the native library, and under
/// PDPA.
fn runs(lab: &Lab, workload: Workload) -> Result<[Run; 2], Trouble> {
    let level = whole(lab.constant(if workload.name == LTOMCATV.name {
        "level of table 3"
    } else {
        "level of tables 4 and 5"
    })?);
    let native = Run::new(workload, Policy::Native).with("workload.level", &level.to_string());
    Ok([native, Run::new(workload, Policy::Pdpa(level))])
}

fn outcomes(lab: &Lab, workload: Workload) -> Result<[Outcomes; 2], Trouble> {
    let mut both = all(lab, &runs(lab, workload)?)?;
    let pdpa = both.swap_remove(1);
    Ok([both.swap_remove(0), pdpa])
}

/// Mean times of a program of table 4, run by run, seconds.
pub fn of_table_4(lab: &Lab, under_pdpa: bool, program: &str) -> Result<Estimate, Trouble> {
    let run = &runs(lab, TURB3D)?[usize::from(under_pdpa)];
    Ok(Estimate::of(&of_program(&run.outcomes(lab)?, program)))
}

/// Speedup of table 4 in all.
pub fn gain_of_table_4(lab: &Lab) -> Result<Estimate, Trouble> {
    let [native, pdpa] = outcomes(lab, TURB3D)?;
    Ok(ratio(&totals(&native), &totals(&pdpa)))
}

/// Speedup of the whole workload and of each program.
fn speedup(judge: &mut Judge, both: &[Outcomes; 2], least: f64, paper: f64, programs: &[&str]) {
    let gain = ratio(&totals(&both[0]), &totals(&both[1]));
    judge.value("in all, native/PDPA", "", gain);
    let range = around(paper, least);
    let what = format!("in all: native/PDPA {}", words(&range));
    judge.demand(what, paper.to_string(), gain, range.contains(&gain.mean));
    for (name, side) in [("native", 0), ("PDPA", 1)] {
        judge.value(format!("in all, {name}"), "s", Estimate::of(&totals(&both[side])));
        for program in programs {
            judge.value(format!("{program}, {name}"), "s", Estimate::of(&of_program(&both[side], program)));
        }
    }
    let levels: Vec<f64> = both[1].iter().map(Outcome::mean_level).collect();
    judge.value("applications at once, PDPA", "", Estimate::of(&levels));
}

/// Processors that a program has on average, run by run.
fn processors(outcomes: &Outcomes, program: &str) -> Vec<f64> {
    let used = |job: &JobRecord| job.cpu_ns as f64 / (job.ended - job.started).max(1) as f64;
    means(outcomes, |job| *job.program == *program, used, |_| f64::NAN)
}

/// N-Tab3.
pub fn ltomcatv(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let both = outcomes(lab, LTOMCATV)?;
    speedup(&mut judge, &both, 2.0, 4.59, &["ltomcatv"]);
    let changes: u32 = both[1].iter().flat_map(|run| &run.jobs).map(|job| job.settled_resizes).sum();
    judge.value("changes of found allocations", "", Estimate::exact(f64::from(changes)));
    judge.demand("changes of found allocations: none", "none", changes, changes == 0);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-Tab4.
pub fn turb3d(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let both = outcomes(lab, TURB3D)?;
    speedup(&mut judge, &both, 1.3, 1.7, &["tomcatv", "turb3d"]);
    search(&mut judge, lab)?;
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// Demands that searches cost little.
fn search(judge: &mut Judge, lab: &Lab) -> Result<(), Trouble> {
    let [_, pdpa] = runs(lab, TURB3D)?;
    let looked = lab.observed(&Run { runs: LOOKS, ..pdpa }.experiment(lab)?, Told::default)?;
    let curves = Curves::read(lab)?;
    let cost = Estimate::of(&looked.iter().map(|(told, _)| curves.cost_percent(told)).collect::<Vec<_>>());
    judge.value("cost of searches, of run times", "%", cost);
    judge.demand("searches cost ≤ 5 % of run times", "not noticeable", cost, cost.mean <= 5.0);
    Ok(())
}

/// N-search.
pub fn overhead(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    search(&mut judge, lab)?;
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// Runs in which the check looks at the number of processors that each application was told.
const LOOKS: u32 = 3;

/// Largest number of processors that any instance of a program was left with when its search was
/// over.
fn found(lab: &Lab, run: &Run, program: &str) -> Result<u32, Trouble> {
    let looked = lab.observed(&Run { runs: LOOKS, ..run.clone() }.experiment(lab)?, Told::default)?;
    let mut most = 0;
    for (told, _) in &looked {
        for (app, _) in told.programs.iter().filter(|(_, name)| *name == program) {
            most = most.max(told.of(*app).last().copied().unwrap_or(0));
        }
    }
    Ok(most)
}

/// N-Tab5.
pub fn apsi(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let both = outcomes(lab, APSI)?;
    speedup(&mut judge, &both, 2.5, 4.56, &["swim", "apsi"]);
    let gain = |program| ratio(&of_program(&both[0], program), &of_program(&both[1], program));
    let (swim, apsi) = (gain("swim"), gain("apsi"));
    judge.value("swim, native/PDPA", "", swim).value("apsi, native/PDPA", "", apsi);
    judge.demand("swim gains more than apsi", "10.2, 3.2", format!("{swim}, {apsi}"), swim.mean > apsi.mean);
    let [_, pdpa] = runs(lab, APSI)?;
    let most = found(lab, &pdpa, "apsi")?;
    judge.value("most processors of an apsi after its search", "", Estimate::exact(f64::from(most)));
    judge.demand("apsi has ≤ 2 after its search", "few", most, (1..=2).contains(&most));
    let (with, without) = (processors(&both[1], "swim"), processors(&both[0], "swim"));
    let share = ratio(&with, &without);
    judge.value("processors of swim, PDPA/native", "", share);
    judge.value("processors of swim, PDPA", "", Estimate::of(&with));
    judge.demand("swim has ≥ 2 times what it has with the library", "more", share, share.mean >= 2.0);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-ML.
pub fn level(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let [_, poor] = outcomes(lab, APSI)?;
    let mean = Estimate::of(&poor.iter().map(Outcome::mean_level).collect::<Vec<_>>());
    judge.value("table 5: at once", "", mean);
    judge.demand("table 5: more than 4 at once on average", "raised", mean, mean.mean > 4.0);
    let [_, good] = outcomes(lab, LTOMCATV)?;
    let most = good.iter().flat_map(|run| &run.levels).map(|level| level.running).max().unwrap_or(0);
    judge.value("table 3: most at once", "", Estimate::exact(f64::from(most)));
    judge.demand("table 3: never more than 5 at once", "kept", most, (1..=5).contains(&most));
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-range.
pub fn range(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let mut rows = cpuset::gains(lab)?;
    rows.extend(gangs::gains(lab)?);
    let epd: Vec<f64> = rows.iter().filter(|(name, _)| name.contains("EPD")).map(|(_, gain)| gain.mean).collect();
    let tables = [
        ("Tab3", LTOMCATV, vec!["ltomcatv"]),
        ("Tab4", TURB3D, vec!["tomcatv", "turb3d"]),
        ("Tab5", APSI, vec!["swim", "apsi"]),
    ];
    for (table, workload, programs) in tables {
        let both = outcomes(lab, workload)?;
        rows.push((format!("{table}, in all"), ratio(&totals(&both[0]), &totals(&both[1]))));
        for program in programs {
            let gain = ratio(&of_program(&both[0], program), &of_program(&both[1], program));
            rows.push((format!("{table}, {program}"), gain));
        }
    }
    let best = rows.iter().map(|(_, gain)| gain.mean).fold(0.0, f64::max);
    for (name, gain) in rows {
        judge.value(format!("{name}: native/NANOS"), "", gain);
    }
    judge.demand("a program more than twice as fast", "12.6", format!("{best:.2}"), best > 2.0);
    let worse = epd.iter().filter(|gain| **gain < 1.0).count();
    let ours = format!("{worse} of {}", epd.len());
    judge.demand("EPD slower in both tables", "0.71, 0.55, 0.64", ours, worse == epd.len());
    Ok(judge.verdict(CAUSE_UNKNOWN))
}
