//! The answers for people.

use super::answer::{Answer, Brief, OfApp, OfCpu, OfTime, Timed};
use crate::say;
use numaestro_engine::explain::listed;
use std::fmt::Write;

/// An answer in words.
pub fn of(answer: &Answer) -> String {
    let mut text = String::new();
    match answer {
        Answer::App(app) => of_app(app, &mut text),
        Answer::Cpu(cpu) => of_cpu(cpu, &mut text),
        Answer::Time(time) => of_time(time, &mut text),
    }
    text
}

fn of_app(app: &OfApp, text: &mut String) {
    line(text, &heading(&app.brief));
    line(text, &format!("Why: {}", app.brief.why));
    if app.brief.state == "ended" {
        // What it had before its end follows below.
    } else if app.chain.is_empty() {
        line(text, "No decision about it is remembered.");
    } else {
        line(text, "\nWhat led to it:");
        chain(&app.chain, text);
    }
    if !app.alternatives.is_empty() {
        line(text, "\nWhat would change it:");
        for found in &app.alternatives {
            let would = &found.alternative;
            let has = match (would.count, would.cpus.as_str()) {
                (0, "") => "it would wait".to_owned(),
                (0, cpus) => format!("it would share {cpus} with others"),
                (1, cpus) => format!("1 processor: {cpus}"),
                (count, cpus) => format!("{count} processors: {cpus}"),
            };
            let has = match (would.shared, app.brief.shared) {
                (true, _) if would.count > 0 => has + ", beside others",
                (false, true) if would.count > 0 => has + ", alone",
                _ => has,
            };
            line(text, &format!("  {}: {has}", found.shown));
        }
    }
    if !app.before.is_empty() {
        line(text, "\nBefore that, the latest first:");
        for timed in &app.before {
            line(text, &format!("  {}  {}: {}", timed.shown, timed.link.event, timed.link.effect));
        }
    }
}

fn heading(app: &Brief) -> String {
    let has = match (app.count, app.cpus.as_str()) {
        (_, "") => String::new(),
        (1, cpus) => format!(", 1 processor ({cpus})"),
        (count, cpus) => format!(", {count} processors ({cpus})"),
    };
    let beside = if app.shared { " beside others" } else { "" };
    let wants = if app.request > app.count { format!(", could use {}", app.request) } else { String::new() };
    format!("{}: {}{has}{beside}{wants}", app.called, app.state)
}

fn of_cpu(cpu: &OfCpu, text: &mut String) {
    let owner = match (&cpu.called, &cpu.load) {
        (Some(called), _) if !cpu.guests.is_empty() => sharers(called, &cpu.guests_called),
        (Some(called), _) => format!("{called} has it"),
        (None, Some(load)) => format!("no program has it; {load}, and it is not known which"),
        (None, None) if cpu.state == "unmanaged" => "left to load outside".to_owned(),
        (None, None) => cpu.state.to_owned(),
    };
    line(text, &format!("Processor {} on node {}: {owner}", cpu.cpu, cpu.node));
    if cpu.chain.is_empty() {
        line(text, "No change of its owner is remembered.");
        return;
    }
    line(text, "\nWhat led to it:");
    chain(&cpu.chain, text);
    line(text, "\nIts owners, the latest first:");
    for pass in &cpu.passes {
        line(text, &format!("  {}  {}", pass.shown, pass.words));
    }
}

/// Owner and guests of a processor. They change places, and nobody is told, so none is called the
/// owner.
fn sharers(first: &str, others: &[String]) -> String {
    let names = std::iter::once(first.to_owned()).chain(others.iter().cloned());
    format!("{} share it", listed(names, |more| format!("{more} more")))
}

fn of_time(time: &OfTime, text: &mut String) {
    line(text, &format!("Policy: {}", time.policy));
    if let Some(load) = &time.load {
        line(text, &say::capital(load));
    }
    if time.apps.is_empty() {
        line(text, "No program is there.");
    }
    for app in &time.apps {
        line(text, &format!("{}\n  why: {}", heading(app), app.why));
    }
    if !time.decisions.is_empty() {
        line(text, "\nThe latest decisions:");
        chain(&time.decisions, text);
    }
}

/// Each event once, with what followed below it.
fn chain(links: &[Timed], text: &mut String) {
    let mut before = None;
    for timed in links {
        let link = &timed.link;
        if before.replace((link.decision, &link.event)) != Some((link.decision, &link.event)) {
            line(text, &format!("  {}  {}", timed.shown, link.event));
        }
        line(text, &format!("      {}  [{}: {}]", link.effect, link.rule.name, link.rule.source));
    }
}

fn line(text: &mut String, line: &str) {
    // Memory takes everything.
    let _ = writeln!(text, "{line}");
}
