//! Figures 1 to 3: one application of four threads beside instances of a microbenchmark, under
//! round robin.

use super::model::{APPLICATIONS, AS_ASSUMED, ASSUMED, FACTORS, Rates, program};
use super::policies::UNKNOWN;
use super::table::{demand, experiment, over_rates};
use super::workloads::plan;
use crate::{Estimate, Figure, Finding, Judge, Lab, Outcomes, Shape, Trouble};
use numaestro_sim::outcome::Outcome;
use numaestro_sim::stats::moments::{percentile, sorted};

/// Instances of a microbenchmark.
const INSTANCES: [u32; 4] = [1, 2, 4, 8];
const MICRO: [&str; 3] = ["FLUSH", "nBBMA", "BBMA"];
const FLUSH: usize = 0;
const QUIET: usize = 1;
const BUSY: usize = 2;
/// Threads of the application, as many as processors.
const THREADS: u32 = 4;
/// Applications that want more than their part of the bus, 7.35 per microsecond: CG, SP, MG.
const INTENSIVE: [usize; 3] = [1, 2, 4];
/// Nobody looks at microbenchmarks after this time, nanoseconds.
const UNTIL: u64 = 40_000_000_000;

/// The results of one application.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    slowdown: f64,
    /// Lines brought in, over the lines brought in alone: for the same work, so this is the ratio
    /// of the miss rates.
    misses: f64,
}

/// By application, factor, microbenchmark and number of instances; means over runs.
#[derive(Debug)]
struct Cells(Vec<Cell>);

impl Cells {
    fn new(lab: &Lab) -> Result<Self, Trouble> {
        let mut experiments = Vec::new();
        for (app, name) in APPLICATIONS.iter().enumerate() {
            for factor in 0..FACTORS.len() {
                experiments.push(beside(name, factor, None)?);
                for (micro, count) in MICRO.iter().flat_map(|micro| INSTANCES.map(|count| (micro, count))) {
                    experiments.push(beside(APPLICATIONS[app], factor, Some((micro, count)))?);
                }
            }
        }
        let mut cells = Vec::new();
        for together in lab.all(&experiments)?.chunks(1 + MICRO.len() * INSTANCES.len()) {
            let alone = of_application(&together[0])?;
            for outcomes in &together[1..] {
                let mut cell = Cell::default();
                for (mine, alone) in of_application(outcomes)?.iter().zip(&alone) {
                    cell.slowdown += mine.0 / alone.0 / alone_count(outcomes);
                    cell.misses += mine.1 / alone.1 / alone_count(outcomes);
                }
                cells.push(cell);
            }
        }
        Ok(Self(cells))
    }

    fn cell(&self, app: usize, rates: &Rates, micro: usize, count: usize) -> Cell {
        self.0[((app * FACTORS.len() + rates[app]) * MICRO.len() + micro) * INSTANCES.len() + count]
    }

    /// The cells of every application and every number of instances.
    fn all(&self, rates: &Rates, micro: usize) -> Vec<(usize, usize, Cell)> {
        let places = (0..APPLICATIONS.len()).flat_map(|app| (0..INSTANCES.len()).map(move |count| (app, count)));
        places.map(|(app, count)| (app, count, self.cell(app, rates, micro, count))).collect()
    }

    fn figure(&self, title: &str, said: &str, micro: usize, of: impl Fn(Cell) -> f64) -> Figure {
        let figure = Figure::new(Shape::Bars, title, "application", "over alone", said);
        (0..INSTANCES.len()).fold(figure, |figure, count| {
            let points = APPLICATIONS.iter().enumerate().map(|(app, name)| {
                ((*name).to_owned(), Estimate::exact(of(self.cell(app, &AS_ASSUMED, micro, count))))
            });
            figure.with(format!("{} instances", INSTANCES[count]), points)
        })
    }
}

fn alone_count(outcomes: &Outcomes) -> f64 {
    outcomes.len() as f64
}

/// An application, and instances of a microbenchmark; all begin within the first quantum.
fn beside(name: &str, factor: usize, micro: Option<(&str, u32)>) -> Result<crate::Experiment, Trouble> {
    let mut plans = vec![plan(vec![program(name, THREADS, factor, true)?])];
    if let Some((micro, count)) = micro {
        for _ in 0..count {
            plans.push(plan(vec![program(micro, 1, 1, true)?]));
        }
    }
    let with = micro.map_or_else(|| "alone".to_owned(), |(micro, count)| format!("with {count} {micro}"));
    let mut experiment = experiment(format!("{name} {with}, rate {factor}"), THREADS, "rr", plans)?;
    experiment.setup.until = Some(UNTIL);
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

fn expected(count: usize) -> f64 {
    f64::from(THREADS + INSTANCES[count]) / f64::from(THREADS)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// A-Fig1l.
pub fn slowdown(lab: &Lab) -> Result<Finding, Trouble> {
    let cells = Cells::new(lab)?;
    let mut judge = Judge::new();
    for (count, instances) in INSTANCES.into_iter().enumerate() {
        let slowdown = mean((0..APPLICATIONS.len()).map(|app| cells.cell(app, &AS_ASSUMED, FLUSH, count).slowdown));
        judge.value(format!("slowdown with {instances} FLUSH"), "", Estimate::exact(slowdown));
    }
    over_rates(&mut judge, |rates| {
        let all = cells.all(rates, FLUSH);
        let worst = all.iter().map(|&(app, count, cell)| (cell.slowdown / expected(count), app, count));
        let least = worst.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
        let above = all.iter().filter(|(_, count, cell)| cell.slowdown > expected(*count)).count();
        let shown = format!("{:.2} ({} with {})", least.0, APPLICATIONS[least.1], INSTANCES[least.2]);
        vec![
            demand("slowdown ≥ 0.98 (4+n)/4 for all", "above", shown, least.0 >= 0.98),
            demand(
                "more than (4+n)/4 for the majority",
                "above",
                format!("{above} of {}", all.len()),
                2 * above > all.len(),
            ),
        ]
    });
    judge.figure(cells.figure("Figure 1 (left): beside FLUSH", "Above (4+n)/4", FLUSH, |cell| cell.slowdown));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig1r.
pub fn misses(lab: &Lab) -> Result<Finding, Trouble> {
    let cells = Cells::new(lab)?;
    let mut judge = Judge::new();
    over_rates(&mut judge, |rates| {
        let all: Vec<f64> = cells.all(rates, FLUSH).iter().map(|(_, _, cell)| cell.misses).collect();
        let all = sorted(&all);
        let median = percentile(&all, 0.5).expect("there are cells");
        vec![
            demand("median ≤ 1.25", "not severely worse", format!("{median:.3}"), median <= 1.25),
            demand("at least one below 1", "some improve", format!("least {:.3}", all[0]), all[0] < 1.0),
        ]
    });
    judge.figure(cells.figure("Figure 1 (right): misses beside FLUSH", "Some improve", FLUSH, |cell| cell.misses));
    Ok(judge.fitted(
        "what a smaller team misses less is in the model because this figure's text says so; that a refilled cache adds hardly anything follows from \
         sizes (4096 lines in 100 ms) and would count alone",
        "",
    ))
}

/// A-Fig2.
pub fn quiet(lab: &Lab) -> Result<Finding, Trouble> {
    let cells = Cells::new(lab)?;
    let mut judge = Judge::new();
    over_rates(&mut judge, |rates| {
        let differ = |(app, count, cell): &(usize, usize, Cell)| {
            (cell.slowdown / cells.cell(*app, rates, FLUSH, *count).slowdown - 1.0).abs()
        };
        let most = cells.all(rates, QUIET).iter().map(differ).fold(0.0, f64::max);
        vec![demand("within 12 % of FLUSH everywhere", "similar", format!("{:.2} %", 100.0 * most), most <= 0.12)]
    });
    judge.figure(cells.figure("Figure 2: beside nBBMA", "As figure 1", QUIET, |cell| cell.slowdown));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig3.
pub fn busy(lab: &Lab) -> Result<Finding, Trouble> {
    let cells = Cells::new(lab)?;
    let mut judge = Judge::new();
    for (count, instances) in INSTANCES.into_iter().enumerate() {
        let slowdown = mean(INTENSIVE.iter().map(|&app| cells.cell(app, &AS_ASSUMED, BUSY, count).slowdown));
        judge.value(format!("CG, SP, MG with {instances} BBMA"), "", Estimate::exact(slowdown));
    }
    over_rates(&mut judge, |rates| {
        let mut demands = Vec::new();
        for (count, instances) in INSTANCES.into_iter().enumerate() {
            let ratio = |app: &usize| {
                let of = |micro| cells.cell(*app, rates, micro, count).slowdown;
                of(BUSY) / of(FLUSH)
            };
            let least = INTENSIVE.iter().map(ratio).fold(f64::INFINITY, f64::min);
            let what = format!("CG, SP, MG with {instances}: BBMA ≥ 1.2 FLUSH");
            demands.push(demand(what, "remarkably higher", format!("{least:.2}"), least >= 1.2));
        }
        let rate = |app: usize| ASSUMED[app] * FACTORS[rates[app]];
        let slowdown = |app: usize| mean((0..INSTANCES.len()).map(|n| cells.cell(app, rates, BUSY, n).slowdown));
        let r = correlation(&[0, 1, 2, 3, 4].map(|app| (rate(app), slowdown(app))));
        demands.push(demand("correlation with rates > 0.5", "", format!("{r:.2}"), r > 0.5));
        demands
    });
    judge.figure(cells.figure("Figure 3: beside BBMA", "Remarkably higher", BUSY, |cell| cell.slowdown));
    Ok(judge.verdict(UNKNOWN))
}

/// Pearson's correlation.
fn correlation(points: &[(f64, f64)]) -> f64 {
    let (x, y) = (mean(points.iter().map(|point| point.0)), mean(points.iter().map(|point| point.1)));
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
