//! `numaestro repro run`.

use super::args::RunArgs;
use super::choose::{Chosen, choose};
use super::{document, page, table};
use crate::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use numaestro_repro::{Finding, Lab, Statistics};
use std::io::IsTerminal;

/// A claim and its finding.
pub type Judged = (Chosen, Finding);

/// Checks the claims that are meant and shows the findings.
pub fn run(args: &RunArgs) -> anyhow::Result<u8> {
    let chosen = choose(&args.claims, args.paper.as_deref())?;
    let statistics = if args.quick { Statistics::Quick } else { Statistics::Full };
    let judged = judge(&chosen, &Lab::new(statistics));
    if let Some(file) = &args.html {
        document::write_text(file, &page::page(&judged, statistics))?;
    }
    if let Some(file) = &args.json {
        document::write(file, &document::findings(&judged, statistics))?;
        if document::is_stdout(file) {
            return Ok(say::OK);
        }
    }
    say::print(&table::table(&judged, args.evidence, say::colours(&std::io::stdout())))?;
    Ok(say::OK)
}

/// One claim after the other; each uses all cores for its runs, and reuses the runs of earlier
/// ones.
fn judge(chosen: &[Chosen], lab: &Lab) -> Vec<Judged> {
    let bar = ProgressBar::with_draw_target(Some(chosen.len() as u64), ProgressDrawTarget::stderr());
    if std::io::stderr().is_terminal() {
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos} of {len} claims, {elapsed}  {msg}") {
            bar.set_style(style);
        }
    } else {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let judged = chosen
        .iter()
        .map(|&(paper, claim)| {
            bar.set_message(claim.id);
            let finding = claim.judge(lab);
            bar.inc(1);
            ((paper, claim), finding)
        })
        .collect();
    bar.finish_and_clear();
    judged
}
