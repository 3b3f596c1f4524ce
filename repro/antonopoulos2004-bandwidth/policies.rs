//! Figures 4 and 5: the policies against Linux and against each other.

use super::model::{AS_ASSUMED, Rates, program};
use super::table::{Table, Under, demand, experiment, over_rates, turnaround};
use super::workloads::{WORKLOADS, plan};
use crate::finding::Demand;
use crate::{Estimate, Figure, Finding, Judge, Lab, Shape, Status, Trouble, ratio};

use Under::{B2adss, B2arr, Dss, Linux, Lqg, Qwg, Rr};

/// No experiment tells why a claim does not come out.
pub const UNKNOWN: &str = "The cause is not known";

/// The place of a workload in table 1.
fn of(id: &str) -> usize {
    WORKLOADS.iter().position(|workload| workload.id == id).unwrap_or(0)
}

fn least(gains: &[f64]) -> f64 {
    gains.iter().copied().fold(f64::INFINITY, f64::min)
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

/// A demand on a number of percent.
fn bound(what: &str, paper: &str, value: f64, holds: bool) -> Demand {
    demand(what, paper, percent(value), holds)
}

/// The improvements of all workloads and their mean.
fn bars(table: &Table, title: &str, said: &str, pairs: &[(Under, Under)]) -> Figure {
    let figure = Figure::new(Shape::Bars, title, "workload", "improvement, percent", said);
    pairs.iter().fold(figure, |figure, &pair| {
        let each = WORKLOADS
            .iter()
            .enumerate()
            .map(|(number, workload)| (workload.id.to_owned(), table.gain(number, pair, &AS_ASSUMED)));
        let mean = ("mean".to_owned(), table.mean(pair, &AS_ASSUMED));
        figure.with(format!("{} over {}", pair.0.name(), pair.1.name()), each.chain([mean]))
    })
}

fn value(judge: &mut Judge, table: &Table, pair: (Under, Under)) {
    judge.value(format!("{} over {}", pair.0.name(), pair.1.name()), "%", table.mean(pair, &AS_ASSUMED));
}

/// A-Fig4a.
pub fn manager_over_linux(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    value(&mut judge, &table, (Rr, Linux));
    value(&mut judge, &table, (Dss, Linux));
    over_rates(&mut judge, |rates| {
        let (rr, dss) = (table.mean_only((Rr, Linux), rates), table.mean_only((Dss, Linux), rates));
        vec![
            bound("RR in (0, 22] %", "11 %", rr, rr > 0.0 && rr <= 22.0),
            bound("DSS in (0, 28] %", "14 %", dss, dss > 0.0 && dss <= 28.0),
            bound("DSS ≥ RR − 2 points", "3 points above", dss - rr, dss >= rr - 2.0),
        ]
    });
    let figure = bars(
        &table,
        "Figure 4: turnaround against Linux",
        "Means: RR 11, DSS 14, LQG 9, B2ARR 23, B2ADSS 18 %",
        &[(Rr, Linux), (Dss, Linux), (Lqg, Linux), (B2arr, Linux), (B2adss, Linux)],
    );
    judge.figure(figure);
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4b.
pub fn never_much_worse(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    for under in [Rr, Dss] {
        let worst = least(&table.each((under, Linux), &AS_ASSUMED));
        judge.value(format!("worst of {}", under.name()), "%", Estimate::exact(worst));
    }
    over_rates(&mut judge, |rates| {
        let worst = [Rr, Dss].map(|under| least(&table.each((under, Linux), rates)));
        let what = "nowhere more than 5 % worse";
        vec![
            bound(&format!("RR {what}"), "-3.2 %", worst[0], worst[0] >= -5.0),
            bound(&format!("DSS {what}"), "-3.2 %", worst[1], worst[1] >= -5.0),
        ]
    });
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4c.
pub fn aware_over_linux(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    for under in [B2arr, B2adss, Lqg, Rr, Dss] {
        value(&mut judge, &table, (under, Linux));
    }
    over_rates(&mut judge, |rates| {
        let [b2arr, b2adss, lqg, rr, dss] =
            [B2arr, B2adss, Lqg, Rr, Dss].map(|under| table.mean_only((under, Linux), rates));
        let blind = rr.max(dss);
        vec![
            bound("B2ARR > B2ADSS", "by 5 points", b2arr - b2adss, b2arr > b2adss),
            bound("B2ADSS > RR and DSS", "by 4 points", b2adss - blind, b2adss > blind),
            bound("RR or DSS > LQG − 3 points", "5 points above", blind - lqg, blind > lqg - 3.0),
            bound("B2ARR in [10, 36] %", "23 %", b2arr, (10.0..=36.0).contains(&b2arr)),
        ]
    });
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4d.
pub fn gangs_against_linux(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    for id in ["A.1", "C.1"] {
        judge.value(format!("LQG over Linux in {id}"), "%", table.gain(of(id), (Lqg, Linux), &AS_ASSUMED));
    }
    over_rates(&mut judge, |rates| {
        let each = table.each((Lqg, Linux), rates);
        let gain = |id: &str| each[of(id)];
        ["A.1", "C.1"].map(|id| bound(&format!("LQG < 0 in {id}"), "worse", gain(id), gain(id) < 0.0)).into()
    });
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4e.
pub fn gangs_against_rr(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    value(&mut judge, &table, (Lqg, Rr));
    over_rates(&mut judge, |rates| {
        let each = table.each((Lqg, Rr), rates);
        let mean = table.mean_only((Lqg, Rr), rates);
        let mut order: Vec<usize> = (0..each.len()).collect();
        order.sort_by(|&a, &b| each[a].total_cmp(&each[b]));
        let (bad, good) = order.split_at(3);
        let rest = good.iter().map(|&at| each[at]).sum::<f64>() / good.len() as f64;
        let idle = bad.iter().all(|&at| table.busy(at, Lqg, rates) < table.busy(at, Rr, rates));
        let shown: Vec<String> = bad
            .iter()
            .map(|&at| {
                let busy = |under| 100.0 * table.busy(at, under, rates);
                format!("{} {:.0} % ({:.0} and {:.0} % busy)", WORKLOADS[at].id, each[at], busy(Lqg), busy(Rr))
            })
            .collect();
        vec![
            bound("LQG over RR in [-5, +2] %", "-1 %", mean, (-5.0..=2.0).contains(&mean)),
            demand("processors idle more than under RR in the three worst", "idle", shown.join(", "), idle),
            bound("without them > 0", "4 %", rest, rest > 0.0),
        ]
    });
    let figure =
        bars(&table, "LQG against RR", "1 % worse on average, better in most, 4 % without the worst", &[(Lqg, Rr)]);
    judge.figure(figure);
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4f.
pub fn aware_over_rr(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    value(&mut judge, &table, (B2arr, Rr));
    value(&mut judge, &table, (B2adss, Rr));
    over_rates(&mut judge, |rates| {
        let [b2arr, b2adss] = [B2arr, B2adss].map(|under| table.mean_only((under, Rr), rates));
        vec![
            bound("B2ARR > 0", "28 % printed", b2arr, b2arr > 0.0),
            bound("B2ADSS > 0", "17 % printed", b2adss, b2adss > 0.0),
            bound("B2ARR > B2ADSS", "by 11 points", b2arr - b2adss, b2arr > b2adss),
        ]
    });
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4g.
pub fn aware_over_gangs(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    value(&mut judge, &table, (B2arr, Lqg));
    value(&mut judge, &table, (B2adss, Lqg));
    over_rates(&mut judge, |rates| {
        let [b2arr, b2adss] = [B2arr, B2adss].map(|under| table.mean_only((under, Lqg), rates));
        vec![
            bound("B2ARR over LQG in [5, 21] %", "13 %", b2arr, (5.0..=21.0).contains(&b2arr)),
            bound("B2ADSS over LQG in [3, 15] %", "9 %", b2adss, (3.0..=15.0).contains(&b2adss)),
        ]
    });
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig4h.
pub fn single_threads(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    let ids = ["A.2", "B.2", "C.2"];
    for id in ids {
        judge.value(format!("B2ADSS over LQG in {id}"), "%", table.gain(of(id), (B2adss, Lqg), &AS_ASSUMED));
    }
    over_rates(&mut judge, |rates| {
        let each = table.each((B2adss, Lqg), rates);
        let one = |id: &str| {
            let gain = each[of(id)];
            bound(&format!("{id} in [-6, +4] %"), "to -3 %", gain, (-6.0..=4.0).contains(&gain))
        };
        ids.map(one).into()
    });
    Ok(judge.verdict(UNKNOWN))
}

/// A-Fig5.
pub fn aware_over_blind(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    let pairs = [(B2arr, Rr), (B2adss, Dss)];
    for pair in pairs {
        value(&mut judge, &table, pair);
    }
    over_rates(&mut judge, |rates| {
        let means = pairs.map(|pair| table.mean_only(pair, rates));
        let worst = pairs.map(|pair| least(&table.each(pair, rates)));
        vec![
            bound("B2ARR over RR ≥ -1 % everywhere", "> 0", worst[0], worst[0] >= -1.0),
            bound("B2ADSS over DSS ≥ -1 % everywhere", "> 0", worst[1], worst[1] >= -1.0),
            bound("mean of B2ARR over RR in [6, 20] %", "13 %", means[0], (6.0..=20.0).contains(&means[0])),
            bound("mean of B2ADSS over DSS in [2, 10] %", "5 %", means[1], (2.0..=10.0).contains(&means[1])),
        ]
    });
    judge.figure(bars(&table, "Figure 5: with and without bandwidth", "All above 0; means 13 and 5 %", &pairs));
    Ok(judge.verdict(UNKNOWN))
}

/// A-amb: the means over Linux imply the other comparisons, computed as times and as rates.
#[allow(clippy::unnecessary_wraps)] // As all checks.
pub fn consistency(_: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    let over_linux = |under| match under {
        Rr => 11.0,
        Dss => 14.0,
        Lqg => 9.0,
        B2arr => 23.0,
        _ => 18.0,
    };
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
        judge.value(format!("{} over {}, if over Linux is time", new.name(), old.name()), "%", Estimate::exact(time));
        let ours = format!("{time:.1} % as time, {rate:.1} % as rate");
        judge.demand(format!("{} over {}", new.name(), old.name()), printed, ours, true);
    }
    Ok(judge.with(Status::NotApplicable(
        "the paper contradicts itself: 28 and 17 % over RR (§5) follow neither from its means over Linux nor from its figure 5, whose 13 and 5 % do. \
         There is nothing to run; figure 5 is judged by its own numbers, the others by their sign"
            .to_owned(),
    )))
}

/// A-QWG.
pub fn windows(lab: &Lab) -> Result<Finding, Trouble> {
    let table = Table::new(lab)?;
    let mut judge = Judge::new();
    value(&mut judge, &table, (Lqg, Qwg));
    over_rates(&mut judge, |rates: &Rates| {
        let mean = table.mean_only((Lqg, Qwg), rates);
        vec![bound("smooth: R(LQG) ≤ 1.02 R(QWG)", "LQG better", mean, mean >= -2.0)]
    });
    let mut runs = Vec::new();
    for under in [Qwg, Lqg] {
        let streams = ["bursty", "bursty", "CG", "BT"].map(|name| Ok(plan(vec![program(name, 2, 1, true)?])));
        let plans = streams.into_iter().collect::<Result<Vec<_>, Trouble>>()?;
        let bursts = experiment(format!("bursts under {}", under.policy()), 4, under.policy(), plans)?;
        runs.push(lab.outcomes(&bursts)?.iter().map(turnaround).collect::<Vec<f64>>());
    }
    let bursty = ratio(&runs[0], &runs[1]);
    judge.value("bursty: R(QWG)/R(LQG)", "", bursty);
    judge.demand("bursty: R(QWG) ≤ R(LQG)", "", bursty, bursty.mean <= 1.0);
    Ok(judge.verdict(UNKNOWN))
}

/// A-8way.
pub fn eight(lab: &Lab) -> Result<Finding, Trouble> {
    let (four, eight) = (Table::new(lab)?, Table::of(lab, 8, &[Rr, B2arr])?);
    let mut judge = Judge::new();
    judge.value("B2ARR over RR, 8 processors", "%", eight.mean((B2arr, Rr), &AS_ASSUMED));
    judge.value("4 processors", "%", four.mean((B2arr, Rr), &AS_ASSUMED));
    for (name, rates) in [("all rates 0.7", [0; 5]), ("all rates 1.3", [2; 5])] {
        judge.value(format!("{name}, 8 processors"), "%", eight.mean((B2arr, Rr), &rates));
        judge.value(format!("{name}, 4 processors"), "%", four.mean((B2arr, Rr), &rates));
    }
    over_rates(&mut judge, |rates| {
        let (four, eight) = (four.mean_only((B2arr, Rr), rates), eight.mean_only((B2arr, Rr), rates));
        vec![bound("more with 8 processors than with 4", "expected", eight - four, eight > four)]
    });
    Ok(judge.verdict(UNKNOWN))
}
