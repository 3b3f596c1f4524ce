//! Advice for people: a sentence and a small table. Pure functions.

use super::Node;
use crate::columns;
use crate::say::{self, Tone, paint};
use numaestro_abi::control::Advice;
use numaestro_topology::CpuSet;
use std::fmt::Write;

/// The result, without the reason.
pub fn sentence(advice: &Advice) -> String {
    let on = |cpus: &str| if single(cpus) { format!("processor {cpus}") } else { format!("processors {cpus}") };
    match advice.position {
        Some(position) => format!("it would wait: number {position} in the queue"),
        None if advice.cpus.is_empty() => "it would wait for its turn".to_owned(),
        None if advice.count == 0 => format!("it would share {} with others", on(&advice.cpus)),
        None => {
            let shared = if advice.shared { ", which others may use too" } else { "" };
            let node = match advice.nodes.as_str() {
                "" => String::new(),
                nodes if single(nodes) => format!(" on node {nodes}"),
                nodes => format!(" on nodes {nodes}"),
            };
            let own = if advice.count == 1 { "1 processor of its own" } else { "processors of its own" };
            let count = if advice.count == 1 { String::new() } else { format!("{} ", advice.count) };
            format!("it would get {count}{own}: {}{node}{shared}", advice.cpus)
        }
    }
}

fn single(list: &str) -> bool {
    list.parse::<u32>().is_ok()
}

/// Everything, for a terminal or a pipe.
pub fn tell(advice: &Advice, managed: bool, nodes: &[Node], colours: bool) -> String {
    let mut text = format!("{}\n", paint(&say::capital(&sentence(advice)), Tone::Strong, colours));
    let _ = writeln!(text, "why        {}", advice.why);
    if !advice.cpus.is_empty() {
        let idle = if advice.free.is_empty() { "none: others make room first" } else { &advice.free };
        let _ = writeln!(text, "free now   {idle}");
    }
    if !advice.memory_nodes.is_empty() {
        let free = advice.memory_free.map_or_else(String::new, |free| format!(", {} free", say::size(free)));
        let _ = writeln!(text, "memory     node {}{free}", advice.memory_nodes);
    }
    if nodes.len() > 1 {
        text.push_str(&table(advice, nodes));
    }
    if !managed {
        let line = "no manager runs: this is what is idle now, and no promise; `numaestro run -- PROGRAM` keeps it so";
        let _ = writeln!(text, "{}", paint(line, Tone::Warn, colours));
    }
    text
}

/// One line for each node: the part of it that would be the program's.
fn table(advice: &Advice, nodes: &[Node]) -> String {
    let set = |list: &str| list.parse::<CpuSet>().unwrap_or_default();
    let (cpus, free, memory) = (set(&advice.cpus), set(&advice.free), set(&advice.memory_nodes));
    let or_none = |set: CpuSet| if set.is_empty() { "-".to_owned() } else { set.to_string() };
    let mut rows = vec![["node", "processors", "free now", "memory free", "distance", ""].map(str::to_owned)];
    for node in nodes {
        let own = cpus.intersection(&set(&node.cpus));
        let distances: Vec<String> = node.distances.iter().map(u32::to_string).collect();
        rows.push([
            node.node.to_string(),
            or_none(own.clone()),
            or_none(own.intersection(&free)),
            node.memory_free.map_or_else(|| "?".to_owned(), say::size),
            distances.join(" "),
            if memory.contains(node.node) { "<- memory".to_owned() } else { String::new() },
        ]);
    }
    columns::headed(&rows, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice() -> Advice {
        Advice {
            count: 2,
            cpus: "1-2".into(),
            free: "2".into(),
            nodes: "0-1".into(),
            memory_nodes: "1".into(),
            memory_free: Some(3 << 29),
            why: "because".into(),
            ..Advice::default()
        }
    }

    fn node(node: u32, cpus: &str, free: u64) -> Node {
        let distances = if node == 0 { vec![10, 21] } else { vec![21, 10] };
        Node { node, cpus: cpus.into(), memory: Some(4 << 30), memory_free: Some(free), distances }
    }

    #[test]
    fn sentences() {
        assert_eq!(sentence(&advice()), "it would get 2 processors of its own: 1-2 on nodes 0-1");
        let one = Advice { count: 1, cpus: "3".into(), nodes: "1".into(), ..advice() };
        assert_eq!(sentence(&one), "it would get 1 processor of its own: 3 on node 1");
        let guest = Advice { count: 0, shared: true, ..advice() };
        assert_eq!(sentence(&guest), "it would share processors 1-2 with others");
        let waits = Advice { count: 0, cpus: String::new(), position: Some(2), ..advice() };
        assert_eq!(sentence(&waits), "it would wait: number 2 in the queue");
        let stopped = Advice { count: 0, cpus: String::new(), ..advice() };
        assert_eq!(sentence(&stopped), "it would wait for its turn");
    }

    #[test]
    fn the_table_shows_what_would_be_its_own() {
        let text = tell(&advice(), true, &[node(0, "0-1", 5 << 20), node(1, "2-3", 3 << 29)], false);
        let expected = "\
It would get 2 processors of its own: 1-2 on nodes 0-1
why        because
free now   2
memory     node 1, 1.5 GiB free
node  processors  free now  memory free  distance
0     1           -         5 MiB        10 21
1     2           2         1.5 GiB      21 10     <- memory
";
        assert_eq!(text, expected);
        assert!(tell(&advice(), false, &[], false).contains("no promise"));
    }
}
