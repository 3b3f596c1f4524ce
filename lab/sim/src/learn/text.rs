//! The text of a learned program, as files of programs have it.
//!
//! Parallel stretches are divided into as many meetings as the program had, so that a team leaves
//! its processors as often as it did. A program that measures its speedup gets a loop, because the
//! simulator times rounds of loops: its first report comes after [`ROUNDS_BEFORE_REPORT`] of them.
//!
//! A program that is simulated without threads is a curve with stretches.

use super::measured::Activity;
use super::program::{LearnedProgram, Stretch};
use crate::Nanos;
use std::fmt::Write;

/// Rounds until the first report: one warms up, one has one thread, one has the whole team.
const ROUNDS_BEFORE_REPORT: u64 = 3;
/// Work between two meetings where nobody knows them, nanoseconds on one processor.
const MEETING_NS: Nanos = 1_000_000;
/// Most meetings of a run: more only take time to simulate.
const MEETINGS_MOST: u64 = 20_000;
/// Time that OpenMP's runtimes spin before they leave a processor.
const SPIN: &str = "3 ms";
/// More rounds than a program has: it never reports.
const NEVER: u32 = 1 << 20;

impl LearnedProgram {
    /// A `[[program]]` table.
    pub fn to_toml(&self) -> String {
        self.to_toml_with("")
    }

    /// The same with further lines, each with its newline.
    pub fn to_toml_with(&self, further: &str) -> String {
        let mut out = String::new();
        self.remarks(&mut out);
        let name = toml::Value::String(self.name.clone());
        let source = self.phase_source.word();
        let _ = writeln!(out, "[[program]]\nname = {name}\nprocessors = {}\nvacates = \"at-once\"", self.processors);
        let _ = writeln!(out, "phase_source = \"{source}\"");
        out.push_str(further);
        if self.is_curve {
            self.stretches(&mut out);
        } else {
            self.phases(&mut out);
        }
        out
    }

    fn phases(&self, out: &mut String) {
        let analyzer = match self.analysis {
            Some(_) => "{ warm = 1, measured = 1, baseline = 1 }".to_owned(),
            None => format!("{{ warm = {NEVER} }}"),
        };
        let _ = writeln!(out, "analyzer = {analyzer}\nphases = [");
        let phases: Vec<String> = self.stretches.iter().map(|stretch| self.phase(stretch)).collect();
        if self.times > 1 {
            let _ = writeln!(out, "    {{ do = \"repeat\", times = {}, phases = [", self.times);
            for phase in phases {
                let _ = writeln!(out, "        {phase},");
            }
            out.push_str("    ] },\n");
        } else {
            for phase in phases {
                let _ = writeln!(out, "    {phase},");
            }
        }
        out.push_str("]\n");
    }

    /// The same as a curve. It reports after each of its `iterations` but the last one.
    fn stretches(&self, out: &mut String) {
        let reports = self.analysis.map_or(1, |analysis| {
            let wall = self.amount_of(Activity::Parallel) as f64 / self.speedup(self.processors);
            (libm::round(wall / analysis.first_ns as f64) as u64).clamp(1, u64::from(NEVER))
        });
        let word = |activity| match activity {
            Activity::Serial => "serial",
            Activity::Paused => "pause",
            Activity::Parallel => "parallel",
        };
        let stretch =
            |stretch: &Stretch| format!("{{ {} = \"{} ns\" }}", word(stretch.activity), stretch.amount_ns.max(1));
        let all: Vec<String> = self.stretches.iter().map(stretch).collect();
        let _ = writeln!(
            out,
            "analyzer = {{ iterations = {reports} }}\ncurve = {{ table = [{}] }}\nstretches = [{}]\ntimes = {}",
            self.table(),
            all.join(", "),
            self.times
        );
    }

    /// Its curve as files have it.
    fn table(&self) -> String {
        let points: Vec<String> = self.curve.iter().map(|(n, speedup)| format!("[{n}, {speedup:.5}]")).collect();
        points.join(", ")
    }

    /// The numbers that a person wants to see first, as comments.
    fn remarks(&self, out: &mut String) {
        let seconds = |ns: f64| format!("{:.3} s", ns / 1e9);
        let lengths = self.curve.iter().map(|&(n, _)| format!("{} on {n}", seconds(self.length_on(n))));
        let amount = |activity| seconds(self.amount_of(activity) as f64);
        let _ = writeln!(
            out,
            "# Alone: {}; residual {:.1} %.",
            lengths.collect::<Vec<_>>().join(", "),
            self.residual * 100.0
        );
        let _ = writeln!(
            out,
            "# Serial {}, paused {}, parallel work {}, {}.",
            amount(Activity::Serial),
            amount(Activity::Paused),
            amount(Activity::Parallel),
            if self.regions > 0 { format!("{} regions", self.regions) } else { "regions not known".to_owned() }
        );
        for n in &self.assumed {
            let _ = writeln!(out, "# The speedup on {n} processors is assumed: no run and no report says it.");
        }
    }

    fn phase(&self, stretch: &Stretch) -> String {
        let amount = stretch.amount_ns.max(1);
        match stretch.activity {
            Activity::Serial => format!("{{ do = \"serial\", work = \"{amount} ns\" }}"),
            Activity::Paused => format!("{{ do = \"pause\", time = \"{amount} ns\" }}"),
            Activity::Parallel => self.parallel(amount),
        }
    }

    fn parallel(&self, work: Nanos) -> String {
        let rounds = match self.analysis {
            Some(analysis) => {
                let wall = work as f64 / self.speedup(self.processors);
                (libm::round(wall * ROUNDS_BEFORE_REPORT as f64 / analysis.first_ns as f64) as u64)
                    .clamp(1, u64::from(NEVER))
            }
            None => 1,
        };
        let meetings = self.meetings(work).div_ceil(rounds).max(1);
        let each = (work / rounds / meetings).max(1);
        let region = format!(
            "{{ do = \"parallel\", iterations = {meetings}, work = \"{each} ns\", wait = {{ spin_then_block = \"{SPIN}\" }}, \
             curve = {{ table = [{}] }} }}",
            self.table()
        );
        if self.analysis.is_some() {
            format!("{{ do = \"repeat\", times = {rounds}, phases = [{region}] }}")
        } else {
            region
        }
    }

    /// Meetings of so much of its work.
    fn meetings(&self, work: Nanos) -> u64 {
        let share = work as f64 / self.amount_of(Activity::Parallel).max(1) as f64;
        (libm::round(self.meetings_in_all() as f64 * share) as u64).max(1)
    }

    /// Meetings of its whole run, as it is simulated.
    pub(super) fn meetings_in_all(&self) -> u64 {
        let usual = self.amount_of(Activity::Parallel) / MEETING_NS;
        let known = if self.regions > 0 { self.regions } else { usual };
        known.min(MEETINGS_MOST)
    }
}
