//! Writes the findings as one page of HTML with figures in it: the page loads nothing from
//! anywhere.

use super::drawing;
use super::judged::{Judged, measured, tally, trials};
use super::table::value;
use crate::sim::html::escaped;
use numaestro_repro::inputs::Origin;
use numaestro_repro::study::Extent;
use numaestro_repro::{Finding, Statistics, Status, Study};
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--good:#0a7f4f;--bad:#b3261e;--warn:#8a6100;--dim:#6b6b6b}\
@media(prefers-color-scheme:dark){:root{--good:#4fc08d;--bad:#ff8a80;--warn:#e0b050;--dim:#a0a0a0}}\
body{font:16px/1.45 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem}\
h2{margin-top:2.5rem;border-bottom:2px solid var(--line)}section{margin:1.6rem 0;padding-top:.6rem;border-top:1px solid var(--line)}\
h3{margin:.2rem 0}.status{font-size:.8rem;border:1px solid;border-radius:.6rem;padding:.1rem .5rem;margin-left:.5rem}\
.reproduced{color:var(--good)}.not-reproduced{color:var(--bad)}.fitted,.no-power,.fragile{color:var(--warn)}.not-applicable,.input,.identity,.duplicate{color:var(--dim)}\
dl{display:grid;grid-template-columns:7rem 1fr;gap:.15rem .8rem;margin:.5rem 0}dt{color:var(--dim)}dd{margin:0}\
table{border-collapse:collapse;font-size:.9rem}td,th{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top;\
border-bottom:1px solid var(--line)}.scroll{overflow-x:auto}figure{margin:1rem 0}svg{max-width:100%;height:auto}svg text{fill:currentColor}\
figcaption{font-size:.9rem;color:var(--dim)}@media(max-width:40rem){dl{grid-template-columns:1fr}}";

/// The page; the summary of what was measured is empty where nothing was.
pub fn page(judged: &[Judged], studies: &[Study], extent: Extent, measured_summary: &str) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>The papers' claims</title><style>{STYLE}</style></head><body>\n\
         <h1>The papers' claims</h1>\n<p>{}</p>\n<p>{} statistics; intervals are 90 %. Seeds: from 1 on, as many as each value has runs; {} further sets; {} \
         candidates for points of the admissible constants. \
         Hollow markers are the papers' own points.</p>\n",
        escaped(&tally(judged).to_string()),
        if extent.statistics == Statistics::Full { "Full" } else { "Quick" },
        extent.seed_sets,
        extent.candidates,
    );
    if !measured_summary.is_empty() {
        let _ = writeln!(text, "<p>{}</p>", escaped(measured_summary));
    }
    let mut before = "";
    for one in judged {
        let Judged { chosen: (paper, claim), finding, .. } = one;
        if before != paper.key {
            let of_paper = judged.iter().filter(|one| one.chosen.0.key == paper.key);
            let _ = writeln!(
                text,
                "<h2 id=\"{0}\">{0}</h2>\n<p>{1}</p>\n<p>{2}</p>",
                escaped(paper.key),
                escaped(paper.citation),
                tally(of_paper),
            );
            if let Some(study) = studies.iter().find(|study| study.paper().key == paper.key) {
                inputs(&mut text, study);
            }
            before = paper.key;
        }
        let word = finding.status.word();
        let _ = writeln!(
            text,
            "<section id=\"{0}\"><h3>{0} <span title=\"kind\">({1})</span><span class=\"status {2}\">{word}</span></h3>",
            escaped(claim.id),
            claim.kind.sign(),
            word.replace(' ', "-"),
        );
        text.push_str("<dl>");
        for (name, what) in [
            ("set-up", claim.setup),
            ("the paper", claim.reported),
            ("demanded", claim.tolerance),
            ("because", finding.status.reason()),
        ] {
            if !what.is_empty() {
                let _ = write!(text, "<dt>{name}</dt><dd>{}</dd>", escaped(what));
            }
        }
        for (name, what) in trials(one).into_iter().chain(measured(one)) {
            let _ = write!(text, "<dt>{name}</dt><dd>{}</dd>", escaped(&what));
        }
        let _ = writeln!(text, "<dt>ours</dt><dd>{}</dd></dl>", escaped(&values(finding)));
        evidence(&mut text, finding);
        figure(&mut text, finding);
        let _ = writeln!(text, "<p><code>{}</code></p></section>", escaped(&claim.command()));
    }
    text.push_str("</body></html>\n");
    text
}

/// The constants that were fixed before the claims were judged.
fn inputs(text: &mut String, study: &Study) {
    if study.inputs().constants().is_empty() {
        text.push_str("<p>No constants are declared yet, so claims are judged at one point only.</p>\n");
        return;
    }
    text.push_str("<div class=\"scroll\"><table><tr><th>constant<th>value<th>range<th>from</tr>\n");
    for constant in study.inputs().constants() {
        let (low, high) = constant.range;
        let range = if low < high { format!("{low} to {high}") } else { String::new() };
        let from = match &constant.origin {
            Origin::Document(source) => source.clone(),
            Origin::Rows { rows, rule } => format!("identified by {}: {rule}", rows.join(", ")),
            Origin::Range(why) => format!("not printed: {why}"),
        };
        let _ = writeln!(
            text,
            "<tr><td>{}<td>{} {}<td>{range}<td>{}</tr>",
            escaped(&constant.name),
            constant.value,
            escaped(&constant.unit),
            escaped(&from),
        );
    }
    text.push_str("</table></div>\n");
}

fn values(finding: &Finding) -> String {
    finding.ours.iter().map(value).collect::<Vec<_>>().join(", ")
}

fn evidence(text: &mut String, finding: &Finding) {
    if finding.evidence.is_empty() {
        return;
    }
    text.push_str("<div class=\"scroll\"><table><tr><th>what must hold<th>paper<th>ours<th>residual<th></tr>\n");
    for demand in &finding.evidence {
        let (class, word) = match (&finding.status, demand.holds) {
            (_, false) => ("not-reproduced", "missed"),
            (Status::Fitted(_), true) => ("fitted", "holds"),
            (_, true) => ("reproduced", "holds"),
        };
        let _ = writeln!(
            text,
            "<tr><td>{}<td>{}<td>{}<td>{}<td class=\"{class}\">{word}</tr>",
            escaped(&demand.what),
            escaped(&demand.paper),
            escaped(&demand.ours),
            demand.residual.map_or_else(String::new, |residual| format!("{residual:+.2}")),
        );
    }
    text.push_str("</table></div>\n");
}

fn figure(text: &mut String, finding: &Finding) {
    let Some(figure) = &finding.figure else { return };
    let drawn = drawing::svg(figure).unwrap_or_else(|reason| format!("<p>{}</p>", escaped(&reason)));
    let _ = writeln!(
        text,
        "<figure>{drawn}<figcaption><b>{}</b>, redrawn from our numbers. The paper: {}</figcaption></figure>",
        escaped(&figure.title),
        escaped(&figure.said),
    );
}
