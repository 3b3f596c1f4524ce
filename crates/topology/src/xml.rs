//! Reads hwloc's XML export (`lstopo --of xml`, versions 2 and 1) of other machines than this one.
//!
//! Processors of `complete_cpuset` that have no `PU` element are listed as offline (hwloc leaves
//! them out when they are offline or, unless asked with `--disallowed`, when they are outside its
//! own cpuset); `allowed_cpuset` restricts as a cpuset does. A PU belongs to the NUMA node with the
//! smallest cpuset that holds it, of several equal ones to the first, as hwloc lists normal memory
//! before special memory; the other nodes are memory-only.

mod distances;
mod objects;

use crate::assembly::{Raw, limit};
use crate::error::TopologyError;
use crate::machine::{Machine, NUMA_NODES_MAX, PUS_MAX};
use objects::{element, objects, path_of};
use roxmltree::{Document, Node, ParsingOptions};

/// Most elements of a document: enough for [`PUS_MAX`] PUs with all their caches.
const ELEMENTS_MAX: u32 = 8 << 20;

/// Reads an XML document.
///
/// # Errors
/// [`TopologyError::Xml`] if it is no XML or not hwloc's; else with element, line and the offending
/// text.
pub fn parse(text: &str) -> Result<Machine, TopologyError> {
    // hwloc begins its documents with a DOCTYPE.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
    let document =
        Document::parse_with_options(text, options).map_err(|error| TopologyError::Xml(error.to_string()))?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        return Err(TopologyError::garbage(path_of(root), "the element <topology>", root.tag_name().name()));
    }
    let machine = root
        .children()
        .find(|child| child.has_tag_name("object"))
        .ok_or_else(|| TopologyError::garbage(path_of(root), "an object of type Machine", "none"))?;
    read(root, machine)?.assemble("hwloc XML")
}

fn read(root: Node<'_, '_>, machine: Node<'_, '_>) -> Result<Raw, TopologyError> {
    let pus: Vec<_> = objects(machine, &["PU"]).collect();
    let nodes: Vec<_> = objects(machine, &["NUMANode"]).collect();
    limit("processors", pus.len(), PUS_MAX)?;
    limit("NUMA nodes", nodes.len(), NUMA_NODES_MAX)?;
    let mut raw = Raw::default();
    for package in objects(machine, &["Package", "Socket"]) {
        if let Some(os_index) = element::number(package, "os_index")? {
            raw.packages.insert(element::key(package), os_index);
        }
    }
    let node_of = objects::nodes(&nodes, &mut raw)?;
    for pu in pus {
        objects::pu(pu, &node_of, &mut raw)?;
    }
    raw.distances = distances::read(root, machine, &nodes)?;
    if let Some(complete) = element::cpuset(machine, "complete_cpuset")? {
        let present = raw.pus.iter().map(|pu| pu.os_index).collect();
        raw.offline = complete.difference(&present);
    }
    raw.allowed = element::cpuset(machine, "allowed_cpuset")?;
    objects::kinds(root, &mut raw)?;
    Ok(raw)
}
