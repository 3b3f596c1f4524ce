//! `numaestro sim machines`: lists the modelled machines, and describes each.

use super::args::MachinesArgs;
use super::files::Directory;
use super::table;
use crate::say::WRONG_FILE;
use crate::say::{self, Failure};
use crate::texts;
use numaestro_quantity::names::did_you_mean_of;
use numaestro_sim::machine::{self, Model, Op};
use numaestro_sim::read::Text;
use serde::Serialize;
use std::path::Path;

/// The output of `--json` for a machine.
#[derive(Debug, Serialize)]
struct Shown {
    name: String,
    about: String,
    processors: usize,
    /// Kept for the system.
    reserved: usize,
    numa_nodes: usize,
    packages: usize,
    clock_mhz: f64,
    /// The cost of references in nanoseconds, from near to far.
    classes: Vec<Class>,
    hit_ns: f64,
    cache_lines: u64,
    line_bytes: u32,
    page_bytes: u32,
    node_pages: u64,
    /// Names of the channels, which have limited bandwidth.
    channels: Vec<String>,
    quantum_ms: f64,
}

#[derive(Debug, Serialize)]
struct Class {
    name: String,
    load_ns: f64,
    store_ns: f64,
    line_ns: f64,
    writeback_ns: f64,
}

/// The subcommand.
pub fn machines(args: &MachinesArgs) -> anyhow::Result<u8> {
    if let Some(name) = &args.name {
        let model = find(name)?;
        let text =
            if args.json { serde_json::to_string_pretty(&shown(&model))? + "\n" } else { machine::describe(&model) };
        say::print(&text)?;
        return Ok(say::OK);
    }
    let models: Vec<Model> = machine::names().iter().filter_map(|name| machine::named(name, 0)).collect();
    if args.json {
        let all: Vec<Shown> = models.iter().map(shown).collect();
        say::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        let mut rows = vec![["machine", "processors", "nodes", ""].map(ToOwned::to_owned)];
        rows.extend(models.iter().map(|model| {
            let (pus, nodes) = (model.topology.pu_count(), model.topology.numa_nodes().len());
            [model.name.clone(), pus.to_string(), nodes.to_string(), String::new()]
        }));
        // The sentences are of any length: they stand to the left, behind the columns.
        let table = table::aligned(&rows);
        let abouts = std::iter::once("what it is").chain(models.iter().map(|model| model.about.as_str()));
        let width = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let lines: Vec<String> =
            table.lines().zip(abouts).map(|(line, about)| format!("{line:width$}  {about}")).collect();
        say::print(&format!("{}\n\nnumaestro sim machines NAME describes one\n", lines.join("\n")))?;
    }
    Ok(say::OK)
}

/// By name, or from a file.
fn find(name: &str) -> anyhow::Result<Model> {
    if let Some(model) = machine::named(name, 0) {
        return Ok(model);
    }
    let path = Path::new(name);
    if !path.exists() {
        let meant = did_you_mean_of(name, machine::names().iter().copied());
        let what = format!("there is no machine `{name}` and no such file{meant}");
        return Err(Failure::error(WRONG_FILE, what, ""));
    }
    let text =
        texts::text(path).map_err(|error| Failure::error(WRONG_FILE, format!("cannot read {name}: {error}"), ""))?;
    machine::read(Text::new(name, &text), &Directory::of(path))
        .map_err(|mistake| Failure::error(WRONG_FILE, mistake.to_string(), ""))
}

fn shown(model: &Model) -> Shown {
    let ns = |ps: u64| ps as f64 / 1e3;
    let class = |class: &machine::AccessClass| Class {
        name: class.name.clone(),
        load_ns: ns(class.cost_ps[Op::Load as usize]),
        store_ns: ns(class.cost_ps[Op::Store as usize]),
        line_ns: ns(class.cost_ps[Op::Line as usize]),
        writeback_ns: ns(class.cost_ps[Op::Writeback as usize]),
    };
    Shown {
        name: model.name.clone(),
        about: model.about.clone(),
        processors: model.topology.pu_count(),
        reserved: model.reserved.len(),
        numa_nodes: model.topology.numa_nodes().len(),
        packages: model.topology.packages().len(),
        clock_mhz: 1e6 / model.cycle_ps as f64,
        classes: model.access.classes.iter().map(class).collect(),
        hit_ns: ns(model.access.hit_ps),
        cache_lines: model.cache.lines,
        line_bytes: model.cache.line_bytes,
        page_bytes: model.page_bytes,
        node_pages: model.node_pages,
        channels: model.channels.iter().map(|channel| channel.name.clone()).collect(),
        quantum_ms: model.quantum_ns as f64 / 1e6,
    }
}
