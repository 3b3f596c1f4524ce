//! Reads distances between NUMA nodes: `<distances2>` of version 2, `<distances>` of version 1.

use super::objects::{element, path_of};
use crate::assembly::nearest_is_itself;
use crate::error::TopologyError;
use roxmltree::Node;
use std::collections::BTreeMap;

/// Bit of `kind`: the values are latencies (not bandwidths).
const MEANS_LATENCY: u32 = 1 << 2;

/// (from, to) → distance.
pub(super) type Distances = BTreeMap<(u32, u32), u32>;

/// The first matrix of latencies between all nodes; empty if there is none.
pub(super) fn read(
    root: Node<'_, '_>,
    machine: Node<'_, '_>,
    nodes: &[Node<'_, '_>],
) -> Result<Distances, TopologyError> {
    for matrix in root.children().filter(|child| child.has_tag_name("distances2")) {
        let latency = element::number::<u32>(matrix, "kind")?.is_some_and(|kind| kind & MEANS_LATENCY != 0);
        let of_nodes = matrix.attribute("type") == Some("NUMANode");
        if of_nodes && latency && matrix.attribute("indexing") != Some("gp") {
            let indexes: Vec<u32> = numbers(matrix, "indexes")?;
            let values: Vec<u64> = numbers(matrix, "u64values")?;
            return fill(matrix, &indexes, values.iter().map(|&value| u32::try_from(value).unwrap_or(u32::MAX)));
        }
    }
    version_1(machine, nodes)
}

/// The numbers of all children of this name together: hwloc splits long ones.
fn numbers<N: std::str::FromStr>(matrix: Node<'_, '_>, name: &str) -> Result<Vec<N>, TopologyError> {
    let mut out = Vec::new();
    for child in matrix.children().filter(|child| child.has_tag_name(name)) {
        for word in child.text().unwrap_or("").split_whitespace() {
            let number = word.parse();
            out.push(number.map_err(|_| TopologyError::garbage(path_of(child), "numbers", word))?);
        }
    }
    Ok(out)
}

/// Latencies relative to `latency_base`, in the order of the nodes.
fn version_1(machine: Node<'_, '_>, nodes: &[Node<'_, '_>]) -> Result<Distances, TopologyError> {
    let Some(matrix) = machine.children().find(|child| {
        child.has_tag_name("distances") && child.attribute("nbobjs") == Some(nodes.len().to_string().as_str())
    }) else {
        return Ok(Distances::new());
    };
    let base = element::number::<f32>(matrix, "latency_base")?.unwrap_or(1.0);
    let mut values = Vec::new();
    for latency in matrix.children().filter(|child| child.has_tag_name("latency")) {
        let value = element::number::<f32>(latency, "value")?.unwrap_or(0.0) * base;
        if !(0.0..1e6).contains(&value) {
            return Err(element::garbage(latency, "value", "a latency", &value.to_string()));
        }
        #[expect(clippy::cast_sign_loss, reason = "checked above")]
        values.push(value.round() as u32);
    }
    let mut indexes = Vec::with_capacity(nodes.len());
    for &node in nodes {
        indexes.extend(element::number::<u32>(node, "os_index")?);
    }
    fill(matrix, &indexes, values.into_iter())
}

fn fill(
    matrix: Node<'_, '_>,
    indexes: &[u32],
    mut values: impl ExactSizeIterator<Item = u32>,
) -> Result<Distances, TopologyError> {
    if values.len() != indexes.len() * indexes.len() || indexes.is_empty() {
        let found = format!("{} indexes and {} values", indexes.len(), values.len());
        return Err(TopologyError::garbage(path_of(matrix), "n indexes and n*n values", &found));
    }
    let mut out = Distances::new();
    for &from in indexes {
        for &to in indexes {
            out.insert((from, to), values.next().unwrap_or(0));
        }
    }
    for &from in indexes {
        let row = out.range((from, 0)..=(from, u32::MAX)).map(|(&(_, to), &distance)| (to, distance));
        nearest_is_itself(&path_of(matrix), from, row)?;
    }
    Ok(out)
}
