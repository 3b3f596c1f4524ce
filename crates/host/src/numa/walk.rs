//! Moves pages of another process between nodes, a batch at a time: `move_pages(2)`.
//!
//! It touches only memory that is the process's own: no shared memory, no files, no special areas,
//! and no areas for which the process has set a policy of its own. The process goes on meanwhile; a
//! thread that touches a page in the microseconds in which it moves waits for it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::maps::{Area, numa_maps};
use crate::error::{self, HostError};

/// Pages named in one system call: the pages of a huge page of 2 MiB. Calls begin at its
/// boundaries.
const CALL_PAGES: usize = 512;
/// Times pages of one call are tried that the kernel has left out because another one could not be
/// moved.
const TRIES: u32 = 4;
/// A status that the kernel has not written.
const UNTOLD: i32 = i32::MIN;

/// The nodes where pages should be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// OS indices of nodes whose pages stay.
    pub stay: Vec<u32>,
    /// OS indices of nodes that the others go to, in turn; some of `stay`.
    pub to: Vec<u32>,
}

impl Target {
    /// Bytes of this area that are elsewhere.
    pub fn elsewhere(&self, area: &Area) -> u64 {
        let places = area.by_node.iter().filter(|(node, _)| !self.stay.contains(node));
        places.map(|(_, pages)| pages * area.page_bytes).sum()
    }
}

/// The result of a step, in pages of the size that [`page_bytes`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Batch {
    /// Addresses looked at.
    pub looked: u64,
    /// Pages that are where they should be now and were not before.
    pub moved: u64,
    /// In use by the kernel just now, or left out because of others that were.
    pub busy: u64,
    /// Mapped by other processes too.
    pub shared: u64,
    /// The target node has no room: nothing more is moved.
    pub full: bool,
    /// The target node may not be used by that process (its cpuset), or is gone: nothing more is
    /// moved.
    pub forbidden: bool,
    /// The whole process has been gone through, or nothing more can be moved.
    pub done: bool,
}

/// The kernel's answers, so that they can be played in tests.
pub(super) trait Pages {
    /// The node of each address, or a negative error number.
    fn look(&mut self, addresses: &[u64], status: &mut [i32]) -> io::Result<()>;
    /// Moves each address to its node. Some statuses may stay as they are.
    fn shift(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()>;
}

/// Pages of a process.
struct OfProcess(u32);

impl OfProcess {
    fn call(&self, addresses: &[u64], nodes: Option<&[i32]>, status: &mut [i32]) -> io::Result<()> {
        const MOVE_OWN: libc::c_int = 1 << 1;
        let count = addresses.len().min(status.len()).min(nodes.map_or(usize::MAX, <[i32]>::len));
        let nodes = nodes.map_or(std::ptr::null(), <[i32]>::as_ptr);
        let pid = self.0.cast_signed();
        // SAFETY: all three arrays have at least `count` entries, of the sizes that the kernel
        // wants (pointer, int, int); addresses are only names of pages of another process, and the
        // contents of those pages stay the same.
        let result = unsafe {
            let (names, told) = (addresses.as_ptr(), status.as_mut_ptr());
            libc::syscall(libc::SYS_move_pages, pid, count, names, nodes, told, MOVE_OWN)
        };
        // A positive number counts pages that could not be moved: the statuses say which.
        if result >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Pages for OfProcess {
    fn look(&mut self, addresses: &[u64], status: &mut [i32]) -> io::Result<()> {
        self.call(addresses, None, status)
    }

    fn shift(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
        self.call(addresses, Some(nodes), status)
    }
}

/// Part of an area that is still to be gone through.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Range {
    at: u64,
    end: u64,
    page_bytes: u64,
    /// Pages that were elsewhere when it was counted.
    left: u64,
}

/// A way through the memory of one process. It can be left and taken up again at any time.
#[derive(Debug)]
pub struct Walk {
    pid: u32,
    target: Target,
    ranges: Vec<Range>,
    turn: usize,
}

impl Walk {
    /// Through all pages of `pid` that are elsewhere and may be moved.
    pub fn new(pid: u32, target: Target) -> Result<Self, HostError> {
        let path = Path::new("/proc").join(pid.to_string()).join("maps");
        let bytes = fs::read(&path).map_err(error::file("read", &path))?;
        let ends = parse_maps(&String::from_utf8_lossy(&bytes));
        Ok(Self::through(pid, target, &numa_maps(pid)?, &ends))
    }

    fn through(pid: u32, target: Target, areas: &[Area], ends: &BTreeMap<u64, u64>) -> Self {
        let mut ranges = Vec::new();
        for area in areas.iter().filter(|area| area.may_be_moved()) {
            let left = target.elsewhere(area) / area.page_bytes;
            if let Some(&end) = ends.get(&area.start).filter(|_| left > 0) {
                ranges.push(Range { at: area.start, end, page_bytes: area.page_bytes, left });
            }
        }
        // Taken from the end.
        ranges.reverse();
        Self { pid, target, ranges, turn: 0 }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Goes on by about `looks` addresses, moving about `moves` pages of 4 KiB: at most one call's
    /// worth more, because a transparent huge page moves whole, and is counted whole only if all of
    /// it is in one call.
    ///
    /// # Errors
    /// The process is gone, is somebody else's, or the kernel has no such call.
    pub fn step(&mut self, looks: usize, moves: u64) -> Result<Batch, HostError> {
        let mut pages = OfProcess(self.pid);
        self.step_with(&mut pages, looks, moves).map_err(error::process("move pages", self.pid))
    }

    fn step_with(&mut self, pages: &mut impl Pages, looks: usize, moves: u64) -> io::Result<Batch> {
        let mut batch = Batch::default();
        let mut looked = 0;
        while looked < looks && batch.moved < moves && !batch.full && !batch.forbidden {
            let Some(range) = self.ranges.last_mut() else { break };
            let most = CALL_PAGES as u64 / small_pages(range.page_bytes).min(CALL_PAGES as u64);
            let to_boundary = most - range.at / range.page_bytes % most;
            let count = (range.end - range.at).div_ceil(range.page_bytes).min(to_boundary);
            let addresses: Vec<u64> = (0..count).map(|page| range.at + page * range.page_bytes).collect();
            range.at += count * range.page_bytes;
            looked += addresses.len();
            let before = (batch.moved, batch.busy + batch.shared);
            let size = range.page_bytes;
            self.call(pages, &addresses, size, &mut batch)?;
            let Some(range) = self.ranges.last_mut() else { break };
            let done = (batch.moved - before.0) / small_pages(size) + batch.busy + batch.shared - before.1;
            range.left = range.left.saturating_sub(done);
            if range.at >= range.end || range.left == 0 {
                self.ranges.pop();
            }
        }
        batch.looked = looked as u64;
        batch.done = self.ranges.is_empty() || batch.full || batch.forbidden;
        Ok(batch)
    }

    /// Makes one call: moves the pages at `addresses` that are elsewhere.
    fn call(&mut self, pages: &mut impl Pages, addresses: &[u64], size: u64, batch: &mut Batch) -> io::Result<()> {
        let mut status = vec![UNTOLD; addresses.len()];
        pages.look(addresses, &mut status)?;
        let stays = |node: i32, target: &Target| u32::try_from(node).is_ok_and(|node| target.stay.contains(&node));
        let elsewhere = |node: &i32, target: &Target| *node >= 0 && !stays(*node, target);
        let mut left: Vec<u64> = Vec::new();
        left.extend(addresses.iter().zip(&status).filter(|(_, node)| elsewhere(node, &self.target)).map(|(at, _)| *at));
        for attempt in 1..=TRIES {
            if left.is_empty() || self.target.to.is_empty() {
                break;
            }
            let nodes = self.next_nodes(left.len());
            let mut told = vec![UNTOLD; left.len()];
            let outcome = pages.shift(&left, &nodes, &mut told);
            let mut now = vec![UNTOLD; left.len()];
            pages.look(&left, &mut now)?;
            let mut again = Vec::new();
            for ((&at, now), told) in left.iter().zip(now).zip(told) {
                match now {
                    there if stays(there, &self.target) => batch.moved += small_pages(size),
                    // It has been given back, or is in the swap, meanwhile.
                    gone if gone < 0 => {}
                    _ if told == -libc::EACCES => batch.shared += 1,
                    _ if told == -libc::EBUSY || attempt == TRIES => batch.busy += 1,
                    _ => again.push(at),
                }
            }
            match outcome.map_err(|cause| (cause.raw_os_error(), cause)) {
                Ok(()) => {}
                Err((Some(libc::ENOMEM), _)) => batch.full = true,
                Err((Some(libc::EACCES | libc::ENODEV), _)) => batch.forbidden = true,
                Err((_, cause)) => return Err(cause),
            }
            if batch.full || batch.forbidden {
                break;
            }
            left = again;
        }
        Ok(())
    }

    /// The next nodes in turn.
    fn next_nodes(&mut self, count: usize) -> Vec<i32> {
        let to = &self.target.to;
        let nodes = (0..count).map(|page| to[(self.turn + page) % to.len()].cast_signed()).collect();
        self.turn = (self.turn + count) % to.len();
        nodes
    }
}

/// Pages of 4 KiB in one of this size.
fn small_pages(bytes: u64) -> u64 {
    (bytes / 4096).max(1)
}

/// Bytes that [`Batch`] counts as one page.
pub const fn page_bytes() -> u64 {
    4096
}

/// Ends of private areas by their beginnings: `5581e0a7f000-5581e0aa0000 rw-p 00000000 00:00 0
/// [heap]`.
fn parse_maps(text: &str) -> BTreeMap<u64, u64> {
    text.lines().filter_map(parse_maps_line).collect()
}

fn parse_maps_line(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |word: &str| u64::from_str_radix(word, 16).ok();
    let private = words.next()?.ends_with('p');
    let special = matches!(words.nth(3), Some("[vdso]" | "[vvar]" | "[vsyscall]" | "[vvar_vclock]"));
    let (start, end) = (number(start)?, number(end)?);
    (private && !special && start < end).then_some((start, end))
}

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
