//! The report: for people, for programs, and as a page.

use super::verdict::{Errors, Ratio, Verdict};
use crate::columns;
use crate::recordings::in_words;
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
    /// All that ran, in their order.
    pub policies: Vec<String>,
    /// Seconds from the first arrival to the last end; absent where nothing ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub makespan_s: Option<f64>,
    /// Mean seconds from arrival to end; absent where no program ran as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turnaround_s: Option<f64>,
    /// What ran, simulated, against what happened; absent where nothing ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
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
        if !self.verdicts.is_empty() {
            let rows: Vec<[String; 5]> = std::iter::once(HEADS.map(str::to_owned)).chain(self.rows()).collect();
            text += &columns::headed(&rows, colours);
            text.push('\n');
        }
        let _ = writeln!(text, "{}", self.sentence);
        for remark in self.remarks() {
            let _ = writeln!(text, "{remark}");
        }
        text
    }

    /// What is to be known behind the conclusion.
    fn remarks(&self) -> Vec<String> {
        let badly = |verdict: &Verdict| {
            let remark = format!("{} is foretold badly, because {}", verdict.policy, verdict.foretold_badly?);
            (!self.sentence.contains(&remark)).then_some(remark)
        };
        let left_out = self.left_out.iter().map(|left_out| format!("not tried: {left_out}"));
        self.verdicts.iter().filter_map(badly).chain(left_out).collect()
    }

    /// What is to be known before the predictions.
    fn about(&self) -> Vec<String> {
        let signed = |share: f64| format!("{:+.1} %", share * 100.0);
        let closed = match self.streams {
            0 => String::new(),
            some => format!(", {} of programs one after the other", counted(some, "stream")),
        };
        let took = match (self.makespan_s, self.turnaround_s) {
            (None, _) => "nothing ended".to_owned(),
            (Some(makespan), None) => format!("{makespan:.3} s, no program began and ended in it"),
            (Some(makespan), Some(turnaround)) => format!("{makespan:.3} s, mean turnaround {turnaround:.3} s"),
        };
        let programs = counted(self.programs.len(), "program");
        let ran = in_words(&self.policies);
        let mut about = vec![format!("{}: {programs}{closed}, policy {ran}, {took}", self.recording)];
        if let Some(errors) = &self.errors {
            let mut line = format!("simulated as it was: makespan {}", signed(errors.makespan));
            if let (Some(turnaround), Some(median)) = (errors.turnaround, errors.median) {
                let half = format!("half of the programs within {:.1} %", median * 100.0);
                let _ = write!(line, ", mean turnaround {}, {half}", signed(turnaround));
            }
            about.push(line);
        }
        if let Some(Coarseness { cycles }) = self.coarser {
            let longer = if cycles > 1 { format!(", with {cycles} times as long phases") } else { String::new() };
            about.push(format!("a long recording: programs are simulated as speedup curves, without threads{longer}"));
        }
        if self.errors.is_some() && !self.assumed.is_empty() {
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
        let ratio = |ratio: Option<Ratio>| {
            let shown = |ratio: Ratio| format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high);
            ratio.map_or_else(|| "not known".to_owned(), shown)
        };
        self.verdicts.iter().map(move |verdict| {
            [
                if self.policies == [verdict.policy.as_str()] {
                    format!("{} (it ran)", verdict.policy)
                } else {
                    verdict.policy.clone()
                },
                ratio(verdict.makespan),
                ratio(verdict.turnaround),
                verdict.better.len().to_string(),
                verdict.worse.len().to_string(),
            ]
        })
    }

    fn policies_of_page(&self, body: &mut String) {
        body.push_str(
            "<h2>Policies</h2>\n<p>Ratios to what ran, both simulated: the mean, and the bounds that assumptions and \
             seeds leave.</p>\n",
        );
        table(body, &HEADS, self.rows().map(|row| row.to_vec()));
    }

    /// As a page that needs nothing from elsewhere.
    pub fn page(&self) -> String {
        let mut body = format!("<h1>What if?</h1>\n<p class=\"verdict\">{}</p>\n", escaped(&self.sentence));
        for line in self.about() {
            let _ = writeln!(body, "<p>{}</p>", escaped(&line));
        }
        if !self.verdicts.is_empty() {
            self.policies_of_page(&mut body);
        }
        body += "<h2>Programs</h2>\n";
        table(&mut body, &["program", "turnaround", "speedups", "assumed"], self.programs.iter().map(cells));
        for remark in self.remarks() {
            let _ = writeln!(body, "<p>{}</p>", escaped(&remark));
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
