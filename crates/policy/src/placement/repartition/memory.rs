//! The distance of each program's pages from each group.

use super::ground::Ground;
use crate::view::{App, AppId, Slot, View};

/// By program of one decision and group: distance from its pages, weighted by bytes. Rows that have
/// not changed since the last decision are kept.
#[derive(Debug, Clone, Default)]
pub struct Distances {
    groups: usize,
    /// Rows: zeros first, then one for each node, then one for each slot.
    rows: Vec<u16>,
    /// By row: its smallest entry, and the first group that has it.
    least: Vec<(u16, u16)>,
    /// By program: index where its row begins, and whether it is anything but zeros.
    at: Vec<u32>,
    /// By slot: the application that its row was made for, and the pages that it then had.
    known: Vec<Option<(AppId, u64)>>,
    nodes: usize,
}

/// Unknown pages may be at home: that guess counts this many times less than known pages.
const GUESS: u16 = 4;
/// Bytes are weighed in this many parts.
const PARTS: u64 = 1 << 10;

impl Distances {
    /// Begins anew, for another ground.
    pub fn reset(&mut self, ground: &Ground, nodes: usize) {
        (self.groups, self.nodes) = (ground.groups(), nodes);
        self.known.clear();
        self.at.clear();
        self.rows.clear();
        self.rows.resize(self.groups, 0);
        for node in 0..nodes as u32 {
            let reach = ground.reach(numaestro_topology::NumaNodeId(node));
            self.rows.extend(reach.iter().map(|&reach| reach / GUESS));
        }
        self.least.clear();
        self.least.extend(self.rows.chunks_exact(self.groups).map(least));
    }

    /// Forgets the programs of the last decision.
    pub fn begin(&mut self) {
        self.at.clear();
    }

    /// The next program: an application of a view.
    pub fn enter(&mut self, view: &View<'_>, ground: &Ground, slot: Slot) {
        let app = view.app(slot);
        let needs = app.needs_memory > 0 && app.allocation == 0 && !view.free_memory.is_empty();
        let row = if app.memory.iter().any(|&bytes| bytes > 0) {
            self.kept(slot, app, checksum(&app.memory), |row| of_pages(ground, &app.memory, row))
        } else if let Some(home) = app.home.filter(|home| home.index() < self.nodes) {
            1 + home.index()
        } else if needs {
            let sum = checksum(view.free_memory) ^ app.needs_memory.rotate_left(7);
            self.kept(slot, app, sum, |row| of_room(ground, view.free_memory, app.needs_memory, row))
        } else {
            0
        };
        self.at.push((row * self.groups) as u32);
    }

    /// The next program: one whose pages are so far from each group.
    pub fn enter_row(&mut self, row: &[u16]) {
        assert_eq!(row.len(), self.groups, "one distance for each group");
        self.at.push(self.rows.len() as u32);
        self.rows.extend_from_slice(row);
        self.least.push(least(row));
    }

    /// Distance of a processor in a group from a program's pages.
    #[inline]
    pub fn of(&self, program: usize, group: usize) -> u16 {
        self.rows[self.at[program] as usize + group]
    }

    /// The smallest distance of a program's pages from any group.
    pub fn least(&self, program: usize) -> u16 {
        self.least[self.at[program] as usize / self.groups].0
    }

    /// The first group that is nearest to a program's pages; none if nothing is known of them.
    pub fn nearest(&self, program: usize) -> Option<usize> {
        let at = self.at[program] as usize;
        (at > 0).then(|| usize::from(self.least[at / self.groups].1))
    }

    /// Distances of a program's pages from all groups; none if nothing is known of them.
    pub fn row(&self, program: usize) -> Option<&[u16]> {
        let at = self.at[program] as usize;
        (at > 0).then(|| &self.rows[at..at + self.groups])
    }

    /// The row of a slot, made anew if its application or pages have changed.
    fn kept(&mut self, slot: Slot, app: &App, sum: u64, make: impl FnOnce(&mut [u16])) -> usize {
        let row = 1 + self.nodes + slot.index();
        if self.known.len() <= slot.index() {
            self.known.resize(slot.index() + 1, None);
            self.rows.resize((row + 1) * self.groups, 0);
            self.least.resize(row + 1, (0, 0));
        }
        if self.known[slot.index()] != Some((app.id, sum)) {
            self.known[slot.index()] = Some((app.id, sum));
            let fresh = &mut self.rows[row * self.groups..][..self.groups];
            make(fresh);
            self.least[row] = least(fresh);
        }
        row
    }
}

fn least(row: &[u16]) -> (u16, u16) {
    row.iter().copied().zip(0..).min().unwrap_or((0, 0))
}

fn checksum(bytes: &[u64]) -> u64 {
    bytes
        .iter()
        .fold(bytes.len() as u64, |sum, &bytes| (sum ^ bytes).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29))
}

/// The mean distance of the pages there are.
fn of_pages(ground: &Ground, bytes: &[u64], row: &mut [u16]) {
    let total: u128 = bytes.iter().map(|&bytes| u128::from(bytes)).sum();
    let part = |bytes: u64| (u128::from(bytes) * u128::from(PARTS) / total.max(1)) as u64;
    row.fill(0);
    for (group, out) in row.iter_mut().enumerate() {
        let weigh = |(node, &bytes): (usize, &u64)| {
            let reach = ground.reach(numaestro_topology::NumaNodeId(node as u32))[group];
            part(bytes) * u64::from(reach)
        };
        let sum: u64 = bytes.iter().enumerate().filter(|&(_, &bytes)| bytes > 0).map(weigh).sum();
        *out = (sum / PARTS).min(u64::from(u16::MAX)) as u16;
    }
}

/// The mean distance of pages that are still to come: to the nearest nodes that have room for them.
fn of_room(ground: &Ground, free: &[u64], needs: u64, row: &mut [u16]) {
    for (group, out) in row.iter_mut().enumerate() {
        let (mut left, mut sum, mut far) = (needs, 0, 0);
        for &node in ground.near_nodes(group) {
            let taken = left.min(free.get(usize::from(node)).copied().unwrap_or(0));
            far = u64::from(ground.reach(numaestro_topology::NumaNodeId(u32::from(node)))[group]);
            sum += u128::from(taken) * u128::from(far);
            left -= taken;
            if left == 0 {
                break;
            }
        }
        // Pages that fit nowhere count as far as the farthest.
        sum += u128::from(left) * u128::from(far);
        *out = (sum / u128::from(needs.max(1))).min(u128::from(u16::MAX)) as u16;
    }
}
