//! Figures 1 to 3: one application of four threads beside instances of a microbenchmark, under
//! round robin.
//!
//! Figures 1 and 3 are inequalities that only some transaction rates and stalls satisfy, so their
//! rows identify these constants.

use super::UNKNOWN;
use super::platform::{PROCESSORS, Platform, whole};
use super::suite::{APPLICATIONS, INTENSIVE, Suite};
use crate::comparison::margin;
use crate::finding::Demand;
use crate::{Estimate, Experiment, Figure, Finding, Judge, Lab, Outcomes, Pair, Shape, Trouble};
use numaestro_sim::outcome::Outcome;

/// Instances of a microbenchmark.
const INSTANCES: [u32; 4] = [1, 2, 4, 8];
const MICRO: [&str; 3] = ["FLUSH", "nBBMA", "BBMA"];
const FLUSH: usize = 0;
const QUIET: usize = 1;
const BUSY: usize = 2;
/// Threads of the application, as many as processors.
const THREADS: u32 = PROCESSORS;
/// A run is cut off after so many times the time that the application would take if it were slowed
/// by the degree of multiprogramming only; microbenchmarks have no end.
const PATIENCE: f64 = 4.0;

/// The results of one application, run by run.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// Time over the time alone.
    slowdown: Vec<f64>,
    /// Lines brought in, over the lines brought in alone: for the same work, so this is the ratio
    /// of the miss rates.
    misses: Vec<f64>,
}

/// A value of one application with one number of instances.
struct Of {
    application: &'static str,
    instances: u32,
    estimate: Estimate,
}

/// By application, microbenchmark and number of instances.
#[derive(Debug)]
struct Cells(Vec<Cell>);

impl Cells {
    /// The cells of these microbenchmarks; all others are empty.
    fn of(lab: &Lab, wanted: &[usize]) -> Result<Self, Trouble> {
        let (platform, suite) = (Platform::of(lab)?, Suite::of(lab)?);
        let ideal = lab.constant("work")? * 1e9 / f64::from(THREADS);
        let mut experiments = Vec::new();
        for name in APPLICATIONS {
            experiments.push(beside(&platform, &suite, name, None, ideal)?);
            for (&micro, count) in wanted.iter().flat_map(|micro| INSTANCES.map(|count| (micro, count))) {
                experiments.push(beside(&platform, &suite, name, Some((MICRO[micro], count)), ideal)?);
            }
        }
        let mut cells = vec![Cell::default(); APPLICATIONS.len() * MICRO.len() * INSTANCES.len()];
        for (app, together) in lab.all(&experiments)?.chunks(1 + wanted.len() * INSTANCES.len()).enumerate() {
            let alone = of_application(&together[0])?;
            let places = wanted.iter().flat_map(|&micro| (0..INSTANCES.len()).map(move |count| (micro, count)));
            for ((micro, count), outcomes) in places.zip(&together[1..]) {
                let cell = &mut cells[place(app, micro, count)];
                for (mine, alone) in of_application(outcomes)?.iter().zip(&alone) {
                    cell.slowdown.push(mine.0 / alone.0);
                    cell.misses.push(mine.1 / alone.1);
                }
            }
        }
        Ok(Self(cells))
    }

    fn cell(&self, app: usize, micro: usize, count: usize) -> &Cell {
        &self.0[place(app, micro, count)]
    }

    /// Slowdown with one microbenchmark over that with another, of each run.
    fn ratio(&self, app: usize, (new, old): (usize, usize), count: usize) -> Vec<f64> {
        let (new, old) = (&self.cell(app, new, count).slowdown, &self.cell(app, old, count).slowdown);
        new.iter().zip(old).map(|(new, old)| new / old).collect()
    }

    /// Mean slowdown of these applications, of each run.
    fn mean(&self, apps: &[usize], micro: usize, count: usize) -> Vec<f64> {
        let of_run = |run: usize| {
            apps.iter().map(|&app| self.cell(app, micro, count).slowdown[run]).sum::<f64>() / apps.len() as f64
        };
        (0..self.cell(apps[0], micro, count).slowdown.len()).map(of_run).collect()
    }

    /// Slowdown beside FLUSH over the degree of multiprogramming.
    fn beyond_degree(&self) -> Vec<Of> {
        ranked(&ALL, |app, count| {
            self.cell(app, FLUSH, count).slowdown.iter().map(|slowdown| slowdown / degree(INSTANCES[count])).collect()
        })
    }

    /// Misses beside FLUSH over those alone.
    fn misses(&self) -> Vec<Of> {
        ranked(&ALL, |app, count| self.cell(app, FLUSH, count).misses.clone())
    }

    fn figure(&self, title: &str, said: &str, micro: usize, of: impl Fn(&Cell) -> &[f64]) -> Figure {
        let figure = Figure::new(Shape::Bars, title, "application", "over alone", said);
        (0..INSTANCES.len()).fold(figure, |figure, count| {
            let points = APPLICATIONS
                .iter()
                .enumerate()
                .map(|(app, name)| ((*name).to_owned(), Estimate::of(of(self.cell(app, micro, count)))));
            figure.with(format!("{} instances", INSTANCES[count]), points)
        })
    }
}

fn place(app: usize, micro: usize, count: usize) -> usize {
    (app * MICRO.len() + micro) * INSTANCES.len() + count
}

/// A value of each of these applications with each number of instances, from the least mean to
/// the largest.
fn ranked(apps: &[usize], of: impl Fn(usize, usize) -> Vec<f64>) -> Vec<Of> {
    let places = apps.iter().flat_map(|&app| (0..INSTANCES.len()).map(move |count| (app, count)));
    let mut all: Vec<Of> = places
        .map(|(app, count)| Of {
            application: APPLICATIONS[app],
            instances: INSTANCES[count],
            estimate: Estimate::of(&of(app, count)),
        })
        .collect();
    all.sort_by(|a, b| a.estimate.mean.total_cmp(&b.estimate.mean));
    all
}

/// Every application.
const ALL: [usize; 5] = [0, 1, 2, 3, 4];

/// An application, and instances of a microbenchmark. `ideal`: nanoseconds of the application on
/// all processors.
fn beside(
    platform: &Platform,
    suite: &Suite,
    name: &str,
    micro: Option<(&str, u32)>,
    ideal: f64,
) -> Result<Experiment, Trouble> {
    let mut plans = vec![platform.plan(vec![suite.program(name, THREADS)?])];
    if let Some((micro, count)) = micro {
        for _ in 0..count {
            plans.push(platform.plan(vec![suite.program(micro, 1)?]));
        }
    }
    let count = micro.map_or(0, |(_, count)| count);
    let with = micro.map_or_else(|| "alone".to_owned(), |(micro, count)| format!("with {count} {micro}"));
    let mut experiment = platform.experiment(format!("{name} {with}"), PROCESSORS, "rr", plans);
    experiment.setup.until = Some(whole(PATIENCE * ideal * degree(count)));
    Ok(experiment)
}

/// Time and misses of the application in each run.
fn of_application(outcomes: &Outcomes) -> Result<Vec<(f64, f64)>, Trouble> {
    let one = |outcome: &Outcome| {
        let job = outcome.jobs.iter().find(|job| job.stream == 0);
        job.map(|job| (job.response() as f64, job.misses() as f64))
            .ok_or_else(|| Trouble::new("beside microbenchmarks", "the application has not ended in time"))
    };
    outcomes.iter().map(one).collect()
}

/// Degree of multiprogramming.
fn degree(instances: u32) -> f64 {
    f64::from(THREADS + instances) / f64::from(THREADS)
}

fn shown(of: &Of) -> String {
    format!("{} ({} with {})", of.estimate, of.application, of.instances)
}

/// The median of values in order.
fn median(values: &[Of]) -> Estimate {
    values[values.len() / 2].estimate
}

/// The row of figure 1, left: the least slowdown beside FLUSH over the degree of multiprogramming.
///
/// # Errors
/// An experiment cannot be run.
pub fn least_slowdown(lab: &Lab) -> Result<Estimate, Trouble> {
    Ok(Cells::of(lab, &[FLUSH])?.beyond_degree()[0].estimate)
}

/// The row of figure 1, right: the median of misses beside FLUSH over those alone.
///
/// # Errors
/// An experiment cannot be run.
pub fn median_of_misses(lab: &Lab) -> Result<Estimate, Trouble> {
    Ok(median(&Cells::of(lab, &[FLUSH])?.misses()))
}

/// The other row of figure 1, right: the least of them.
///
/// # Errors
/// An experiment cannot be run.
pub fn least_misses(lab: &Lab) -> Result<Estimate, Trouble> {
    Ok(Cells::of(lab, &[FLUSH])?.misses()[0].estimate)
}

/// The row of figure 3: the least slowdown beside BBMA over that beside FLUSH, of CG, SP and MG.
///
/// # Errors
/// An experiment cannot be run.
pub fn least_busy(lab: &Lab) -> Result<Estimate, Trouble> {
    let cells = Cells::of(lab, &[FLUSH, BUSY])?;
    Ok(ranked(&INTENSIVE, |app, count| cells.ratio(app, (BUSY, FLUSH), count))[0].estimate)
}

/// A-Fig1l.
pub fn slowdown(lab: &Lab) -> Result<Finding, Trouble> {
    let cells = Cells::of(lab, &[FLUSH])?;
    let mut judge = Judge::new();
    for (count, instances) in INSTANCES.into_iter().enumerate() {
        let slowdown = Estimate::of(&cells.mean(&ALL, FLUSH, count));
        judge.value(format!("slowdown with {instances} FLUSH"), "", slowdown);
    }
    let all = cells.beyond_degree();
    let least = &all[0];
    let demand = Demand::new("slowdown ≥ 0.98 (4+n)/4 for all", "above", shown(least), least.estimate.low() >= 0.98);
    judge.add(demand.by(margin(least.estimate.low(), 0.98)));
    let above = all.iter().filter(|of| of.estimate.mean > 1.0).count();
    let count = format!("{above} of {}", all.len());
    let demand = Demand::new("more than (4+n)/4 for the majority", "above", count, 2 * above > all.len());
    judge.add(demand.by(margin(above as f64, all.len() as f64 / 2.0)));
    judge.figure(cells.figure("Figure 1 (left): beside FLUSH", "Above (4+n)/4", FLUSH, |cell| &cell.slowdown));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig1r.
pub fn misses(lab: &Lab) -> Result<Finding, Trouble> {
    let cells = Cells::of(lab, &[FLUSH])?;
    let mut judge = Judge::new();
    let all = cells.misses();
    judge.value("median of misses over those alone", "", median(&all));
    judge.at_most("median ≤ 1.25", "not severely worse", median(&all), 1.25);
    judge.at_most("at least one below 1", "some improve", all[0].estimate, 1.0);
    judge.figure(cells.figure("Figure 1 (right): misses beside FLUSH", "Some improve", FLUSH, |cell| &cell.misses));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig2.
pub fn quiet(lab: &Lab) -> Result<Finding, Trouble> {
    const LIMIT: f64 = 12.0;
    let cells = Cells::of(lab, &[FLUSH, QUIET, BUSY])?;
    let mut judge = Judge::new();
    for (count, instances) in INSTANCES.into_iter().enumerate() {
        let mean = |micro| cells.mean(&ALL, micro, count);
        judge.value(format!("slowdown with {instances} nBBMA"), "", Estimate::of(&mean(QUIET)));
        let (flush, busy) = (mean(FLUSH), mean(BUSY));
        for (app, name) in APPLICATIONS.iter().enumerate() {
            let slowdown = |micro| &cells.cell(app, micro, count).slowdown[..];
            judge.alike(
                format!("{name} with {instances}: nBBMA and FLUSH within {LIMIT} %"),
                "similar",
                Pair::new(slowdown(QUIET), slowdown(FLUSH)),
                LIMIT,
                (&format!("mean slowdowns with {instances} BBMA and FLUSH"), Pair::new(&busy, &flush)),
            );
        }
    }
    judge.figure(cells.figure("Figure 2: beside nBBMA", "As figure 1", QUIET, |cell| &cell.slowdown));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig3.
pub fn busy(lab: &Lab) -> Result<Finding, Trouble> {
    let (cells, suite) = (Cells::of(lab, &[FLUSH, BUSY])?, Suite::of(lab)?);
    let mut judge = Judge::new();
    for (count, instances) in INSTANCES.into_iter().enumerate() {
        let slowdown = Estimate::of(&cells.mean(&INTENSIVE, BUSY, count));
        judge.value(format!("CG, SP, MG with {instances} BBMA"), "", slowdown);
    }
    for least in ranked(&INTENSIVE, |app, count| cells.ratio(app, (BUSY, FLUSH), count)) {
        let what = format!("{} with {}: BBMA ≥ 1.2 FLUSH", least.application, least.instances);
        judge.at_least(what, "remarkably higher", least.estimate, 1.2);
    }
    let mean = |app: usize| {
        let slowdowns = (0..INSTANCES.len()).map(|count| Estimate::of(&cells.cell(app, BUSY, count).slowdown).mean);
        slowdowns.sum::<f64>() / INSTANCES.len() as f64
    };
    let r = correlation(&ALL.map(|app| (suite.rate(app), mean(app))));
    judge.add(Demand::new("correlation with rates > 0.5", "", format!("{r:.2}"), r > 0.5).by(margin(r, 0.5)));
    judge.figure(cells.figure("Figure 3: beside BBMA", "Remarkably higher", BUSY, |cell| &cell.slowdown));
    Ok(judge.verdict(UNKNOWN))
}

/// Pearson's correlation.
fn correlation(points: &[(f64, f64)]) -> f64 {
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    sum(|x, y| x * y) / (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_by_hand() {
        assert!((correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) - 1.0).abs() < 1e-12);
        // Deviations -1, 0, 1 and 1, -2, 1: no correlation.
        assert!(correlation(&[(1.0, 4.0), (2.0, 1.0), (3.0, 4.0)]).abs() < 1e-12);
    }
}
