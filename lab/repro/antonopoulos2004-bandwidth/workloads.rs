//! Table 1: the nine workloads in the paper's notation, and their arrivals.

use super::platform::{PROCESSORS, Platform};
use super::suite::Suite;
use crate::Trouble;
use numaestro_sim::workload::StreamPlan;

/// A row of table 1.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// `A.1`.
    pub id: &'static str,
    /// The composition as printed.
    pub composition: &'static str,
    /// Printed maximal degree of multiprogramming.
    pub degree: u32,
}

const fn row(id: &'static str, composition: &'static str, degree: u32) -> Workload {
    Workload { id, composition, degree }
}

/// Table 1.
pub const WORKLOADS: [Workload; 9] = [
    row("A.1", "2BT(3)+2CG(1)", 2),
    row("A.2", "4BT(1)+4CG(1)", 2),
    row("A.3", "2BT(4)+2CG(4)", 4),
    row("B.1", "2BT(1)+2SP(3)", 2),
    row("B.2", "4BT(1)+4SP(1)", 2),
    row("B.3", "2BT(4)+2SP(4)", 4),
    row("C.1", "(FT(1);FT(3))+(MG(3);MG(1))+(FT(3);FT(1))+(MG(1);MG(3))", 3),
    row("C.2", "4FT(1)+4MG(1)", 2),
    row("C.3", "2FT(4)+2MG(4)", 4),
];

/// An application with its number of threads.
pub type Instance = (String, u32);

/// Streams of instances: `A+B` side by side, `A;B` one after the other, `2A` twice.
pub fn parse(composition: &str) -> Option<Vec<Vec<Instance>>> {
    let mut streams = Vec::new();
    for term in composition.split('+') {
        let sequence = term.strip_prefix('(').and_then(|term| term.strip_suffix(')')).filter(|term| term.contains(';'));
        if let Some(sequence) = sequence {
            streams.push(sequence.split(';').map(instance).collect::<Option<Vec<_>>>()?);
        } else {
            let digits = term.find(|letter: char| !letter.is_ascii_digit())?;
            let count = if digits == 0 { 1 } else { term[..digits].parse().ok()? };
            let instance = instance(&term[digits..])?;
            streams.extend((0..count).map(|_| vec![instance.clone()]));
        }
    }
    Some(streams)
}

/// `BT(3)`.
fn instance(text: &str) -> Option<Instance> {
    let (name, threads) = text.strip_suffix(')')?.split_once('(')?;
    Some((name.to_owned(), threads.parse().ok()?))
}

impl Workload {
    /// Threads over processors while every stream is at its widest.
    pub fn widest(&self, processors: u32) -> Option<u32> {
        let streams = parse(self.composition)?;
        let threads: Option<u32> =
            streams.iter().map(|stream| stream.iter().map(|instance| instance.1).max()).sum::<Option<u32>>();
        Some(threads?.div_ceil(processors))
    }

    /// The workload as streams for so many processors: on a multiple of the paper's, every stream
    /// as many times.
    ///
    /// # Errors
    /// Its composition cannot be read, or there is no such program.
    pub fn plans(
        &self,
        platform: &Platform,
        suite: &Suite,
        managed: bool,
        processors: u32,
    ) -> Result<Vec<StreamPlan>, Trouble> {
        let streams = parse(self.composition).ok_or_else(|| Trouble::new(self.id, "its composition cannot be read"))?;
        let copies = (processors / PROCESSORS) as usize;
        let mut plans = Vec::new();
        for stream in streams.iter().flat_map(|stream| std::iter::repeat_n(stream, copies)) {
            let program = |(name, threads): &Instance| {
                if managed { suite.program(name, *threads) } else { suite.native(name, *threads) }
            };
            plans.push(platform.plan(stream.iter().map(program).collect::<Result<_, _>>()?));
        }
        Ok(plans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation() {
        let one = |name: &str, threads| (name.to_owned(), threads);
        assert_eq!(parse("2BT(3)+CG(1)").unwrap(), vec![vec![one("BT", 3)], vec![one("BT", 3)], vec![one("CG", 1)]]);
        assert_eq!(parse("(FT(1);MG(3))").unwrap(), vec![vec![one("FT", 1), one("MG", 3)]]);
        assert!(parse("2BT").is_none() && parse("BT(x)").is_none());
    }

    #[test]
    fn twice_the_processors_have_every_stream_twice() {
        let lab = crate::antonopoulos2004_bandwidth::tests::lab(&[]);
        let (platform, suite) = (Platform::of(&lab).unwrap(), Suite::of(&lab).unwrap());
        for workload in WORKLOADS {
            let streams = |processors| workload.plans(&platform, &suite, true, processors).unwrap().len();
            assert_eq!(streams(8), 2 * streams(4), "{}", workload.id);
            let native = workload.plans(&platform, &suite, false, 4).unwrap();
            assert!(native.iter().flat_map(|plan| &plan.programs).all(|program| !program.recovers));
        }
    }
}
