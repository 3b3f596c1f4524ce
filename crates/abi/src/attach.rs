//! The binary messages on the `attach` socket (`SOCK_SEQPACKET`, one message a packet,
//! little-endian).
//!
//! A program keeps **no descriptor** of ours: it connects, sends one message, gets at most one
//! answer, and closes. The manager knows the sender from the kernel (`SO_PEERCRED`), and learns of
//! its death through a pidfd.
//!
//! Each message is a structure without padding, so its bytes are the message: `zerocopy` checks
//! that when it derives reading and writing.

use zerocopy::{FromBytes, Immutable, IntoBytes, TryFromBytes};

/// First word of every message: `"NMA1"`.
pub const MAGIC: u32 = u32::from_le_bytes(*b"NMA1");
/// Version of these messages.
pub const VERSION: u16 = 1;

/// The kind of a message.
#[repr(u16)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, TryFromBytes)]
pub enum Kind {
    /// Program → manager: I run parallel regions; give me a page. Answered by `Welcome`.
    Hello = 1,
    /// Manager → program, with the page's descriptor (`SCM_RIGHTS`) when `code` is 0.
    Welcome = 2,
    /// Program → manager: every thread of mine is inside the cpuset of `epoch`. Not answered.
    Adopted = 3,
    /// Program → manager: I am parallel again, give my lent processors back. Not answered.
    Busy = 4,
    /// Program → manager: `value` processors wanted (0 = no wish). Not answered.
    Request = 5,
    /// Program → manager: the program can use `value` processors (0 = no limit of its own); its
    /// virtual processors in the page say which of its processors are idle now. Not answered.
    Demand = 6,
    /// Program → manager: the speedup on `value` processors over 1 processor is `second`
    /// thousandths. Not answered.
    Speedup = 7,
    /// Process → manager, see [`Query`]: asks what a program would get if it came now. Answered by
    /// `Advice`, or by `Welcome` with the reason of a refusal.
    Advise = 8,
    /// Manager → process, see [`Advised`].
    Advice = 9,
    /// Program → manager: its largest team has `value` threads, more than it said in [`Hello`]. Not
    /// answered.
    Team = 10,
    /// Program → manager: are you still the manager whose process id is `value`? Answered by
    /// `Welcome`, without a page: [`code::OK`] or [`code::REFUSED`]. For programs in a process-id
    /// namespace of their own, where that id means nothing.
    Alive = 11,
    /// Process → manager: I am about to become another program, and have put myself on all
    /// processors that I may have: it is to size itself by them. Not answered.
    Begins = 12,
}

/// How every message begins, 8 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: u32,
    /// Which [`Kind`].
    pub kind: u16,
    /// [`VERSION`].
    pub version: u16,
}
const _: () = assert!(std::mem::size_of::<Head>() == 8);

/// Program → manager, 640 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Hello {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`Kind::Hello`].
    pub kind: u16,
    /// [`VERSION`].
    pub version: u16,
    /// Version of the page layout the client was built for.
    pub page_version: u32,
    /// Bits of [`crate::page::runtime`].
    pub runtimes: u32,
    /// Largest team the program would use by itself.
    pub threads_max: u32,
    /// 1: the client re-attaches after the manager went away; the claim below names its processors.
    pub reattach: u32,
    /// Re-attach: number of processors the program has.
    pub claim_count: u32,
    /// Zero.
    pub reserved: u32,
    /// Re-attach: the application number the former manager gave.
    pub claim_app: u64,
    /// Program name, NUL-padded.
    pub name: [u8; 64],
    /// Re-attach: the cpuset the program has, OS indices below 4096.
    pub claim_cpuset: [u64; 64],
    /// Zero.
    pub pad: [u8; 24],
}
const _: () = assert!(std::mem::size_of::<Hello>() == 640);

/// Manager → program, 192 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Welcome {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`Kind::Welcome`].
    pub kind: u16,
    /// [`VERSION`].
    pub version: u16,
    /// 0, or one of [`code`].
    pub code: u32,
    /// Zero.
    pub reserved: u32,
    /// The number of this application.
    pub app: u64,
    /// The reason of a refusal, for people. With [`code::OK`] the processors that the program may
    /// have, as a list of Linux, or nothing where that list is too long. NUL-padded.
    pub text: [u8; 168],
}
const _: () = assert!(std::mem::size_of::<Welcome>() == 192);

/// Program → manager, 24 bytes: the message of every kind that has none of its own.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Notice {
    /// [`MAGIC`].
    pub magic: u32,
    /// The [`Kind`].
    pub kind: u16,
    /// [`VERSION`].
    pub version: u16,
    /// The number of this application.
    pub app: u64,
    /// `Adopted`: the epoch. `Request`, `Demand`, `Speedup`: processors. `Team`: threads. `Alive`:
    /// a process id. Else 0.
    pub value: u32,
    /// `Adopted`: 1 if by folding. `Speedup`: thousandths. Else 0.
    pub second: u32,
}
const _: () = assert!(std::mem::size_of::<Notice>() == 24);

impl Notice {
    /// [`Kind::Begins`] as it is sent.
    pub fn begins() -> [u8; 24] {
        let (kind, version) = (Kind::Begins as u16, VERSION);
        zerocopy::transmute!(Self { magic: MAGIC, kind, version, app: 0, value: 0, second: 0 })
    }
}

/// Process → manager, 64 bytes. Every process that may attach may ask, attached or not. Nothing
/// changes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Query {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`Kind::Advise`].
    pub kind: u16,
    /// [`VERSION`].
    pub version: u16,
    /// Processors that the program could use; 0 = as many as there are.
    pub processors: u32,
    /// The fewest processors that the program accepts; 0 = 1.
    pub min: u32,
    /// Bytes of memory that the program is going to need; 0 = not known.
    pub memory: u64,
    /// Zero.
    pub reserved: [u32; 10],
}
const _: () = assert!(std::mem::size_of::<Query>() == 64);

/// Words of the sets of processors in [`Advised`]: OS indices below 8192.
pub const ADVISED_CPU_WORDS: usize = 128;
/// Words of the sets of nodes in [`Advised`]: OS indices below 1024.
pub const ADVISED_NODE_WORDS: usize = 16;

/// Manager → process, 2560 bytes: the answer to [`Query`]. In sets, bit i mod 64 of word i / 64
/// stands for OS index i.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Advised {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`Kind::Advice`].
    pub kind: u16,
    /// [`VERSION`].
    pub version: u16,
    /// 0, or [`code::REFUSED`].
    pub code: u32,
    /// Bits of [`advice`].
    pub flags: u32,
    /// Processors of its own that the program would have once others have made room; 0: it would
    /// wait, or share.
    pub count: u32,
    /// Threads that the manager would tell it to run with; 0: it would wait.
    pub threads: u32,
    /// Place in the queue where it would wait, 1 is next; 0: it would not wait there.
    pub position: u32,
    /// Zero.
    pub reserved: u32,
    /// Bytes that are free on `memory_nodes`; `u64::MAX`: not known.
    pub memory_free: u64,
    /// Zero.
    pub pad: u64,
    /// Processors where it would run.
    pub cpus: [u64; ADVISED_CPU_WORDS],
    /// Processors of `cpus` that nobody uses now.
    pub free: [u64; ADVISED_CPU_WORDS],
    /// NUMA nodes of `cpus`.
    pub nodes: [u64; ADVISED_NODE_WORDS],
    /// NUMA nodes where its memory should be.
    pub memory_nodes: [u64; ADVISED_NODE_WORDS],
    /// The reason, for people; NUL-padded.
    pub text: [u8; 208],
}
const _: () = assert!(std::mem::size_of::<Advised>() == 2560);

/// Bits of [`Advised::flags`].
pub mod advice {
    /// Others would run on some of the processors.
    pub const SHARED: u32 = 1 << 0;
    /// The program would wait: in the queue, or for its first turn.
    pub const WAITS: u32 = 1 << 1;
}

/// Codes of [`Welcome::code`] and [`Advised::code`]; never renumbered.
pub mod code {
    /// Attached.
    pub const OK: u32 = 0;
    /// The manager did not understand the message.
    pub const MALFORMED: u32 = 1;
    /// Manager and program have no version in common.
    pub const VERSION: u32 = 2;
    /// The process is another user's.
    pub const PERMISSION: u32 = 3;
    /// The manager has no descriptors, memory or room left.
    pub const EXHAUSTED: u32 = 4;
    /// The manager is stopping.
    pub const STOPPING: u32 = 5;
    /// The manager cannot fulfil the program's wishes.
    pub const REFUSED: u32 = 6;
}
