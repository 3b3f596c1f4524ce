//! `numaestro status --memory`: shows threads and memory by node. A pure function of the snapshot.

use super::{age, clean};
use crate::columns;
use crate::say::{Tone, paint};
use numaestro_abi::control::{AppStatus, MemoryStatus, OnNode, Status, letter};
use std::fmt::Write;

const MIB: u64 = 1 << 20;

/// Nodes, then programs.
pub fn render(status: &Status, colours: bool) -> String {
    let mut text = String::new();
    let line = format!("policy {}, manager {} up {}", status.policy, status.pid, age(status.uptime_s));
    let _ = writeln!(text, "{}", paint(&line, Tone::Strong, colours));
    for node in &status.nodes {
        let cpus = if node.cpus.is_empty() { "no processors".to_owned() } else { format!("processors {}", node.cpus) };
        let _ = writeln!(text, "node {:<3} {cpus}, {} of {} MiB free", node.node, node.free / MIB, node.total / MIB);
    }
    let seen: Vec<(usize, &AppStatus, &MemoryStatus)> =
        status.apps.iter().enumerate().filter_map(|(place, app)| Some((place, app, app.memory.as_ref()?))).collect();
    if seen.is_empty() {
        text.push_str("no applications whose memory could be seen\n");
        return text;
    }
    table(&mut text, status, &seen, colours);
    for (place, _, memory) in &seen {
        for remark in remarks(memory) {
            let _ = writeln!(text, "{} {remark}", letter(*place));
        }
    }
    text
}

fn table(text: &mut String, status: &Status, seen: &[(usize, &AppStatus, &MemoryStatus)], colours: bool) {
    let head = ["", "APP", "NAME", "PAGES", "HOME", "WANTED", "THREADS", "MIB", "SHARED MIB", "AT HOME"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(seen.iter().map(|(place, app, memory)| {
        vec![
            letter(*place).to_string(),
            app.app.to_string(),
            clean(&app.name),
            memory.policy.clone(),
            memory.home.map_or("-".to_owned(), |node| node.to_string()),
            memory.wanted.clone(),
            by_node(status, &memory.threads, 1),
            by_node(status, &memory.bytes, MIB),
            by_node(status, &memory.shared, MIB),
            format!("{}.{} %", memory.at_home_permille / 10, memory.at_home_permille % 10),
        ]
    }));
    text.push_str(&columns::headed(&lines, colours));
}

/// One number for each node, in the order of the nodes above: `12 0 3 0`.
fn by_node(status: &Status, counts: &[OnNode], unit: u64) -> String {
    let count = |node: u32| counts.iter().filter(|on| on.node == node).map(|on| on.count).sum::<u64>() / unit;
    status.nodes.iter().map(|node| count(node.node).to_string()).collect::<Vec<_>>().join(" ")
}

fn remarks(memory: &MemoryStatus) -> Vec<String> {
    let mut remarks = Vec::new();
    if memory.spilled > 0 {
        remarks.push(format!("{} MiB have spilled: {}", memory.spilled / MIB, memory.note));
    } else if memory.elsewhere >= MIB && !memory.note.is_empty() {
        remarks.push(format!("{} MiB are elsewhere: {}", memory.elsewhere / MIB, memory.note));
    }
    if memory.moving {
        remarks.push(format!("{} MiB are being moved", memory.elsewhere / MIB));
    }
    if memory.moved > 0 {
        remarks.push(format!("{} MiB have been moved so far", memory.moved / MIB));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;
    use numaestro_abi::control::NodeStatus;

    #[test]
    fn nodes_and_programs_in_one_table() {
        let mut status = example();
        let node = |node, cpus: &str| NodeStatus { node, cpus: cpus.into(), total: 1024 * MIB, free: 100 * MIB };
        status.nodes = vec![node(0, "0-1"), node(1, "2-3"), node(4, "")];
        assert!(render(&status, false).contains("no applications whose memory"));
        let on = |node, mib| OnNode { node, count: mib * MIB };
        status.apps[0].memory = Some(MemoryStatus {
            policy: "home".into(),
            home: Some(1),
            wanted: "1".into(),
            threads: vec![OnNode { node: 1, count: 4 }],
            bytes: vec![on(1, 700), on(4, 300)],
            shared: vec![on(0, 5)],
            at_home_permille: 700,
            elsewhere: 300 * MIB,
            spilled: 300 * MIB,
            note: "node 1 is full, and the rest has spilled".into(),
            moved: 12 * MIB,
            ..MemoryStatus::default()
        });
        let text = render(&status, false);
        assert!(text.contains("node 4   no processors, 100 of 1024 MiB free\n"), "{text}");
        let line = text.lines().find(|line| line.contains("lulesh")).unwrap();
        for field in ["home", "0 4 0", "0 700 300", "5 0 0", "70.0 %"] {
            assert!(line.contains(field), "{field} in {line}");
        }
        assert!(text.contains("A 300 MiB have spilled: node 1 is full, and the rest has spilled\n"));
        assert!(text.contains("A 12 MiB have been moved so far\n") && !text.contains('\x1b'));
        status.apps[0].memory.as_mut().unwrap().moving = true;
        assert!(render(&status, true).contains("being moved"));
    }
}
