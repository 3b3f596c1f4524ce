//! The comparison as text for a terminal.

use super::campaign::Entry;
use super::learned::summary;
use super::mixes::{Mix, Mixes};
use crate::columns::{Side, lines};
use numaestro_sim::learn::LearnedProgram;
use numaestro_sim::validation::{Comparison, MEDIAN_MOST, P90_MOST, Pair, Quantity, RIGHT_LEAST};
use std::fmt::Write;

/// The mixes, one a line.
pub fn of_mixes(mixes: &Mixes, chosen: &[&Mix]) -> String {
    let row = |mix: &&Mix| {
        let arrival = |&(at, program): &(u64, usize)| {
            let name = &mixes.programs[program].name;
            if at < 500_000_000 { name.clone() } else { format!("{name} at {:.1} s", at as f64 / 1e9) }
        };
        let programs: Vec<String> = mix.arrivals.iter().map(arrival).collect();
        [mix.name.clone(), programs.join(", "), mix.policies.join(", ")]
    };
    lines(&chosen.iter().map(row).collect::<Vec<_>>(), Side::Left).join("\n") + "\n"
}

/// The whole comparison.
pub fn of(comparison: &Comparison, programs: &[LearnedProgram], entries: &[Entry]) -> String {
    let mut out = alone(programs);
    out.push_str(&cells(comparison));
    let _ = writeln!(out, "\nmeasured: median of the runs ± its standard error; error: simulated less measured");
    out.push_str(&wrong_pairs(comparison));
    for line in conclusions(comparison) {
        let _ = writeln!(out, "{line}");
    }
    let noisy = entries.iter().filter(|entry| matches!(entry, Entry::Run { noisy: true, .. })).count();
    if noisy > 0 {
        let _ = writeln!(out, "{noisy} runs had others beside them, because no quieter ones could be had");
    }
    out
}

fn alone(programs: &[LearnedProgram]) -> String {
    let row = |program: &LearnedProgram| {
        [program.name.clone(), format!("{:.1} %", program.residual * 100.0), summary(program)]
    };
    let head = ["program", "residual", "alone"].map(str::to_owned);
    let rows: Vec<[String; 3]> = std::iter::once(head).chain(programs.iter().map(row)).collect();
    lines(&rows, Side::Left).join("\n") + "\n\n"
}

fn cells(comparison: &Comparison) -> String {
    let head = ["mix", "policy", "makespan s", "simulated", "error", "turnaround s", "simulated", "error"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for cell in comparison.cells() {
        let [makespan, turnaround] = Quantity::ALL.map(|quantity| {
            let measured = cell.measured(quantity) / 1e9;
            [
                format!("{measured:.2} ± {:.2}", cell.noise(quantity) * measured),
                format!("{:.2}", cell.simulated.value(quantity) as f64 / 1e9),
                format!("{:+.1} %", cell.error(quantity) * 100.0),
            ]
        });
        let row = [vec![cell.mix.clone(), cell.policy.clone()], makespan.to_vec(), turnaround.to_vec()].concat();
        rows.push(row);
    }
    lines(&rows, Side::Right).join("\n") + "\n"
}

/// One line about a pair.
pub fn sentence(pair: &Pair) -> String {
    format!(
        "{}: {} of {} by {}: measured {:.3}, simulated {:.3}",
        pair.mix,
        pair.quantity.name(),
        pair.policies[0],
        pair.policies[1],
        pair.measured,
        pair.simulated
    )
}

fn wrong_pairs(comparison: &Comparison) -> String {
    let wrong: Vec<String> = comparison
        .pairs()
        .iter()
        .filter(|pair| !pair.is_right())
        .map(|pair| format!("  {}\n", sentence(pair)))
        .collect();
    if wrong.is_empty() { String::new() } else { format!("\npolicies in the wrong order:\n{}", wrong.concat()) }
}

/// One line for each bound.
pub fn conclusions(comparison: &Comparison) -> Vec<String> {
    let word = |holds: bool| if holds { "holds" } else { "FAILS" };
    let mut said = Vec::new();
    for quantity in Quantity::ALL {
        let Some(errors) = comparison.errors(quantity) else { continue };
        said.push(format!(
            "{}: error of {}: median {:.1} % (at most {:.0}), 90th percentile {:.1} % (at most {:.0}), largest {:.1} %, of {} cells",
            word(errors.median <= MEDIAN_MOST && errors.p90 <= P90_MOST),
            quantity.name(),
            errors.median * 100.0,
            MEDIAN_MOST * 100.0,
            errors.p90 * 100.0,
            P90_MOST * 100.0,
            errors.largest * 100.0,
            comparison.cells().len()
        ));
    }
    let pairs = comparison.pairs();
    match comparison.right() {
        Some(right) => said.push(format!(
            "{}: the better of two policies told right in {:.0} % (at least {:.0}) of {} pairs that differ by more than the noise",
            word(right >= RIGHT_LEAST),
            right * 100.0,
            RIGHT_LEAST * 100.0,
            pairs.len()
        )),
        None => said.push("FAILS: no pair of policies differs by more than the noise".to_owned()),
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_sim::validation::{Cell, Times};

    fn comparison(simulated: u64) -> Comparison {
        let times = |makespan: u64| Times { makespan: makespan * 1_000_000, turnaround: makespan * 500_000 };
        let cell = |policy: &str, measured: u64, simulated: u64| Cell {
            mix: "two".to_owned(),
            policy: policy.to_owned(),
            runs: vec![times(measured)],
            simulated: times(simulated),
        };
        Comparison::new(vec![cell("equi", 1000, simulated), cell("batch", 1400, 1450)])
    }

    #[test]
    fn bounds_that_hold_and_bounds_that_fail_are_told() {
        let good = of(&comparison(1030), &[], &[]);
        assert!(good.contains("+3.0 %") && !good.contains("FAILS") && !good.contains("wrong order"), "{good}");
        let bad = of(&comparison(2000), &[], &[]);
        assert!(bad.contains("+100.0 %") && bad.contains("FAILS"), "{bad}");
        assert!(bad.contains("two: makespan of equi by batch: measured 0.714, simulated 1.379"), "{bad}");
        assert!(of(&Comparison::default(), &[], &[]).contains("FAILS"));
    }
}
