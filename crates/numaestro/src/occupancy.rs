//! Draws the strip of processing units: the application of each, as one character and one colour
//! index. Shared by `status` and `top`.

use numaestro_abi::control::{PuStatus, Status, letter};

/// The sign of one PU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The owner's sign, or `.` free, `-` reserved, `x` unmanaged, `_` offline.
    pub sign: char,
    /// Place of the owner among the applications.
    pub owner: Option<usize>,
    /// Announced to its owner as leaving, or shared: worth a second look.
    pub moving: bool,
}

/// One NUMA node and its PUs, in hardware order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// OS index of the node.
    pub node: u32,
    /// Its PUs.
    pub cells: Vec<Cell>,
}

/// The meaning of each character, for a legend.
pub const LEGEND: &str = ". free  - reserved  ? others'  x unmanaged load  _ offline  * leaving or shared";

/// All rows, one per NUMA node.
pub fn rows(status: &Status) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for pu in &status.pus {
        let cell = cell(status, pu);
        match rows.last_mut() {
            Some(row) if row.node == pu.node => row.cells.push(cell),
            _ => rows.push(Row { node: pu.node, cells: vec![cell] }),
        }
    }
    rows
}

fn cell(status: &Status, pu: &PuStatus) -> Cell {
    let owner = pu.owner.and_then(|app| status.apps.iter().position(|a| a.app == app));
    let sign = match (owner, pu.state.as_str()) {
        (_, "offline") => '_',
        (Some(place), _) => letter(place),
        (None, "reserved") => '-',
        (None, "unmanaged") => 'x',
        (None, "owned" | "leaving") => '?',
        (None, _) => '.',
    };
    Cell { sign, owner, moving: pu.state == "leaving" || !pu.guests.is_empty() }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use numaestro_abi::control::{AppStatus, Class};

    /// A machine of two nodes with two applications, for tests of the pictures.
    pub fn example() -> Status {
        let app = |app: u64, name: &str, count: u32, cpus: &str| AppStatus {
            app,
            user: None,
            job: None,
            pid: 4000 + u32::try_from(app).expect("small"),
            name: name.into(),
            class: Class::Malleable,
            state: "running".into(),
            runtimes: vec!["libgomp".into()],
            libraries: vec![],
            btr: None,
            memory: None,
            request: 4,
            count,
            cpus: cpus.into(),
            shared: false,
            folded: app == 9,
            folding: None,
            jobserver: None,
            held_by: if app == 9 { "explicit sizes".into() } else { String::new() },
            team: count,
            regions: 1_234_567,
            epoch: [3, 3],
            weight_milli: 1000,
            min: 1,
            max: None,
            age_s: 75.0,
            why: "an equal share of 4 processors".into(),
        };
        let pu = |os: u32, state: &str, owner: Option<u64>| PuStatus {
            os,
            node: os / 2,
            core: os,
            state: state.into(),
            owner,
            guests: vec![],
        };
        Status {
            version: "0.1.0".into(),
            pid: 77,
            uptime_s: 3700.0,
            policy: "equi".into(),
            cpus: "0-3".into(),
            confined: String::new(),
            unmanaged: 1,
            decisions: 12,
            decision_ns: [2_000, 9_000],
            recording: false,
            bandwidth: None,
            apps: vec![app(7, "lulesh", 2, "0-1"), app(9, "python3", 1, "2")],
            pus: vec![
                pu(0, "owned", Some(7)),
                pu(1, "leaving", Some(7)),
                pu(2, "owned", Some(9)),
                pu(3, "unmanaged", None),
            ],
            queue: vec![11],
            nodes: vec![],
        }
    }

    #[test]
    fn rows_follow_the_nodes() {
        let rows = rows(&example());
        let text: Vec<String> = rows.iter().map(|row| row.cells.iter().map(|c| c.sign).collect()).collect();
        assert_eq!(text, ["AA", "Bx"]);
        assert!(rows[0].cells[1].moving && !rows[0].cells[0].moving);
        assert_eq!(rows[1].node, 1);
    }
}
