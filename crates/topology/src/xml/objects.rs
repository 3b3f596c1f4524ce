//! Reads `<object>` elements: PUs with the objects above them, NUMA nodes, kinds of cores.

use crate::assembly::{Raw, RawLlc, RawPu};
use crate::error::TopologyError;
use crate::machine::CoreKind;
use crate::set::CpuSet;
use roxmltree::Node;
use std::collections::BTreeMap;

/// Typed attributes: missing is `None`, garbage is an error with element and line.
pub(super) mod element {
    use super::{CpuSet, Node, TopologyError, path_of};

    /// Different for each element of the document.
    pub(in crate::xml) fn key(element: Node<'_, '_>) -> u32 {
        element.id().get()
    }

    pub(in crate::xml) fn number<N: std::str::FromStr>(
        element: Node<'_, '_>,
        name: &str,
    ) -> Result<Option<N>, TopologyError> {
        let Some(text) = element.attribute(name) else { return Ok(None) };
        // hwloc writes an unknown index as -1.
        if text == "-1" {
            return Ok(None);
        }
        text.trim().parse().map(Some).map_err(|_| garbage(element, name, "a number", text))
    }

    pub(in crate::xml) fn cpuset(element: Node<'_, '_>, name: &str) -> Result<Option<CpuSet>, TopologyError> {
        let Some(text) = element.attribute(name) else { return Ok(None) };
        CpuSet::from_mask(text)
            .map(Some)
            .map_err(|_| garbage(element, name, "a finite set such as 0x00000003,0xffffffff", text))
    }

    pub(in crate::xml) fn garbage(element: Node<'_, '_>, name: &str, expected: &str, found: &str) -> TopologyError {
        TopologyError::garbage(format!("{} {name}", path_of(element)), expected, found)
    }
}

/// Element and line, for messages.
pub(super) fn path_of(element: Node<'_, '_>) -> String {
    let line = element.document().text_pos_at(element.range().start).row;
    let kind = element.attribute("type").map(|kind| format!(" type=\"{kind}\"")).unwrap_or_default();
    format!("hwloc XML, line {line}: <{}{kind}>", element.tag_name().name())
}

/// Objects of these types at any depth, in the document's order.
pub(super) fn objects<'a, 'i>(
    below: Node<'a, 'i>,
    types: &'static [&'static str],
) -> impl Iterator<Item = Node<'a, 'i>> {
    let wanted = |kind: &str| types.contains(&kind);
    below.descendants().filter(move |n| n.has_tag_name("object") && n.attribute("type").is_some_and(wanted))
}

/// Adds nodes with their memory; gives the node of each processor.
pub(super) fn nodes(nodes: &[Node<'_, '_>], raw: &mut Raw) -> Result<BTreeMap<u32, u32>, TopologyError> {
    let mut local = Vec::with_capacity(nodes.len());
    for &node in nodes {
        let os_index: u32 = element::number(node, "os_index")?
            .ok_or_else(|| element::garbage(node, "os_index", "a number", "nothing"))?;
        if os_index > crate::list::LARGEST {
            return Err(element::garbage(node, "os_index", "an index from 0 to 1048575", &os_index.to_string()));
        }
        let memory: Option<u64> = element::number(node, "local_memory")?;
        if raw.nodes.insert(os_index, Some(memory.unwrap_or(0))).is_some() {
            let problem = format!("node {os_index} occurs twice");
            return Err(TopologyError::inconsistent(path_of(node), problem));
        }
        local.push((element::cpuset(node, "cpuset")?.unwrap_or_default(), os_index));
    }
    // Stable: of several equal cpusets the first stays first.
    local.sort_by_key(|(cpus, _)| cpus.len());
    let mut node_of = BTreeMap::new();
    for (cpus, os_index) in &local {
        for cpu in cpus {
            node_of.entry(cpu).or_insert(*os_index);
        }
    }
    Ok(node_of)
}

/// Adds a PU with the core, cache and package that it is inside of.
pub(super) fn pu(pu: Node<'_, '_>, node_of: &BTreeMap<u32, u32>, raw: &mut Raw) -> Result<(), TopologyError> {
    let os_index: u32 =
        element::number(pu, "os_index")?.ok_or_else(|| element::garbage(pu, "os_index", "a number", "nothing"))?;
    // Before it is put into any set: a set is as large as its largest index.
    if os_index > crate::list::LARGEST {
        return Err(element::garbage(pu, "os_index", "an index from 0 to 1048575", &os_index.to_string()));
    }
    let mut core = element::key(pu);
    let mut package = 0;
    let mut llc: Option<(u8, Node<'_, '_>)> = None;
    for above in pu.ancestors() {
        match above.attribute("type") {
            Some("Core") => core = element::key(above),
            Some("Package" | "Socket") => package = element::key(above),
            Some(kind) => {
                let level = cache_level(above, kind)?;
                if level > llc.map(|(level, _)| level) {
                    llc = level.map(|level| (level, above));
                }
            }
            None => {}
        }
    }
    if let Some((level, cache)) = llc {
        raw.llcs.insert(
            element::key(cache),
            RawLlc {
                id: element::number(cache, "os_index")?,
                level: Some(level),
                size_bytes: element::number(cache, "cache_size")?,
            },
        );
    }
    raw.pus.push(RawPu {
        os_index,
        package,
        node: node_of.get(&os_index).copied(),
        llc: llc.map(|(_, cache)| element::key(cache)),
        core,
        kind: CoreKind::Uniform,
        capacity: None,
    });
    Ok(())
}

/// `L3Cache` of version 2 or `Cache` with `depth` of version 1; `None` for an object that is no
/// cache or holds instructions only.
fn cache_level(object: Node<'_, '_>, kind: &str) -> Result<Option<u8>, TopologyError> {
    let is_cache = kind == "Cache" || (kind.starts_with('L') && kind.ends_with("Cache"));
    if !is_cache || object.attribute("cache_type") == Some("2") {
        return Ok(None);
    }
    element::number(object, "depth")
}

/// `<cpukind>` elements stand in rising order of efficiency ranking: the last is the fastest.
pub(super) fn kinds(root: Node<'_, '_>, raw: &mut Raw) -> Result<(), TopologyError> {
    let mut kinds = Vec::new();
    for kind in root.children().filter(|child| child.has_tag_name("cpukind")) {
        kinds.push((element::cpuset(kind, "cpuset")?.unwrap_or_default(), capacity(kind)?));
    }
    for pu in &mut raw.pus {
        let Some(position) = kinds.iter().position(|(cpus, _)| cpus.contains(pu.os_index)) else { continue };
        pu.capacity = kinds[position].1;
        pu.kind = match position {
            _ if kinds.len() == 1 => CoreKind::Uniform,
            0 => CoreKind::Efficiency,
            last if last + 1 == kinds.len() => CoreKind::Performance,
            _ => CoreKind::Middle,
        };
    }
    Ok(())
}

/// The value of Linux's `cpu_capacity`.
fn capacity(kind: Node<'_, '_>) -> Result<Option<u32>, TopologyError> {
    let is_capacity = |child: &Node<'_, '_>| child.attribute("name") == Some("LinuxCapacity");
    kind.children().find(is_capacity).map_or(Ok(None), |info| element::number(info, "value"))
}
