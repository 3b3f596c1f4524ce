//! Figures 4 and 5: the policies against Linux and against each other.

use super::UNKNOWN;
use super::platform::{PROCESSORS, Platform, TWICE};
use super::suite::{BURSTY_THREADS, Suite};
use super::table::{Over, Table, Under, turnaround};
use super::workloads::WORKLOADS;
use crate::comparison::margin;
use crate::finding::Demand;
use crate::{Estimate, Figure, Finding, Judge, Lab, Shape, Status, Trouble, ratio};

use Under::{B2adss, B2arr, Dss, Linux, Lqg, Qwg, Rr};

/// The printed mean improvements over Linux, percent (figure 4).
const OVER_LINUX: [(Under, f64); 5] = [(Rr, 11.0), (Dss, 14.0), (Lqg, 9.0), (B2arr, 23.0), (B2adss, 18.0)];

/// The place of a workload in table 1.
fn of(id: &str) -> usize {
    WORKLOADS.iter().position(|workload| workload.id == id).unwrap_or(0)
}

fn name(over: Over) -> String {
    format!("{} over {}", over.0.name(), over.1.name())
}

fn value(judge: &mut Judge, table: &Table, over: Over) -> Estimate {
    let mean = table.mean(over);
    judge.value(name(over), "%", mean);
    mean
}

/// The difference of two quantities that were measured in the same runs.
fn difference(a: &[f64], b: &[f64]) -> Estimate {
    Estimate::of(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Demands that the whole interval is above 0. Equal times are no improvement.
fn above_0(judge: &mut Judge, what: &str, paper: &str, ours: Estimate) {
    judge.add(Demand::new(what, paper, ours, ours.low() > 0.0).by(margin(ours.low(), 0.0)));
}

/// Demands that no workload is worse than this, percent.
fn nowhere_below(judge: &mut Judge, table: &Table, over: Over, limit: f64, paper: &str) {
    let (worst, gain) = table.ranked(over)[0];
    let what = format!("{} ≥ {limit} % everywhere; least in {}", name(over), WORKLOADS[worst].id);
    judge.at_least(what, paper, gain, limit);
}

/// The improvements of all workloads and their mean, beside the printed means.
fn bars(table: &Table, title: &str, said: &str, pairs: &[(Over, Option<f64>)]) -> Figure {
    let mut figure = Figure::new(Shape::Bars, title, "workload", "improvement, percent", said);
    for &(over, printed) in pairs {
        let each = WORKLOADS.iter().enumerate();
        let each = each.map(|(number, workload)| (workload.id.to_owned(), table.gain(number, over)));
        figure = figure.with(name(over), each.chain([("mean".to_owned(), table.mean(over))]));
        if let Some(printed) = printed {
            figure = figure
                .printed(format!("{}, the paper's mean", name(over)), [("mean".to_owned(), Estimate::exact(printed))]);
        }
    }
    figure
}

/// A-Fig4a.
pub fn manager_over_linux(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Linux, Rr, Dss, Lqg, B2arr, B2adss])?;
    let mut judge = Judge::new();
    let (rr, dss) = (value(&mut judge, &table, (Rr, Linux)), value(&mut judge, &table, (Dss, Linux)));
    judge.near("RR in (0, 22] %", 11.0, rr, 11.0).near("DSS in (0, 28] %", 14.0, dss, 14.0);
    above_0(&mut judge, "RR > 0", "11 %", rr);
    above_0(&mut judge, "DSS > 0", "14 %", dss);
    let above = difference(&table.runs((Dss, Linux)), &table.runs((Rr, Linux)));
    judge.at_least("DSS ≥ RR − 2 points", "3 points above", above, -2.0);
    judge.figure(bars(
        &table,
        "Figure 4: turnaround against Linux",
        "Means: RR 11, DSS 14, LQG 9, B2ARR 23, B2ADSS 18 %",
        &OVER_LINUX.map(|(under, printed)| ((under, Linux), Some(printed))),
    ));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4b.
pub fn never_much_worse(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Linux, Rr, Dss])?;
    let mut judge = Judge::new();
    for over in [(Rr, Linux), (Dss, Linux)] {
        judge.value(format!("least of {}", name(over)), "%", table.ranked(over)[0].1);
        nowhere_below(&mut judge, &table, over, -5.0, "-3.2 %");
    }
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4c.
pub fn aware_over_linux(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Linux, Rr, Dss, Lqg, B2arr, B2adss])?;
    let mut judge = Judge::new();
    for under in [B2arr, B2adss, Lqg, Rr, Dss] {
        value(&mut judge, &table, (under, Linux));
    }
    let [b2arr, b2adss, lqg, rr, dss] = [B2arr, B2adss, Lqg, Rr, Dss].map(|under| table.runs((under, Linux)));
    let blind: Vec<f64> = rr.iter().zip(&dss).map(|(rr, dss)| rr.max(*dss)).collect();
    above_0(&mut judge, "B2ARR > B2ADSS", "by 5 points", difference(&b2arr, &b2adss));
    above_0(&mut judge, "B2ADSS > RR and DSS", "by 4 points", difference(&b2adss, &blind));
    judge.at_least("RR or DSS > LQG − 3 points", "5 points above", difference(&blind, &lqg), -3.0).near(
        "B2ARR in [10, 36] %",
        23.0,
        Estimate::of(&b2arr),
        13.0,
    );
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4d.
pub fn gangs_against_linux(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Linux, Lqg])?;
    let mut judge = Judge::new();
    for id in ["A.1", "C.1"] {
        let gain = table.gain(of(id), (Lqg, Linux));
        judge.value(format!("LQG over Linux in {id}"), "%", gain);
        let below = Demand::new(format!("LQG < 0 in {id}"), "worse", gain, gain.high() < 0.0);
        judge.add(below.by(margin(-gain.high(), 0.0)));
    }
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4e.
pub fn gangs_against_rr(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Rr, Lqg])?;
    let mut judge = Judge::new();
    let mean = value(&mut judge, &table, (Lqg, Rr));
    judge.at_least("LQG over RR ≥ -5 %", "-1 %", mean, -5.0).at_most("LQG over RR ≤ 2 %", "-1 %", mean, 2.0);
    let order: Vec<usize> = table.ranked((Lqg, Rr)).into_iter().map(|(workload, _)| workload).collect();
    let (bad, good) = order.split_at(3);
    for &at in bad {
        let [lqg, rr] = [Lqg, Rr].map(|under| 100.0 * table.busy(at, under));
        let what = format!("{}, one of the three worst: processors idle more than under RR", WORKLOADS[at].id);
        let ours = format!("{lqg:.0} and {rr:.0} % busy, {} %", table.gain(at, (Lqg, Rr)));
        judge.add(Demand::new(what, "idle", ours, lqg < rr).by(margin(rr, lqg)));
    }
    let rest = Estimate::of(&table.runs_of(good, (Lqg, Rr)));
    above_0(&mut judge, "without them > 0", "4 %", rest);
    let said = "1 % worse on average, better in most, 4 % without the worst";
    judge.figure(bars(&table, "LQG against RR", said, &[((Lqg, Rr), Some(-1.0))]));
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4f.
pub fn aware_over_rr(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Rr, B2arr, B2adss])?;
    let mut judge = Judge::new();
    let (b2arr, b2adss) = (value(&mut judge, &table, (B2arr, Rr)), value(&mut judge, &table, (B2adss, Rr)));
    let apart = difference(&table.runs((B2arr, Rr)), &table.runs((B2adss, Rr)));
    above_0(&mut judge, "B2ARR > 0", "28 % printed", b2arr);
    above_0(&mut judge, "B2ADSS > 0", "17 % printed", b2adss);
    above_0(&mut judge, "B2ARR > B2ADSS", "by 11 points", apart);
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4g.
pub fn aware_over_gangs(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Lqg, B2arr, B2adss])?;
    let mut judge = Judge::new();
    let (b2arr, b2adss) = (value(&mut judge, &table, (B2arr, Lqg)), value(&mut judge, &table, (B2adss, Lqg)));
    judge.near("B2ARR over LQG in [5, 21] %", 13.0, b2arr, 8.0).near("B2ADSS over LQG in [3, 15] %", 9.0, b2adss, 6.0);
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4h.
pub fn single_threads(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Lqg, B2adss])?;
    let mut judge = Judge::new();
    for id in ["A.2", "B.2", "C.2"] {
        let gain = table.gain(of(id), (B2adss, Lqg));
        judge.value(format!("B2ADSS over LQG in {id}"), "%", gain);
        judge.at_least(format!("{id} ≥ -6 %"), "to -3 %", gain, -6.0);
        judge.at_most(format!("{id} ≤ 4 %"), "to -3 %", gain, 4.0);
    }
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig5.
pub fn aware_over_blind(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Rr, Dss, B2arr, B2adss])?;
    let mut judge = Judge::new();
    let pairs = [(B2arr, Rr), (B2adss, Dss)];
    let means = pairs.map(|pair| value(&mut judge, &table, pair));
    for pair in pairs {
        nowhere_below(&mut judge, &table, pair, -1.0, "> 0");
    }
    judge
        .near("mean of B2ARR over RR in [6, 20] %", 13.0, means[0], 7.0)
        .at_least("mean of B2ADSS over DSS ≥ 2 %", "5 %", means[1], 2.0)
        .at_most("mean of B2ADSS over DSS ≤ 10 %", "5 %", means[1], 10.0);
    let printed = [(pairs[0], Some(13.0)), (pairs[1], Some(5.0))];
    judge.figure(bars(&table, "Figure 5: with and without bandwidth", "All above 0; means 13 and 5 %", &printed));
    Ok(judge.verdict(UNKNOWN))
}

/// A-amb: the means over Linux imply the other comparisons, computed as times and as rates.
#[allow(clippy::unnecessary_wraps)] // As all checks.
pub fn consistency(_: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let over_linux = |under| OVER_LINUX.iter().find(|(known, _)| *known == under).map_or(0.0, |(_, percent)| *percent);
    for (new, old, printed) in [
        (B2arr, Rr, "13 % in figure 5, 28 % in the text"),
        (B2adss, Rr, "17 % in the text"),
        (B2adss, Dss, "5 % in figure 5"),
        (B2arr, Lqg, "13 %"),
        (B2adss, Lqg, "9 %"),
        (Lqg, Rr, "-1 %"),
    ] {
        let time = 100.0 * (1.0 - (100.0 - over_linux(new)) / (100.0 - over_linux(old)));
        let rate = 100.0 * ((100.0 + over_linux(new)) / (100.0 + over_linux(old)) - 1.0);
        judge.value(format!("{}, if over Linux is time", name((new, old))), "%", Estimate::exact(time));
        let ours = format!("{time:.1} % as time, {rate:.1} % as rate");
        judge.demand(name((new, old)), printed, ours, true);
    }
    Ok(judge.with(Status::NotApplicable(
        "the paper contradicts itself: 28 and 17 % over RR (§5) follow neither from its means over Linux nor from its figure 5, whose 13 and 5 % do. \
         There is nothing to run; figure 5 is judged by its own numbers, the others by their sign"
            .to_owned(),
    )))
}

/// A-QWG.
pub fn windows(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab, &[Lqg, Qwg])?;
    let mut judge = Judge::new();
    let smooth = value(&mut judge, &table, (Lqg, Qwg));
    judge.at_least("smooth: R(LQG) ≤ 1.02 R(QWG)", "LQG better", smooth, -2.0);
    let (platform, suite) = (Platform::of(lab)?, Suite::of(lab)?);
    let mut runs = Vec::new();
    for under in [Qwg, Lqg] {
        let streams =
            ["bursty", "bursty", "CG", "BT"].map(|name| Ok(platform.plan(vec![suite.program(name, BURSTY_THREADS)?])));
        let plans = streams.into_iter().collect::<Result<Vec<_>, Trouble>>()?;
        let name = format!("bursts under {}", under.policy());
        let bursts = platform.experiment(name, PROCESSORS, under.policy(), plans);
        runs.push(lab.outcomes(&bursts)?.iter().map(turnaround).collect::<Vec<f64>>());
    }
    let bursty = ratio(&runs[0], &runs[1]);
    judge.value("bursty: R(QWG)/R(LQG)", "", bursty);
    judge.at_most("bursty: R(QWG) ≤ R(LQG)", "", bursty, 1.0);
    Ok(judge.verdict(UNKNOWN))
}

/// A-8way.
pub fn eight(lab: &Lab) -> Result<Finding, Trouble> {
    let policies = [Rr, B2arr];
    let (four, eight) = (Table::new(lab, &policies)?, Table::of(lab, TWICE, &policies)?);
    let mut judge = Judge::new();
    judge.value("B2ARR over RR, 8 processors", "%", eight.mean((B2arr, Rr)));
    judge.value("4 processors", "%", four.mean((B2arr, Rr)));
    let more = difference(&eight.runs((B2arr, Rr)), &four.runs((B2arr, Rr)));
    above_0(&mut judge, "more with 8 processors than with 4", "expected", more);
    Ok(judge.verdict(UNKNOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_are_no_improvement() {
        let holds = |gains: &[f64]| {
            let mut judge = Judge::new();
            above_0(&mut judge, "RR > 0", "11 %", Estimate::of(gains));
            judge.holds()
        };
        assert!(holds(&[1.0, 1.1, 0.9]) && !holds(&[0.0, 0.0, 0.0]) && !holds(&[3.0, -2.0, 1.0]));
    }
}
