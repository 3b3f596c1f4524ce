//! Table 2, figures 6 and 7: seven programs on 64 processors, in windows and gangs.

use super::policy::Policy;
use super::runs::{CAUSE_UNKNOWN, GANGS, Run, all};
use super::times::{Quotient, Times, around, words};
use crate::{Estimate, Figure, Finding, Judge, Lab, Outcomes, Shape, Trouble};
use std::ops::RangeInclusive;

/// Streams of `gangs.toml` with the paper's seconds: native library, SSW-DSS, VTQ-DSS.
const ROWS: [(&str, [f64; 3]); 7] = [
    ("SP", [236.6, 98.5, 101.1]),
    ("BT", [120.0, 113.5, 133.1]),
    ("EPD", [70.8, 128.7, 110.2]),
    ("CG (1)", [14.7, 19.1, 18.9]),
    ("FT", [65.2, 35.9, 37.1]),
    ("MG", [63.6, 35.5, 38.2]),
    ("CG (2)", [14.7, 18.6, 18.1]),
];
pub const SP: u32 = 0;
pub const BT: u32 = 1;
const EPD: u32 = 2;
const CGS: [u32; 2] = [3, 6];
pub const FT: u32 = 4;
const MG: u32 = 5;
/// Columns.
const NATIVE: usize = 0;
const COLUMNS: [(&str, usize); 2] = [("SSW", 1), ("VTQ", 2)];

fn outcomes(lab: &Lab) -> Result<Vec<Outcomes>, Trouble> {
    all(lab, &[Policy::Native, Policy::Ssw, Policy::Vtq].map(|policy| Run::new(GANGS, policy)))
}

/// Times of a program under SSW-DSS, run by run.
pub fn under_ssw(lab: &Lab, stream: u32) -> Result<Times, Trouble> {
    Ok(Times::of_stream(&Run::new(GANGS, Policy::Ssw).outcomes(lab)?, stream))
}

/// Time of a program under VTQ-DSS over that under SSW-DSS.
pub fn vtq_over_ssw(lab: &Lab, stream: u32) -> Result<Quotient, Trouble> {
    let columns = all(lab, &[Policy::Vtq, Policy::Ssw].map(|policy| Run::new(GANGS, policy)))?;
    Ok(over(&columns, stream, 0, 1))
}

/// Time in one column over that in another.
fn over(columns: &[Outcomes], stream: u32, one: usize, other: usize) -> Quotient {
    Times::of_stream(&columns[one], stream).over(&Times::of_stream(&columns[other], stream))
}

fn printed(stream: u32, one: usize, other: usize) -> f64 {
    let row = ROWS[stream as usize].1;
    row[one] / row[other]
}

/// Times of some programs, as values.
fn show(judge: &mut Judge, columns: &[Outcomes], streams: &[u32]) {
    for &stream in streams {
        for (name, column) in [("native", NATIVE), COLUMNS[0], COLUMNS[1]] {
            let name = format!("{}, {name}", ROWS[stream as usize].0);
            Times::of_stream(&columns[column], stream).show(judge, name);
        }
    }
}

/// Demands that these programs are at least `least` times as fast under SSW-DSS and VTQ-DSS as with
/// the native library, and not too much faster than printed.
fn faster(lab: &Lab, streams: &[u32], least: f64) -> Result<Finding, Trouble> {
    let columns = outcomes(lab)?;
    let mut judge = Judge::new();
    for &stream in streams {
        for (name, column) in COLUMNS {
            let (program, gain) = (ROWS[stream as usize].0, over(&columns, stream, NATIVE, column));
            gain.show(&mut judge, format!("{program}, native/{name}"));
            let printed = printed(stream, NATIVE, column);
            let range = around(printed, least);
            let what = format!("{program}: native/{name} {}", words(&range));
            judge.demand(what, format!("{printed:.2}"), gain, gain.within(&range));
        }
    }
    show(&mut judge, &columns, streams);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// Demands that these programs take from so many to so many times as long under SSW-DSS and VTQ-DSS
/// as with the native library.
fn between(lab: &Lab, streams: &[u32], bounds: &[RangeInclusive<f64>; 2]) -> Result<Finding, Trouble> {
    let columns = outcomes(lab)?;
    let mut judge = Judge::new();
    for &stream in streams {
        for ((name, column), range) in COLUMNS.into_iter().zip(bounds) {
            let (program, change) = (ROWS[stream as usize].0, over(&columns, stream, column, NATIVE));
            change.show(&mut judge, format!("{program}, {name}/native"));
            let what = format!("{program}: {name}/native {}", words(range));
            let printed = format!("{:.2}", printed(stream, column, NATIVE));
            judge.demand(what, printed, change, change.within(range));
        }
    }
    show(&mut judge, &columns, streams);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-Tab2sp.
pub fn sp(lab: &Lab) -> Result<Finding, Trouble> {
    faster(lab, &[SP], 1.7)
}

/// N-Tab2ftmg.
pub fn ft_mg(lab: &Lab) -> Result<Finding, Trouble> {
    faster(lab, &[FT, MG], 1.3)
}

/// N-Tab2bt.
pub fn bt(lab: &Lab) -> Result<Finding, Trouble> {
    between(lab, &[BT], &[0.85..=1.15, 0.9..=1.25])
}

/// N-Tab2cg.
pub fn cg(lab: &Lab) -> Result<Finding, Trouble> {
    between(lab, &CGS, &[1.0..=1.4, 1.0..=1.4])
}

/// N-Tab2epd.
pub fn epd(lab: &Lab) -> Result<Finding, Trouble> {
    between(lab, &[EPD], &[1, 2].map(|column| around(printed(EPD, column, NATIVE), 1.15)))
}

/// N-Fig6-7.
pub fn instances(lab: &Lab) -> Result<Finding, Trouble> {
    let columns = outcomes(lab)?;
    let mut judge = Judge::new();
    let ended = |column: usize| -> Vec<f64> {
        columns[column].iter().map(|run| run.jobs.iter().filter(|job| job.stream == SP).count() as f64).collect()
    };
    let (native, gangs) = (Estimate::of(&ended(NATIVE)), Estimate::of(&ended(2)));
    judge.value("SP, VTQ", "", gangs).value("SP, native", "", native).value("SP, SSW", "", Estimate::of(&ended(1)));
    let ours = format!("{gangs} against {native}");
    let range = around(2.0, 1.5);
    let holds = range.contains(&(gangs.mean / native.mean)) && gangs.mean >= 1.0;
    let what = format!("instances of SP under VTQ/those of the native library {}", words(&range));
    judge.demand(what, "4 against 2", ours, holds);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// N-SSWvVTQ.
pub fn no_winner(lab: &Lab) -> Result<Finding, Trouble> {
    let columns = outcomes(lab)?;
    let mut judge = Judge::new();
    let mut faster_with_ssw = 0;
    for (stream, (name, _)) in (SP..).zip(ROWS) {
        let change = over(&columns, stream, 2, 1);
        faster_with_ssw += u32::from(change.estimate.mean > 1.0);
        change.show(&mut judge, format!("{name}, VTQ/SSW"));
        let what = format!("{name}: VTQ/SSW from 0.75 to 1.25");
        judge.demand(what, format!("{:.2}", printed(stream, 2, 1)), change, change.within(&(0.75..=1.25)));
    }
    judge.value("of seven, faster with SSW", "", Estimate::exact(f64::from(faster_with_ssw)));
    let said = "SP, FT and MG are much faster than with the native library, EPD is slower.";
    let mut figure = Figure::new(Shape::Bars, "Table 2: mean execution times", "program", "seconds", said);
    for (name, column) in [("native", NATIVE), COLUMNS[0], COLUMNS[1]] {
        let bars = (SP..)
            .zip(ROWS)
            .map(|(stream, row)| (row.0.to_owned(), Times::of_stream(&columns[column], stream).estimate()));
        figure = figure.with(name, bars);
        let paper = ROWS.map(|row| (row.0.to_owned(), Estimate::exact(row.1[column])));
        figure = figure.printed(format!("{name}, paper"), paper);
    }
    judge.figure(figure);
    Ok(judge.verdict(CAUSE_UNKNOWN))
}

/// The ratio for every program of its time with the native library.
pub fn gains(lab: &Lab) -> Result<Vec<(String, Estimate)>, Trouble> {
    let columns = outcomes(lab)?;
    let mut gains = Vec::new();
    for (name, column) in COLUMNS {
        for (stream, row) in (SP..).zip(ROWS) {
            gains.push((format!("Tab2, {}, {name}", row.0), over(&columns, stream, NATIVE, column).estimate));
        }
    }
    Ok(gains)
}
