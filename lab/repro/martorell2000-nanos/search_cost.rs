//! The cost of the search for a number of processors: the time that programs would have saved if
//! each had been given at its start the number that the search has left it with. The time that a
//! search lasts says nothing of this: a program works all the while, with nearly as many processors
//! near its end.

use super::programs;
use super::runs::Told;
use crate::{Lab, Trouble};
use numaestro_engine::AppId;
use numaestro_sim::speedup::Curve;

/// The speedup curves of the programs of section 6.
#[derive(Debug)]
pub struct Curves(Vec<(String, Curve)>);

impl Curves {
    /// The curve of each program that is measured.
    pub fn read(lab: &Lab) -> Result<Self, Trouble> {
        let curve = |name: &str| Ok::<_, Trouble>((name.to_owned(), programs::curve(lab, name)?));
        programs::measured().map(curve).collect::<Result<_, _>>().map(Self)
    }

    fn of(&self, program: &str) -> Option<&Curve> {
        self.0.iter().find(|(name, _)| name == program).map(|(_, curve)| curve)
    }

    /// Part of the programs' run times that their searches have cost, percent.
    pub fn cost_percent(&self, told: &Told) -> f64 {
        let (mut lost, mut all) = (0.0, 0.0);
        for (&app, program) in &told.programs {
            if let (Some(curve), Some(steps)) = (self.of(program), steps(told, app)) {
                let found = curve.speedup(steps.last().map_or(1, |step| step.1));
                lost += steps.iter().map(|&(ns, count)| ns * (1.0 - curve.speedup(count) / found)).sum::<f64>();
                all += steps.iter().map(|step| step.0).sum::<f64>();
            }
        }
        100.0 * lost / all
    }
}

/// The length of each step of an application, nanoseconds, and its processors; none if it has not
/// ended.
fn steps(told: &Told, app: AppId) -> Option<Vec<(f64, u32)>> {
    let counts: Vec<_> = told.counts.iter().filter(|count| count.1 == app).collect();
    let ends = counts.iter().skip(1).map(|count| count.0).chain([*told.ends.get(&app)?]);
    Some(counts.iter().zip(ends).map(|(count, end)| ((end - count.0) as f64, count.2.max(1))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds on one processor and ninety on two, which is twice as fast: half of the ten are
    /// lost.
    #[test]
    fn a_search_costs_what_the_final_number_would_have_saved() {
        let curves = Curves(vec![("p".to_owned(), Curve::Linear)]);
        let mut told = Told::default();
        let app = AppId(1);
        told.programs.insert(app, "p".to_owned());
        told.counts = vec![(0, app, 1, false), (10, app, 2, false)];
        told.ends.insert(app, 100);
        assert!((curves.cost_percent(&told) - 5.0).abs() < 1e-9);
        told.counts = vec![(0, app, 2, false)];
        assert!(curves.cost_percent(&told).abs() < 1e-9, "no search, no cost");
    }
}
