//! The machine file: its fields, and every mistake that can be made in them.
//!
//! ```toml
//! name = "two"                                  # one word
//! about = "Two nodes of four processors"
//! topology = "numa:2 core:4 pu:1"               # hwloc's synthetic description; or xml = "FILE" (hwloc's lstopo --of xml)
//! distances = [[10, 21], [21, 10]]              # optional; by node; or { hypercube = [10, 15, 20] }, by bits that differ
//! cycle = "1 ns"                                # of its clock
//! delay = 0                                     # optional: factor of the classes' delays
//! reserved = "0"                                # optional: processors for the system, by logical index
//!
//! [memory]
//! page_bytes = 4096
//! node_pages = 1024                             # of each node
//!
//! [cache]                                       # optional: without it nothing is ever reloaded
//! level = "pu"                                  # or "core", "llc"
//! lines = 1024
//! line_bytes = 64
//! replacement = "lru"                           # or "random" (direct mapped too)
//!
//! [access]
//! unit = "cycles"                               # or "ns": of all numbers below
//! hit = 1                                       # of a reference that hits the processor's own cache
//!
//! [[access.class]]                              # from near to far; the first that reaches the memory counts
//! name = "local"
//! within = "node"                               # or "package", "machine"; or distance = 10, the largest node distance
//! line = 20                                     # bringing in a line; load, store, writeback: the same if not given
//!
//! [[access.class]]
//! name = "remote"
//! within = "machine"
//! line = 60
//! delay = { line = 3 }                          # more for each unit of the machine's `delay`
//!
//! [[channel]]                                   # a part with limited bandwidth; optional
//! name = "memory"
//! over = "controller"                           # or "link" (of each node); "bus", "switch" or "ring" of `each` "core" ... "machine"
//! gb_s = 20                                     # 10^9 bytes per second in lines of the cache; or per_us = transactions
//!
//! [system]                                      # optional
//! scheduler = "round-robin"                     # or "linux-2.4", "irix"
//! quantum = "100 ms"
//! switch = "5 us"                               # costs, all 0 if not given: another thread on a processor
//! migration = "0"                               # a thread on another processor
//! page_fault = "0"
//! page_move = "0"                               # a page goes to another node; 0: pages stay where they are
//! decision = "0"
//! stop = "0"                                    # a thread that was stopped goes on
//! waiting = 0                                   # share of the time that threads wait on processors that goes to calls of the system
//! favours_new = true                            # a new thread has the best priority for one quantum (irix)
//! half_life = "200 ms"                          # in which processor time that was used counts half as much for priorities (irix)
//! rebalance = "0"                               # time between two looks of a processor whether others have fewer threads; 0: never (irix)
//! ```

use super::model::{Cache, Costs, Irix, Model, Picos, Replacement, System};
use super::{access, channels};
use crate::read::fields::{Field, Fields};
use crate::read::tree::{Node, Value};
use crate::read::{Files, Mistake, Text};
use numaestro_topology::{Level, Machine, PuSet, synthetic, xml};

/// Reads a machine file.
///
/// # Errors
/// The first mistake.
pub fn read(text: Text<'_>, files: &dyn Files) -> Result<Model, Mistake> {
    read_with_delay(text, files, None)
}

/// Reads a machine file; `delay` wins over the file's.
///
/// # Errors
/// The first mistake.
pub fn read_with_delay(text: Text<'_>, files: &dyn Files, delay: Option<u32>) -> Result<Model, Mistake> {
    let tree = Node::toml(text)?;
    let mut fields = Field::root(text, &tree).fields()?;
    let name = word(&fields.need("name", "a word to call this machine by")?)?;
    let about = fields.need("about", "one sentence: what it is, and who says so")?.text()?.to_owned();
    let topology = topology(&mut fields, files)?;
    let cycle_ps = picos(&fields.need("cycle", "the time of one cycle of its clock")?)?;
    let in_file = fields.read("delay", |field| field.whole32(0..=1_000_000))?;
    let delay = delay.or(in_file).unwrap_or(0);
    let reserved = fields.read("reserved", |field| reserved(&field, &topology))?.unwrap_or_default();
    let (page_bytes, node_pages) = memory(fields.need("memory", "the table [memory]")?.fields()?)?;
    let cache = fields.read("cache", |field| cache(field.fields()?))?.unwrap_or(NO_CACHE);
    let access = access::read(fields.need("access", "the table [access]")?.fields()?, &topology, cycle_ps, delay)?;
    let channels = channels::read(fields.get("channel"), &topology, &cache)?;
    let OperatingSystem { system, quantum_ns, costs, favours_new, irix } = match fields.get("system") {
        Some(field) => operating_system(field.fields()?)?,
        None => OperatingSystem::default(),
    };
    fields.finish()?;
    Ok(Model {
        name,
        about,
        topology,
        cycle_ps,
        delay,
        access,
        cache,
        page_bytes,
        node_pages,
        channels,
        costs,
        system,
        quantum_ns,
        favours_new,
        irix,
        reserved,
    })
}

/// The cache of a machine whose caches nobody knows.
const NO_CACHE: Cache = Cache { level: Level::Pu, lines: 0, line_bytes: 64, replacement: Replacement::Lru };

/// Time slice where a file says nothing of its system: a tenth of a second, as in most systems of
/// the papers.
const QUANTUM_NS: crate::Nanos = 100_000_000;

fn word(field: &Field<'_>) -> Result<String, Mistake> {
    let name = field.text()?;
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if is_word { Ok(name.to_owned()) } else { Err(field.wrong("one word of letters, digits, - _ and .")) }
}

fn picos(field: &Field<'_>) -> Result<Picos, Mistake> {
    let picos = (field.nanos_exactly()? * 1e3).round();
    if (1.0..=1e12).contains(&picos) { Ok(picos as Picos) } else { Err(field.wrong("a time from 1 ps to 1 s")) }
}

fn topology(fields: &mut Fields<'_>, files: &dyn Files) -> Result<Machine, Mistake> {
    let machine =
        match (fields.get("topology"), fields.get("xml")) {
            (Some(_), Some(xml)) => Err(xml.mistake("expected either `topology` or `xml`, found both")),
            (Some(field), None) => synthetic::parse(field.text()?).map_err(|error| field.mistake(error.to_string())),
            (None, Some(field)) => {
                let name = field.text()?;
                let text = files.text(name).map_err(|problem| field.mistake(problem))?;
                xml::parse(&text).map_err(|error| field.mistake(format!("{name}: {error}")))
            }
            (None, None) => Err(fields
                .mistake("`topology` is missing: a synthetic description such as \"numa:2 core:4 pu:1\" (or `xml`)")),
        }?;
    match fields.get("distances") {
        None => Ok(machine),
        Some(field) => {
            let distances = distances(&field, machine.numa_nodes().len())?;
            machine.with_node_distances(distances).map_err(|error| field.mistake(error.to_string()))
        }
    }
}

fn distances(field: &Field<'_>, nodes: usize) -> Result<Vec<u32>, Mistake> {
    let distance = |field: &Field<'_>| field.whole32(1..=65_535);
    if matches!(field.node().value, Value::List(_)) {
        let rows = field.items()?;
        if rows.len() != nodes {
            return Err(field.mistake(format!("expected {nodes} rows, one for each NUMA node, found {}", rows.len())));
        }
        let mut all = Vec::with_capacity(nodes * nodes);
        for row in rows {
            let numbers = row.items()?;
            if numbers.len() != nodes {
                return Err(row.mistake(format!("expected {nodes} distances, found {}", numbers.len())));
            }
            for number in &numbers {
                all.push(distance(number)?);
            }
        }
        return Ok(all);
    }
    let mut fields = field.fields()?;
    let by_hops = fields.need("hypercube", "distances by the number of hops, from 0")?;
    fields.finish()?;
    let hops: Vec<u32> = by_hops.items()?.iter().map(distance).collect::<Result<_, _>>()?;
    let dimensions = nodes.trailing_zeros() as usize;
    if !nodes.is_power_of_two() || hops.len() != dimensions + 1 {
        let expected =
            format!("a hypercube of {nodes} nodes: 2, 4, 8 ... nodes, and distances for 0 to {dimensions} hops");
        return Err(by_hops.mistake(format!("expected {expected}, found {} distances", hops.len())));
    }
    Ok((0..nodes * nodes).map(|pair| hops[((pair / nodes) ^ (pair % nodes)).count_ones() as usize]).collect())
}

fn reserved(field: &Field<'_>, topology: &Machine) -> Result<PuSet, Mistake> {
    let expected = "processors such as \"0-3,8\", and others left over";
    let set: PuSet = field.text()?.parse().map_err(|_| field.wrong(expected))?;
    if let Some(pu) = set.iter().find(|pu| pu.index() >= topology.pu_count()) {
        return Err(field.mistake(format!("there is no processor {pu}: the machine has {}", topology.pu_count())));
    }
    if set.len() == topology.pu_count() { Err(field.wrong(expected)) } else { Ok(set) }
}

fn memory(mut fields: Fields<'_>) -> Result<(u32, u64), Mistake> {
    let page_bytes = fields.need("page_bytes", "bytes of a page")?;
    let bytes = page_bytes.whole32(64..=1 << 30)?;
    if !bytes.is_power_of_two() {
        return Err(page_bytes.wrong("a power of two"));
    }
    let pages = fields.need("node_pages", "pages of one node's memory")?.whole(1..=1 << 48)?;
    fields.finish()?;
    Ok((bytes, pages))
}

fn cache(mut fields: Fields<'_>) -> Result<Cache, Mistake> {
    let level = fields.need("level", "\"pu\", \"core\" or \"llc\": who shares one")?;
    let level = level.one_of(&[("pu", Level::Pu), ("core", Level::Core), ("llc", Level::Llc)])?;
    let lines = fields.need("lines", "its capacity in lines")?.whole(0..=1 << 40)?;
    let line_bytes = fields.need("line_bytes", "bytes of a line")?.whole32(1..=65_536)?;
    let replacement = fields.need("replacement", "\"lru\" or \"random\"")?;
    let replacement = replacement.one_of(&[("lru", Replacement::Lru), ("random", Replacement::Random)])?;
    fields.finish()?;
    Ok(Cache { level, lines, line_bytes, replacement })
}

/// The operating system as a file describes it.
struct OperatingSystem {
    system: System,
    quantum_ns: crate::Nanos,
    costs: Costs,
    favours_new: bool,
    irix: Irix,
}

impl Default for OperatingSystem {
    fn default() -> Self {
        Self {
            system: System::default(),
            quantum_ns: QUANTUM_NS,
            costs: Costs::default(),
            favours_new: true,
            irix: Irix::default(),
        }
    }
}

fn operating_system(mut fields: Fields<'_>) -> Result<OperatingSystem, Mistake> {
    let schedulers = [("round-robin", System::RoundRobin), ("linux-2.4", System::Linux24), ("irix", System::Irix)];
    let system = fields.read("scheduler", |field| field.one_of(&schedulers))?.unwrap_or_default();
    let above_0 = |field: Field<'_>| match field.nanos()? {
        0 => Err(field.wrong("a time above 0")),
        time => Ok(time),
    };
    let quantum_ns = fields.read("quantum", above_0)?.unwrap_or(QUANTUM_NS);
    let mut cost = |key| Ok::<_, Mistake>(fields.read(key, |field| field.nanos())?.unwrap_or(0));
    let mut costs = Costs {
        switch_ns: cost("switch")?,
        migration_ns: cost("migration")?,
        page_fault_ns: cost("page_fault")?,
        page_move_ns: cost("page_move")?,
        decision_ns: cost("decision")?,
        stop_ns: cost("stop")?,
        waiting_milli: 0,
    };
    let waiting = fields.read("waiting", |field| field.number(0.0..=1.0, "a share from 0 to 1"))?;
    costs.waiting_milli = (waiting.unwrap_or(0.0) * 1000.0).round() as u32;
    let favours_new = fields.read("favours_new", |field| field.yes())?.unwrap_or(true);
    let usual = Irix::default();
    let irix = Irix {
        half_life_ns: fields.read("half_life", above_0)?.unwrap_or(usual.half_life_ns),
        rebalance_ns: fields.read("rebalance", |field| field.nanos())?.unwrap_or(usual.rebalance_ns),
    };
    fields.finish()?;
    Ok(OperatingSystem { system, quantum_ns, costs, favours_new, irix })
}
