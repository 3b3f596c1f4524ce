//! Shows the progress on a terminal: a bar with the time left. Silent where stderr is no terminal.

use crate::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A bar over applications, or over runs where their number is not known.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Applications of each run.
    jobs: Option<u64>,
}

impl Progress {
    /// For this many runs, of this many applications each.
    pub fn new(runs: u64, jobs: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(runs * jobs.unwrap_or(1)), ProgressDrawTarget::stderr());
        if std::io::stderr().is_terminal() {
            let unit = if jobs.is_some() { "applications" } else { "runs" };
            let template =
                format!("{{bar:30}} {{human_pos}} of {{human_len}} {unit}, {{elapsed}}, {{eta}} left{{msg}}");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
        } else {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Self { bar, jobs }
    }

    /// An application has ended.
    pub fn job(&self) {
        if self.jobs.is_some() {
            self.bar.inc(1);
        }
    }

    /// A run has ended.
    pub fn run(&self) {
        if self.jobs.is_none() {
            self.bar.inc(1);
        }
    }

    /// Something else to know, behind the bar.
    pub fn say(&self, text: &str) {
        self.bar.set_message(format!("; {text}"));
    }

    /// A line that stays, above the bar.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| say::note(text));
    }

    /// A run was done before.
    pub fn had(&self) {
        self.bar.inc(self.jobs.unwrap_or(1));
        self.bar.reset_eta();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
