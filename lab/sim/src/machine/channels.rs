//! `[[channel]]` of a machine file: one entry stands for the channels of all objects of a kind.

use super::model::{Cache, Channel, Over};
use crate::read::Mistake;
use crate::read::fields::Field;
use numaestro_topology::{Level, Machine, NumaNodeId, PuSet};

/// Most channels that the references of one thread can use: one inline list of them makes a pace a
/// plain value of four cache lines.
pub const CHANNELS_MAX: usize = 36;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Controller,
    Link,
    Bus,
    Switch,
    Ring,
}

/// Reads the list, which may not be there.
pub fn read(list: Option<Field<'_>>, topology: &Machine, cache: &Cache) -> Result<Vec<Channel>, Mistake> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let mut channels = Vec::new();
    for item in list.items()? {
        entry(&item, topology, cache, &mut channels)?;
    }
    let most = topology.pus().iter().map(|pu| reachable(topology, &channels, pu.id)).max().unwrap_or(0);
    if most > CHANNELS_MAX || channels.len() > usize::from(u16::MAX) {
        return Err(
            list.mistake(format!("expected at most {CHANNELS_MAX} channels that one processor can use, found {most}"))
        );
    }
    Ok(channels)
}

fn entry(item: &Field<'_>, topology: &Machine, cache: &Cache, channels: &mut Vec<Channel>) -> Result<(), Mistake> {
    let mut fields = item.fields()?;
    let name = fields.need("name", "what people call it")?.text()?.to_owned();
    fields.call(format!("channel.{name}"));
    let over = fields.need("over", "\"controller\", \"link\", \"bus\", \"switch\" or \"ring\"")?;
    let kind = over.one_of(&[
        ("controller", Kind::Controller),
        ("link", Kind::Link),
        ("bus", Kind::Bus),
        ("switch", Kind::Switch),
        ("ring", Kind::Ring),
    ])?;
    let levels = [
        ("core", Level::Core),
        ("llc", Level::Llc),
        ("node", Level::NumaNode),
        ("package", Level::Package),
        ("machine", Level::Machine),
    ];
    let each = fields.get("each");
    let level = match (&each, kind) {
        (Some(each), Kind::Bus | Kind::Switch | Kind::Ring) => each.one_of(&levels)?,
        (None, Kind::Bus | Kind::Switch | Kind::Ring) => {
            return Err(fields.mistake("`each` is missing: \"core\", \"llc\", \"node\", \"package\" or \"machine\""));
        }
        (Some(each), _) => return Err(each.mistake("expected none: every node has its controller and its link")),
        (None, _) => Level::NumaNode,
    };
    let rate = match (fields.get("per_us"), fields.get("gb_s")) {
        (Some(_), Some(gb_s)) => return Err(gb_s.mistake("expected either `per_us` or `gb_s`, found both")),
        (Some(field), None) => field.number(0.001..=1e9, "transactions per microsecond, at least 0.001")?,
        (None, Some(field)) => {
            field.number(0.001..=1e9, "10^9 bytes per second, at least 0.001")? * 1e3 / f64::from(cache.line_bytes)
        }
        (None, None) => return Err(fields.mistake("`per_us` is missing: transactions per microsecond (or `gb_s`)")),
    };
    fields.finish()?;
    let per_ms = (rate * 1e3).round().max(1.0) as u64;
    let overs: Vec<Over> = match kind {
        Kind::Controller => nodes(topology).map(Over::Controller).collect(),
        Kind::Link => nodes(topology)
            .filter(|node| !topology.numa_nodes()[node.index()].is_memory_only())
            .map(Over::Link)
            .collect(),
        Kind::Bus => objects(topology, level).into_iter().map(Over::Bus).collect(),
        Kind::Switch => objects(topology, level).iter().map(|object| switch(topology, object)).collect(),
        Kind::Ring => vec![Over::Between(objects(topology, level))],
    };
    let single = overs.len() == 1;
    channels.extend(overs.into_iter().enumerate().map(|(number, over)| {
        let name = if single { name.clone() } else { format!("{name} {number}") };
        Channel { name, over, per_ms }
    }));
    Ok(())
}

fn nodes(topology: &Machine) -> impl Iterator<Item = NumaNodeId> {
    (0..topology.numa_nodes().len() as u32).map(NumaNodeId)
}

fn objects(topology: &Machine, level: Level) -> Vec<PuSet> {
    match level {
        Level::Pu => topology.pus().iter().map(|pu| std::iter::once(pu.id).collect()).collect(),
        Level::Core => topology.cores().iter().map(|core| core.pus.clone()).collect(),
        Level::Llc => topology.llcs().iter().map(|llc| llc.pus.clone()).collect(),
        Level::NumaNode => {
            topology.numa_nodes().iter().filter(|node| !node.is_memory_only()).map(|node| node.pus.clone()).collect()
        }
        Level::Package => topology.packages().iter().map(|package| package.pus.clone()).collect(),
        Level::Machine => vec![topology.all()],
    }
}

/// The references that cross an object between its nodes, enter it or leave it: all but the ones
/// inside one of its nodes.
fn switch(topology: &Machine, object: &PuSet) -> Over {
    let inside = objects(topology, Level::NumaNode).into_iter().filter(|node| node.intersects(object));
    let outside = topology.all().difference(object);
    Over::Between(inside.chain(std::iter::once(outside)).collect())
}

/// Number of channels that the references of a processor can use.
fn reachable(topology: &Machine, channels: &[Channel], pu: numaestro_topology::PuId) -> usize {
    let home = topology.pu(pu).node;
    let can = |channel: &&Channel| match &channel.over {
        Over::Bus(pus) => pus.contains(pu),
        Over::Link(node) => *node == home,
        Over::Controller(_) | Over::Between(_) => true,
    };
    channels.iter().filter(can).count()
}
