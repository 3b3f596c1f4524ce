//! A machine as text for people: its tree, the costs of references, its limits.

use super::model::{Model, Op, Replacement, System};
use std::fmt::Write;

/// Several lines, each ended.
pub fn describe(model: &Model) -> String {
    let mut out = String::new();
    write(model, &mut out).expect("writing to a string");
    out
}

fn write(model: &Model, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}: {}", model.name, model.about)?;
    writeln!(out)?;
    write!(out, "{}", model.topology)?;
    if !model.reserved.is_empty() {
        writeln!(out, "  kept for the system: {}", model.reserved)?;
    }
    writeln!(out)?;
    let cycles = |ps: u64| ps as f64 / model.cycle_ps as f64;
    writeln!(
        out,
        "A reference costs, in cycles of {} ns (delay switches: {}):",
        model.cycle_ps as f64 / 1e3,
        model.delay
    )?;
    let width = model.access.classes.iter().map(|class| class.name.len()).max().unwrap_or(0).max(3);
    write!(out, "  {:width$}", "")?;
    for op in Op::ALL {
        write!(out, " {:>9}", op.name())?;
    }
    writeln!(out)?;
    writeln!(out, "  {:width$} {:>9.1}", "hit", cycles(model.access.hit_ps))?;
    for class in &model.access.classes {
        write!(out, "  {:width$}", class.name)?;
        for cost in class.cost_ps {
            write!(out, " {:>9.1}", cycles(cost))?;
        }
        writeln!(out)?;
    }
    let cache = &model.cache;
    if cache.lines > 0 {
        let kind = match cache.replacement {
            Replacement::Random => "random or direct mapped",
            Replacement::Lru => "least recently used",
        };
        writeln!(out, "Cache of each {}: {} lines of {} bytes, {kind}", cache.level, cache.lines, cache.line_bytes)?;
    }
    writeln!(out, "Memory of each node: {} pages of {} bytes", model.node_pages, model.page_bytes)?;
    for channel in &model.channels {
        writeln!(out, "Channel {}: {} transactions/us", channel.name, channel.per_ms as f64 / 1e3)?;
    }
    let system = match model.system {
        System::RoundRobin => "round robin",
        System::Linux24 => "Linux 2.4",
        System::Irix => "IRIX",
    };
    writeln!(out, "System: {system}, time slice {} ms", model.quantum_ns as f64 / 1e6)
}
