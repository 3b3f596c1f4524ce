//! The programs as the runs alone have shown them.

use super::campaign::Entry;
use numaestro_sim::learn::{LearnedProgram, Measured, Unfit, fit};
use std::collections::BTreeMap;

/// The programs that have run alone, in order of their first run. Of the runs on a number of
/// processors the median counts.
///
/// # Errors
/// A program has run in no time.
pub fn learned(entries: &[Entry]) -> Result<Vec<LearnedProgram>, Unfit> {
    let mut names: Vec<&str> = Vec::new();
    let mut runs: BTreeMap<&str, BTreeMap<u32, Vec<Measured>>> = BTreeMap::new();
    let mut said = BTreeMap::new();
    for entry in entries {
        match entry {
            Entry::Alone { program, run } => {
                if !runs.contains_key(program.as_str()) {
                    names.push(program);
                }
                runs.entry(program).or_default().entry(run.widest()).or_default().push(run.clone());
            }
            Entry::Said { program, said: words } => _ = said.insert(program.as_str(), words),
            Entry::Command { .. } | Entry::Run { .. } => {}
        }
    }
    let one = |name: &str| {
        let mut medians: Vec<Measured> =
            runs.get(name).into_iter().flatten().filter_map(|(_, runs)| Measured::median(runs.clone())).collect();
        if let (Some(widest), Some(said)) = (medians.last_mut(), said.get(name)) {
            *widest = (*said).clone().with(std::mem::take(widest));
        }
        fit(name, &medians)
    };
    names.into_iter().map(one).collect()
}

/// One line about a program.
pub fn summary(learned: &LearnedProgram) -> String {
    let lengths = learned.curve.iter().map(|&(n, _)| format!("{:.2} s on {n}", learned.length_on(n) / 1e9));
    let reports = if learned.analysis.is_some() { ", reports its speedup" } else { "" };
    format!("{}, {} regions{reports}", lengths.collect::<Vec<_>>().join(", "), learned.regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::learn::Said;

    const MS: u64 = 1_000_000;

    fn alone(program: &str, processors: u32, ms: u64) -> Entry {
        Entry::Alone { program: program.to_owned(), run: Measured::busy(processors, ms * MS) }
    }

    #[test]
    fn medians_of_all_rounds_make_a_program() {
        let said = Said { regions: 40, reports: Vec::new() };
        let entries = [
            alone("b", 1, 900),
            alone("b", 2, 700),
            Entry::Said { program: "b".to_owned(), said },
            alone("a", 1, 100),
            alone("b", 1, 1000),
            alone("b", 2, 500),
            alone("b", 1, 5000),
            alone("b", 2, 100),
        ];
        let found = learned(&entries).expect("programs");
        let names: Vec<&str> = found.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!((found[0].regions, found[1].regions), (40, 0));
        assert!((found[0].length_on(1) - 1000.0 * MS as f64).abs() < 1e3, "{:?}", found[0]);
        assert!((found[0].length_on(2) - 500.0 * MS as f64).abs() < 1e3, "{:?}", found[0]);
        assert_eq!(found[1].processors, 1);
        assert!(summary(&found[0]).contains("1.00 s on 1, 0.50 s on 2, 40 regions"));
    }
}
