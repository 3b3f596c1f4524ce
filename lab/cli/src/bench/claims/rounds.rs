//! Rounds: every set-up once in each, so that a change of the machine's pace meets all of them
//! alike, and none is always the first. A run beside which others used too much of the machine is
//! repeated, a limited number of times.

use std::io::IsTerminal;
use std::time::Instant;

use anyhow::Result;

use super::super::load::{self, Gate, Verdict, Window};

/// What the rounds of one claim are like, and what was beside them so far.
#[derive(Debug)]
pub struct Rounds {
    number: u32,
    /// Share of the machine (0 to 1) that others may use during a run.
    limit: f64,
    /// Runs of each set-up that may be rejected.
    tries: u32,
    processors: usize,
    largest: f64,
    noisy: bool,
}

impl Rounds {
    /// So many rounds, beside which others may use the share `limit` of `processors` processors.
    pub fn new(rounds: u32, limit: f64, tries: u32, processors: usize) -> Self {
        Self { number: rounds, limit, tries, processors, largest: 0.0, noisy: false }
    }

    /// Calls `once` with the number of each set-up in each round; gives their values, in the order
    /// of rounds.
    pub fn run<const SETUPS: usize>(
        &mut self,
        mut once: impl FnMut(usize) -> Result<(f64, Window)>,
    ) -> Result<[Vec<f64>; SETUPS]> {
        let mut values: [Vec<f64>; SETUPS] = std::array::from_fn(|_| Vec::new());
        let mut gates: [Gate; SETUPS] = std::array::from_fn(|_| Gate::new(self.limit, self.tries));
        let since = Instant::now();
        for round in 0..self.number {
            for place in 0..SETUPS {
                let which = (place + round as usize) % SETUPS;
                values[which].push(self.admitted(&mut gates[which], || once(which))?);
            }
            tell(round + 1, self.number, since);
        }
        Ok(values)
    }

    /// The value of the first run that counts.
    fn admitted(&mut self, gate: &mut Gate, mut once: impl FnMut() -> Result<(f64, Window)>) -> Result<f64> {
        loop {
            let (value, window) = once()?;
            if gate.admit(&window) {
                self.largest = self.largest.max(window.foreign());
                self.noisy |= window.verdict(self.limit) == Verdict::Noisy;
                return Ok(value);
            }
            load::await_quiet(self.limit, self.processors);
        }
    }

    /// Largest share of the machine (0 to 1) that others used in a run that counts, and whether one
    /// had to count although it was too much.
    pub fn beside(&self) -> (f64, bool) {
        (self.largest.min(1.0), self.noisy)
    }
}

fn tell(done: u32, rounds: u32, since: Instant) {
    if std::io::stderr().is_terminal() || done == rounds {
        let spent = since.elapsed().as_secs_f64();
        let left = spent / f64::from(done) * f64::from(rounds - done);
        eprintln!("  {done} of {rounds} rounds, {spent:.0} s, about {left:.0} s left");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(foreign_s: f64) -> Window {
        Window { length_s: 1.0, processors: 2, busy_s: 1.0 + foreign_s, steal_s: 0.0, own_s: 1.0 }
    }

    #[test]
    fn each_round_has_every_set_up_and_another_first() {
        let mut order = Vec::new();
        let values = Rounds::new(3, 0.06, 0, 2).run::<3>(|which| {
            order.push(which);
            Ok((which as f64, window(0.0)))
        });
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(values.unwrap(), [vec![0.0; 3], vec![1.0; 3], vec![2.0; 3]]);
    }

    #[test]
    fn a_disturbed_run_is_repeated_until_the_tries_are_over() {
        // The first set-up is disturbed in its first two runs, so one try is not enough.
        let mut loads = vec![0.0, 0.5, 0.4];
        let mut rounds = Rounds::new(1, 0.06, 1, 2);
        let values = rounds.run::<1>(|_| Ok((loads.len() as f64, window(loads.pop().unwrap()))));
        assert_eq!(values.unwrap(), [vec![2.0]]);
        let (largest, noisy) = rounds.beside();
        assert!(noisy && (largest - 0.25).abs() < 1e-9);
    }
}
