//! The report: for people, for programs, and as a page.

use super::verdict::{Errors, Ratio, Verdict};
use crate::columns;
use crate::say::{self, counted};
use crate::sim::html::{document, escaped};
use numaestro_sim::learn::coarse::Coarseness;
use numaestro_sim::learn::mix::Member;
use serde::Serialize;
use std::fmt::Write;

/// A program of the recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Program {
    /// Its name and number.
    pub name: String,
    /// Seconds from its arrival to its end; absent for one that was not recorded as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turnaround_s: Option<f64>,
    /// Processors and speedup.
    pub speedups: Vec<(u32, f64)>,
    /// Numbers of processors whose speedup is assumed.
    pub assumed: Vec<u32>,
}

impl Program {
    /// Of a member. `turnaround`: nanoseconds.
    pub fn of(member: &Member, turnaround: Option<f64>) -> Self {
        let program = &member.program;
        Self {
            name: program.name.clone(),
            turnaround_s: turnaround.map(|ns| ns / 1e9),
            speedups: program.curve.clone(),
            assumed: program.assumed.clone(),
        }
    }
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Its name.
    pub recording: String,
    /// The policy at its begin.
    pub policy: String,
    /// Seconds from the first arrival to the last end.
    pub makespan_s: f64,
    /// Mean seconds from arrival to end.
    pub turnaround_s: f64,
    /// The policy that ran, simulated, against what happened.
    pub errors: Errors,
    /// The conclusion.
    pub sentence: String,
    /// Each policy.
    pub verdicts: Vec<Verdict>,
    /// Each program.
    pub programs: Vec<Program>,
    /// Users who started one program after the other (closed arrivals).
    pub streams: usize,
    /// Programs some of whose speedups are assumed.
    pub assumed: Vec<String>,
    /// Load outside kept processors busy; the simulation has none.
    pub had_load: bool,
    /// The recording is long, and was simulated in coarser steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coarser: Option<Coarseness>,
    /// Usual policies that cannot run there, with the reason.
    pub left_out: Vec<String>,
}

const HEADS: [&str; 5] = ["policy", "makespan", "mean turnaround", "better for", "worse for"];

impl Report {
    /// For people.
    pub fn words(&self) -> String {
        let mut text = self.about().join("\n") + "\n\n";
        let colours = say::colours(&std::io::stdout());
        let rows: Vec<[String; 5]> = std::iter::once(HEADS.map(str::to_owned)).chain(self.rows()).collect();
        text += &columns::headed(&rows, colours);
        let _ = writeln!(text, "\n{}", self.sentence);
        for left_out in &self.left_out {
            let _ = writeln!(text, "not tried: {left_out}");
        }
        text
    }

    /// What is to be known before the predictions.
    fn about(&self) -> Vec<String> {
        let signed = |share: f64| format!("{:+.1} %", share * 100.0);
        let closed = match self.streams {
            0 => String::new(),
            some => format!(", {} of programs one after the other", counted(some, "stream")),
        };
        let mut about = vec![
            format!(
                "{}: {}{closed}, policy {}, {:.3} s, mean turnaround {:.3} s",
                self.recording,
                counted(self.programs.len(), "program"),
                self.policy,
                self.makespan_s,
                self.turnaround_s
            ),
            format!(
                "simulated as it was: makespan {}, mean turnaround {}, half of the programs within {:.1} %",
                signed(self.errors.makespan),
                signed(self.errors.turnaround),
                self.errors.median * 100.0
            ),
        ];
        if let Some(Coarseness { cycles, meetings }) = self.coarser {
            about.push(format!(
                "a long recording, simulated in coarser steps: {cycles} times as long phases, teams meet up to {meetings} \
                 times as rarely"
            ));
        }
        if !self.assumed.is_empty() {
            about.push(format!(
                "nobody has measured all speedups of {}: they are assumed between two bounds",
                self.assumed.join(", ")
            ));
        }
        if self.had_load {
            about.push("load outside took processors at times; the simulation has none".to_owned());
        }
        about
    }

    fn rows(&self) -> impl Iterator<Item = [String; 5]> {
        let ratio = |ratio: Ratio| format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high);
        self.verdicts.iter().map(move |verdict| {
            [
                verdict.policy.clone(),
                ratio(verdict.makespan),
                ratio(verdict.turnaround),
                verdict.better.len().to_string(),
                verdict.worse.len().to_string(),
            ]
        })
    }

    /// As a page that needs nothing from elsewhere.
    pub fn page(&self) -> String {
        let mut body = format!("<h1>What if?</h1>\n<p class=\"verdict\">{}</p>\n", escaped(&self.sentence));
        for line in self.about() {
            let _ = writeln!(body, "<p>{}</p>", escaped(&line));
        }
        body += "<h2>Policies</h2>\n<p>Ratios to the policy that ran, both simulated: the mean, and the bounds that assumptions and seeds leave.</p>\n";
        table(&mut body, &HEADS, self.rows().map(|row| row.to_vec()));
        body += "<h2>Programs</h2>\n";
        table(&mut body, &["program", "turnaround", "speedups", "assumed"], self.programs.iter().map(cells));
        for left_out in &self.left_out {
            let _ = writeln!(body, "<p>Not tried: {}</p>", escaped(left_out));
        }
        let footer = format!("numaestro {} what-if", env!("CARGO_PKG_VERSION"));
        document(&format!("What if: {}", escaped(&self.recording)), &body, &footer)
    }
}

fn cells(program: &Program) -> Vec<String> {
    let speedups = program.speedups.iter().map(|(processors, speedup)| format!("{speedup:.2} on {processors}"));
    let assumed = program.assumed.iter().map(u32::to_string);
    vec![
        program.name.clone(),
        program.turnaround_s.map_or_else(|| "not whole".to_owned(), |seconds| format!("{seconds:.3} s")),
        speedups.collect::<Vec<_>>().join(", "),
        assumed.collect::<Vec<_>>().join(", "),
    ]
}

fn table(body: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    body.push_str("<table>\n");
    row(body, "th", heads.iter().map(|head| (*head).to_owned()));
    for cells in rows {
        row(body, "td", cells.into_iter());
    }
    body.push_str("</table>\n");
}

fn row(body: &mut String, tag: &str, cells: impl Iterator<Item = String>) {
    body.push_str("<tr>");
    for cell in cells {
        let _ = write!(body, "<{tag}>{}</{tag}>", escaped(&cell));
    }
    body.push_str("</tr>\n");
}
