//! The shared page: 4096 bytes, one per application, little-endian, no pointers.
//!
//! Every cache line has **one writer**, named in the line's type. A reader may act on a value that
//! is one decision old. The manager never trusts what it reads in a line that an application
//! writes: it clamps. The manager never reads back its own lines.
//!
//! Source: NANOS application slot (Martorell et al. 2000, §5.2), in its protected "MP" variant: one
//! area per application.

pub mod library;

use crate::sync::{AtomicU32, AtomicU64};
use library::Libraries;

/// `"NUMAEST1"` read as a little-endian `u64`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"NUMAEST1");
/// Version of this layout. Stored last when a page is initialised, so that it doubles as "this page
/// is ready".
pub const VERSION: u32 = 6;
/// The oldest client version that can use a page of [`VERSION`].
pub const VERSION_LOWEST: u32 = 1;
/// Size of the page in bytes.
pub const PAGE_BYTES: usize = 4096;
/// Words of the cpuset in the page: PUs with an operating-system index below 8192 can be named.
pub const CPUSET_WORDS: usize = if cfg!(loom) { 1 } else { 128 };

/// Words of the set of nodes in the page: 1024 nodes, the most that Linux can be built for. The
/// model checker follows every atomic, so it gets a small page.
pub const NODE_WORDS: usize = if cfg!(loom) { 0 } else { 16 };

/// Virtual processors a program can register.
pub const VPS: usize = if cfg!(loom) { 1 } else { 256 };

/// Bits of [`ManagerLine::flags`].
pub mod flag {
    /// More than one application runs on these PUs: waiting threads must not spin.
    pub const SHARED: u32 = 1 << 0;
    /// Processors of this application are lent while it is in a sequential phase: say `BUSY` when a
    /// region is entered.
    pub const LENT: u32 = 1 << 1;
    /// The manager has let this application go: no limits, run as if there were no manager.
    pub const RELEASED: u32 = 1 << 2;
    /// Resizing is unrestricted: the user asked for class `malleable`.
    pub const RESIZE_ALWAYS: u32 = 1 << 3;
    /// Never resize: the user asked for class `fold`.
    pub const RESIZE_NEVER: u32 = 1 << 4;
    /// The policy in force wants to know speedups: measure them.
    pub const MEASURE: u32 = 1 << 5;
}

/// Values of [`ManagerLine::memory`]: the places of the program's new pages. A policy that the
/// program has set by itself stays.
pub mod memory {
    /// Nothing has been said.
    pub const UNSAID: u32 = 0;
    /// To the node of the processor that touches them first.
    pub const FIRST_TOUCH: u32 = 1;
    /// To the node in [`Page::nodes`](super::Page::nodes); pages that do not fit go to the nearest.
    pub const PREFERRED: u32 = 2;
    /// To the nodes in [`Page::nodes`](super::Page::nodes) in turn.
    pub const INTERLEAVE: u32 = 3;
}

/// A word of [`Page::vp`]: bits 0–31 thread id, 32–47 OS index of the processor
/// ([`NO_PU`](vp::NO_PU): none), 48–55 state. 0: unused.
pub mod vp {
    /// It has nothing to run and is parked. A processor in its word is the program's, and idle.
    pub const UNALLOCATED: u64 = 1;
    /// It runs on a processor of its own.
    pub const RUNNING: u64 = 2;
    /// It has something to run and no processor of its own.
    pub const STOLEN: u64 = 3;
    /// As `STOLEN`, and another virtual processor is about to hand it a processor.
    pub const CLAIMED: u64 = 4;
    /// In the processor's bits: none.
    pub const NO_PU: u64 = 0xffff;

    /// State of a word; a program may have written anything.
    pub const fn state(word: u64) -> u64 {
        word >> 48 & 0xff
    }

    /// OS index of the processor in a word.
    pub const fn processor(word: u64) -> Option<u32> {
        match word >> 32 & NO_PU {
            NO_PU => None,
            index => Some(index as u32),
        }
    }
}

/// Bits of [`HelperLine::runtimes`]: the runtimes found in the program.
pub mod runtime {
    /// libgomp.
    pub const GOMP: u32 = 1 << 0;
    /// LLVM's or Intel's OpenMP.
    pub const KMP: u32 = 1 << 1;
    /// `OpenBLAS`, any build.
    pub const OPENBLAS: u32 = 1 << 2;
    /// BLIS.
    pub const BLIS: u32 = 1 << 3;
    /// Intel MKL.
    pub const MKL: u32 = 1 << 4;
    /// oneTBB.
    pub const TBB: u32 = 1 << 5;
    /// The C API of `numaestro.h`.
    pub const API: u32 = 1 << 6;
}

/// Values of [`FoldLine::mode`].
///
/// They name the party that switches between the threads of a team with more threads than
/// processors.
pub mod fold {
    /// Nobody: the team has no more threads than processors.
    pub const NONE: u32 = 0;
    /// The preloaded library, in user space.
    pub const USER: u32 = 1;
    /// The kernel.
    pub const KERNEL: u32 = 2;
}

/// Values of [`FoldLine::why`]: reasons against folding in user space.
pub mod why {
    /// Nothing is in the way.
    pub const NONE: u32 = 0;
    /// The user asked for the kernel (`--fold kernel`).
    pub const USER: u32 = 1;
    /// No FSGSBASE, or an architecture that user-space folding does not know.
    pub const MACHINE: u32 = 2;
    /// A runtime or an entry point that is not known.
    pub const RUNTIME: u32 = 3;
    /// Several threads open regions.
    pub const ROOTS: u32 = 4;
    /// More than 1024 threads.
    pub const SIZE: u32 = 5;
    /// There is no helper thread.
    pub const HELPER: u32 = 6;
    /// More than the C library uses restartable sequences.
    pub const RSEQ: u32 = 7;
    /// Mutexes with priority inheritance.
    pub const PI: u32 = 8;
    /// Shadow stacks or protection keys.
    pub const SHADOW: u32 = 9;
    /// The region synchronizes without barriers.
    pub const SYNC: u32 = 10;
    /// Tasks, `ordered` or doacross loops on several processors.
    pub const TASKS: u32 = 11;
    /// Nested regions that are active.
    pub const NESTED: u32 = 12;
    /// `OMP_CANCELLATION` is on.
    pub const CANCEL: u32 = 13;
    /// An assertion inside failed.
    pub const FAULT: u32 = 14;
    /// It is not an OpenMP team.
    pub const OTHER: u32 = 15;
    /// The reasons by number, as programs read them.
    pub const NAMES: [&str; 16] = [
        "none", "user", "machine", "runtime", "roots", "size", "helper", "rseq", "pi", "shadow", "sync", "tasks",
        "nested", "cancel", "fault", "other",
    ];
}

/// 0x000, written once by the manager before the page is handed out.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct HeaderLine {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`]; stored last.
    pub version: AtomicU32,
    /// [`VERSION_LOWEST`].
    pub version_lowest: AtomicU32,
    /// [`PAGE_BYTES`].
    pub page_bytes: AtomicU32,
    /// Process id of the manager.
    pub manager_pid: AtomicU32,
    /// The manager's number of this application.
    pub app: AtomicU64,
    /// Feature bits; none yet.
    pub features: AtomicU64,
    /// Process id of the application.
    pub app_pid: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU32; 5],
}

/// 0x040, written by the manager at each decision that concerns this application.
///
/// Writing: `sequence` odd (Release fence), cpuset, `count`, `flags`, `epoch`, `sequence` even
/// (Release). The hot path of a reader is one relaxed load of `epoch`.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ManagerLine {
    /// Number of the decision; changes with every change of this line but `wanted_until_ns`, or of
    /// the cpuset. The futex word.
    pub epoch: AtomicU32,
    /// Processors to run on now: the size for the next parallel region. At least 1.
    pub count: AtomicU32,
    /// Bits of [`flag`].
    pub flags: AtomicU32,
    /// Odd while the line and the cpuset are being written.
    pub sequence: AtomicU32,
    /// Words of the cpuset in use (the rest is zero).
    pub cpuset_words: AtomicU32,
    /// Time in microseconds that the application has to vacate processors before it is folded.
    pub grace_us: AtomicU32,
    /// `CLOCK_MONOTONIC` nanoseconds of the decision.
    pub decided_ns: AtomicU64,
    /// One of [`memory`].
    pub memory: AtomicU32,
    /// Zero.
    pub reserved: AtomicU32,
    /// `CLOCK_MONOTONIC` nanoseconds up to which others lack processors: ranks of MPI that wait
    /// lend until then. No part of a decision; the manager moves it on at looks for phases.
    pub wanted_until_ns: AtomicU64,
    /// Zero.
    pub reserved_after: [AtomicU32; 4],
}

/// 0x080, written by the thread that opens the program's outermost parallel regions (the root
/// thread).
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct RootLine {
    /// Outermost parallel regions entered so far.
    pub regions: AtomicU64,
    /// 1 while inside one.
    pub in_region: AtomicU32,
    /// Threads of the present or latest region.
    pub team: AtomicU32,
    /// The largest team the program would have used by itself.
    pub team_max: AtomicU32,
    /// Regions that kept their size although the allocation was smaller (folded), modulo 2^32.
    pub held: AtomicU32,
    /// Nanoseconds of `CLOCK_MONOTONIC` at the latest adoption.
    pub adopted_ns: AtomicU64,
    /// The reason why regions keep their size although somebody allows it to follow: 0 they do not,
    /// or nobody allows it; 4 explicit sizes, sections or a BLAS library; 5 the user asked for
    /// class `fold`; 6 `OMP_DYNAMIC=false` or `omp_set_dynamic(0)`. 1 to 3 are retired.
    pub held_by: AtomicU32,
    /// 1 once the size of a region followed the allocation: the user, or the program, allows it.
    pub follows: AtomicU32,
    /// Sleeps of its threads between two polls for messages of MPI so far, modulo 2^32; any thread
    /// that waits there counts.
    pub sleeps: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU32; 3],
}

/// 0x0c0, written by the thread of the program that carries a decision out, under the client's
/// adoption lock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct HelperLine {
    /// Epoch of the latest decision carried out: no thread of the program is outside the cpuset of
    /// that epoch.
    pub adopted_epoch: AtomicU32,
    /// 1 if it was carried out by folding (more threads than processors).
    pub folded: AtomicU32,
    /// Bits of [`runtime`].
    pub runtimes: AtomicU32,
    /// Thread id of the helper thread, 0 if there is none.
    pub helper_tid: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU32; 12],
}

/// 0x100, written by the program through `numaestro.h`.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct RequestLine {
    /// Processors wanted now; 0 = no wish of its own.
    pub requested: AtomicU32,
    /// Processor count of the latest speedup report.
    pub speedup_processors: AtomicU32,
    /// Speedup in thousandths at that count.
    pub speedup_milli: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU32; 13],
}

/// 0x140, written by the program's helper thread while [`flag::MEASURE`] is set: the results of the
/// analyzer in the preloaded library.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct AnalyzerLine {
    /// Processor count of the latest result; 0 = none yet.
    pub processors: AtomicU32,
    /// Speedup at that count over one processor, in thousandths.
    pub speedup_milli: AtomicU32,
    /// Nanoseconds of an iteration of the program's outer loop; 0 = no period found.
    pub iteration_ns: AtomicU64,
    /// Executions of regions that were measured.
    pub samples: AtomicU32,
    /// Share of the time that is spent in parallel regions, in thousandths.
    pub share_milli: AtomicU32,
    /// Time of regions now over their own best at the same size, in thousandths: 1000 = as good, 0
    /// = not known.
    pub stretch_milli: AtomicU32,
    /// Results so far, modulo 2^32: changes with each.
    pub results: AtomicU32,
    /// Nanoseconds that measuring has cost so far.
    pub cost_ns: AtomicU64,
    /// Zero.
    pub reserved: [AtomicU32; 6],
}

/// 0x200, written by the program's helper thread: the folding of the present team.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct FoldLine {
    /// One of [`fold`].
    pub mode: AtomicU32,
    /// One of [`why`].
    pub why: AtomicU32,
    /// Threads of the team.
    pub threads: AtomicU32,
    /// Kernel threads that run them.
    pub carriers: AtomicU32,
    /// Switches in user space since the start.
    pub switches: AtomicU64,
    /// The same in the latest second.
    pub switches_per_second: AtomicU32,
    /// Times that a folded region was given back to the kernel.
    pub unfolds: AtomicU32,
    /// Times that a team was folded.
    pub opened: AtomicU32,
    /// Times that a folded team was dissolved.
    pub dissolved: AtomicU32,
    /// Zero.
    pub reserved: [AtomicU32; 6],
}

/// The whole page.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Page {
    /// 0x000.
    pub header: HeaderLine,
    /// 0x040.
    pub manager: ManagerLine,
    /// 0x080.
    pub root: RootLine,
    /// 0x0c0.
    pub helper: HelperLine,
    /// 0x100.
    pub request: RequestLine,
    /// 0x140.
    pub analyzer: AnalyzerLine,
    /// 0x180: the nodes of [`ManagerLine::memory`], bit `i % 64` of word `i / 64` = the node with
    /// OS index `i`.
    pub nodes: [AtomicU64; NODE_WORDS],
    /// 0x200.
    pub fold: FoldLine,
    /// 0x240.
    pub libraries: Libraries,
    /// 0x400: the cpuset of [`ManagerLine::epoch`], bit `i % 64` of word `i / 64` = the PU with OS
    /// index `i`.
    pub cpuset: [AtomicU64; CPUSET_WORDS],
    /// 0x800: the program's virtual processors, one word each; see [`vp`]. Written by the program
    /// under a lock of its own.
    pub vp: [AtomicU64; VPS],
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Page>() == PAGE_BYTES);
    assert!(offset_of!(Page, header) == 0x000);
    assert!(offset_of!(Page, manager) == 0x040);
    assert!(offset_of!(Page, root) == 0x080);
    assert!(offset_of!(Page, helper) == 0x0c0);
    assert!(offset_of!(Page, request) == 0x100);
    assert!(offset_of!(Page, analyzer) == 0x140);
    assert!(offset_of!(Page, nodes) == 0x180);
    assert!(offset_of!(Page, fold) == 0x200);
    assert!(size_of::<FoldLine>() == 64);
    assert!(offset_of!(Page, libraries) == 0x240);
    assert!(offset_of!(Page, cpuset) == 0x400);
    assert!(offset_of!(Page, vp) == 0x800);
};

impl Default for Page {
    fn default() -> Self {
        Self {
            header: HeaderLine::default(),
            manager: ManagerLine::default(),
            root: RootLine::default(),
            helper: HelperLine::default(),
            request: RequestLine::default(),
            analyzer: AnalyzerLine::default(),
            nodes: std::array::from_fn(|_| AtomicU64::new(0)),
            fold: FoldLine::default(),
            libraries: Libraries::default(),
            cpuset: std::array::from_fn(|_| AtomicU64::new(0)),
            vp: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}
