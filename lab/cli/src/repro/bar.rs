//! The progress bar of `repro`: on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// A bar over so many of these.
pub fn bar(number: usize, of: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(number as u64), ProgressDrawTarget::stderr());
    if std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template(&format!(
            "{{bar:30}} {{pos}} of {{len}} {of}, {{elapsed}}, {{eta}} left  {{msg}}"
        ));
        if let Ok(style) = style {
            bar.set_style(style);
        }
    } else {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}
