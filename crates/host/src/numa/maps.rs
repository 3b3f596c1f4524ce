//! Reads `/proc/PID/numa_maps`: the nodes of a process's pages, area by area.
//!
//! The kernel counts by walking the page tables, which takes about 10 ns a page; the process goes
//! on meanwhile, but cannot map or unmap.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::policy::{MemoryPolicy, Mode};
use crate::error::{self, HostError};

/// One area of a process's memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Area {
    /// Address of its first byte.
    pub start: u64,
    /// Its policy, or else that of the process's first thread, in the kernel's words: `default`,
    /// `prefer=static:1`, `bind:0-1`.
    pub policy: String,
    /// The file it maps, if any, with the kernel's escapes.
    pub file: Option<String>,
    /// Its pages of `page_bytes` that are the process's own (anonymous ones, and private copies of
    /// a file's).
    pub anonymous: u64,
    /// All its pages that are there, by OS index of the node.
    pub by_node: Vec<(u32, u64)>,
    /// Bytes of a page: 4096, or the size of this area's huge pages. Transparent huge pages are
    /// counted in small ones.
    pub page_bytes: u64,
}

impl Area {
    /// Pages that are there.
    pub fn pages(&self) -> u64 {
        self.by_node.iter().map(|(_, pages)| pages).sum()
    }

    /// Nearly all of its pages are the process's own.
    pub fn is_anonymous(&self) -> bool {
        self.anonymous > 0 && self.anonymous * 2 > self.pages()
    }

    /// The process has set a policy of its own for it, or for itself.
    pub fn has_own_policy(&self) -> bool {
        let ours = |policy: MemoryPolicy| matches!(policy.mode, Mode::Default | Mode::Preferred | Mode::Interleave);
        !self.policy.parse().is_ok_and(ours)
    }

    /// Its pages are the process's own, and it does not matter to the process where they are.
    pub fn may_be_moved(&self) -> bool {
        self.is_anonymous() && !self.has_own_policy()
    }
}

/// Reads the text; lines that are not understood are left out, so that words of kernels to come do
/// no harm.
pub fn parse_numa_maps(text: &str) -> Vec<Area> {
    text.lines().filter_map(parse_line).collect()
}

/// `55d0c0 prefer:1 anon=3 dirty=3 active=0 N0=2 N1=1 kernelpagesize_kB=4`.
fn parse_line(line: &str) -> Option<Area> {
    let mut words = line.split_ascii_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let policy = words.next()?.to_owned();
    let mut area = Area { start, policy, page_bytes: 4096, ..Area::default() };
    for word in words {
        let Some((name, value)) = word.split_once('=') else { continue };
        match name {
            "anon" => area.anonymous = value.parse().ok()?,
            "file" => area.file = Some(value.to_owned()),
            "kernelpagesize_kB" => area.page_bytes = value.parse::<u64>().ok()?.checked_mul(1024)?,
            _ => {
                if let Some(node) = name.strip_prefix('N').and_then(|node| node.parse().ok()) {
                    area.by_node.push((node, value.parse().ok()?));
                }
            }
        }
    }
    Some(area)
}

/// The areas of `pid`.
pub fn numa_maps(pid: u32) -> Result<Vec<Area>, HostError> {
    let path = Path::new("/proc").join(pid.to_string()).join("numa_maps");
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    // A file's name may be any bytes.
    Ok(parse_numa_maps(&String::from_utf8_lossy(&bytes)))
}

/// Bytes by OS index of the node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Residence {
    /// The process's own pages, as far as the areas say.
    pub anonymous: BTreeMap<u32, u64>,
    /// Pages of files and of memory that is shared with others.
    pub other: BTreeMap<u32, u64>,
}

impl Residence {
    /// Adds an area. Where own and other pages are mixed, as in a library's data, all count as the
    /// kind of the majority.
    pub fn add(&mut self, area: &Area) {
        let places = if area.is_anonymous() { &mut self.anonymous } else { &mut self.other };
        for (node, pages) in &area.by_node {
            *places.entry(*node).or_default() += pages.saturating_mul(area.page_bytes);
        }
    }
}

/// Counts the pages of `pid` on each node.
pub fn residence(pid: u32) -> Result<Residence, HostError> {
    let mut sum = Residence::default();
    for area in numa_maps(pid)? {
        sum.add(&area);
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a machine of four nodes: a heap, a library's text and data, a huge page, an area that
    /// is bound, one that nobody has touched.
    const TEXT: &str = "\
5581c42e5000 default file=/usr/bin/cat mapped=2 active=1 N1=2 kernelpagesize_kB=4
5581e0a7f000 default heap anon=3 dirty=3 active=0 N0=2 N1=1 kernelpagesize_kB=4
7f4ec0000000 prefer=static:2 anon=1536 dirty=1536 active=0 N2=1024 N3=512 kernelpagesize_kB=4
7f4ed0000000 interleave:0-3 file=/dev/hugepages/a\\040b huge anon=4 dirty=4 N0=1 N1=1 N2=1 N3=1 kernelpagesize_kB=2048
7f4ee0000000 default file=/usr/lib/libc.so.6 anon=1 dirty=1 mapped=5 N0=4 N1=2 kernelpagesize_kB=4
7f4ef0000000 bind:0 anon=10 dirty=10 swapcache=1 N0=10 kernelpagesize_kB=4 someword newword=7
7f4ef8000000 default stack
7ffc00000000 default
";

    #[test]
    fn areas_are_read() {
        let areas = parse_numa_maps(TEXT);
        assert_eq!(areas.len(), 8);
        assert_eq!(areas[0].file.as_deref(), Some("/usr/bin/cat"));
        assert!(!areas[0].is_anonymous() && areas[1].is_anonymous() && !areas[7].is_anonymous());
        assert_eq!(areas[2].policy, "prefer=static:2");
        assert_eq!((areas[2].start, areas[2].pages()), (0x7f4e_c000_0000, 1536));
        assert_eq!((areas[3].page_bytes, areas[3].anonymous), (2 << 20, 4));
        let own: Vec<bool> = areas.iter().map(Area::has_own_policy).collect();
        assert_eq!(own, [false, false, false, true, false, true, false, false]);
        assert_eq!(areas[5].by_node, [(0, 10)]);
        assert_eq!(areas[6].pages(), 0);
    }

    #[test]
    fn bytes_are_added_up_by_node_and_sort() {
        let mut sum = Residence::default();
        for area in parse_numa_maps(TEXT) {
            sum.add(&area);
        }
        let huge = 2 << 20;
        let anonymous = [(0, 12 * 4096 + huge), (1, 4096 + huge), (2, 1024 * 4096 + huge), (3, 512 * 4096 + huge)];
        assert_eq!(sum.anonymous, anonymous.into_iter().collect());
        assert_eq!(sum.other, [(0, 4 * 4096), (1, 4 * 4096)].into_iter().collect());
    }

    #[test]
    fn text_that_is_cut_anywhere_is_no_panic() {
        for end in 0..TEXT.len() {
            let areas = parse_numa_maps(&TEXT[..end]);
            assert!(areas.len() <= 8);
        }
        assert!(parse_numa_maps("xyz default\n12 \n\n99999999999999999999 default\n").is_empty());
    }

    #[test]
    fn own_pages_are_seen() {
        let before = residence(std::process::id()).unwrap();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = residence(std::process::id()).unwrap();
        let all = |residence: &Residence| residence.anonymous.values().sum::<u64>();
        assert!(all(&after) >= all(&before) + (60 << 20), "{before:?} {after:?}");
        drop(memory);
        assert!(residence(1 << 30).unwrap_err().is_gone());
    }
}
