//! The shared page on Linux: a sealed memfd, mapped by the manager. The protocol
//! ([`numaestro_abi::protocol`]) says how a decision is written into it.

mod library;

pub use library::Library;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use numaestro_abi::page::{self, CPUSET_WORDS, NODE_WORDS, PAGE_BYTES, Page, fold, vp, why};
use numaestro_abi::protocol::{self, Target};
use numaestro_topology::CpuSet;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::error::{self, HostError};
use crate::numa::{MemoryPolicy, Mode};

/// One application's page, from the manager's side. Unmapped when dropped; the application keeps
/// its own mapping.
#[derive(Debug)]
pub struct SharedPage {
    fd: Option<OwnedFd>,
    address: NonNull<Page>,
}

/// A decision that the manager writes into the page.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    /// Number of the decision; any value but the page's present one.
    pub epoch: u32,
    /// Processors, at least 1.
    pub count: u32,
    /// Bits of [`page::flag`].
    pub flags: u32,
    /// OS indices.
    pub cpus: &'a CpuSet,
    /// The memory policy of its new pages; `None`: the decision says nothing of it.
    pub memory: Option<&'a MemoryPolicy>,
    /// `CLOCK_MONOTONIC` nanoseconds.
    pub decided_ns: u64,
}

/// The values that an application writes about itself into its page; clamped, and to be believed of
/// this application only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Outermost parallel regions entered so far.
    pub regions: u64,
    /// It is inside one.
    pub in_region: bool,
    /// Sleeps of its threads between two looks at messages of MPI so far, modulo 2^32.
    pub sleeps: u32,
    /// Threads of the latest region.
    pub team: u32,
    /// Largest team it would use by itself.
    pub team_max: u32,
    /// Regions that were folded.
    pub held: u32,
    /// The reason why its teams keep their size: 0 to 6, see [`page::RootLine::held_by`].
    pub held_by: u32,
    /// The size of its teams follows the allocation.
    pub follows: bool,
    /// Decision carried out latest.
    pub adopted_epoch: u32,
    /// It was carried out by folding.
    pub folded: bool,
    /// Bits of [`page::runtime`].
    pub runtimes: u32,
    /// Processors it wants; 0 = no wish.
    pub requested: u32,
}

/// The application's own report of its folding; clamped, and not to be believed beyond itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Folding {
    /// One of [`page::fold`].
    pub mode: u32,
    /// One of [`page::why`].
    pub why: u32,
    /// Threads of the team.
    pub threads: u32,
    /// Kernel threads that run them, never more than the threads.
    pub carriers: u32,
    /// Switches in user space since the start.
    pub switches: u64,
    /// The same in the latest second, never more than the carriers can make.
    pub switches_per_second: u32,
    /// Times that a folded region was given back to the kernel.
    pub unfolds: u32,
    /// Times that a team was folded.
    pub opened: u32,
    /// Times that a folded team was dissolved.
    pub dissolved: u32,
}

/// A switch takes longer than 10 ns.
const SWITCHES_PER_SECOND_MAX: u32 = 100_000_000;

/// The page says for so long after the next look for phases that processors are wanted. It ends by
/// itself, because the manager may die.
const WANTED_NS: u64 = 200_000_000;

impl SharedPage {
    /// Makes, seals and maps a page for application `app` of process `pid`. It is ready for a
    /// client once the first decision is in it.
    pub fn create(app: u64, pid: u32, grace_us: u32) -> Result<Self, HostError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("numaestro", flags).map_err(error::call("make a page"))?;
        rustix::fs::ftruncate(&fd, PAGE_BYTES as u64).map_err(error::call("size a page"))?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&fd, seals).map_err(error::call("seal a page"))?;
        // SAFETY: a new mapping of a whole file of exactly this size; the seals keep the file from
        // ever becoming shorter.
        let mapped = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                PAGE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &fd,
                0,
            )
        };
        let address = NonNull::new(mapped.map_err(error::call("map a page"))?.cast::<Page>())
            .ok_or(rustix::io::Errno::NOMEM)
            .map_err(error::call("map a page"))?;
        let page = Self { fd: Some(fd), address };
        page.write_header(app, pid, grace_us);
        Ok(page)
    }

    fn write_header(&self, app: u64, pid: u32, grace_us: u32) {
        let page = self.page();
        page.header.magic.store(page::MAGIC, Ordering::Relaxed);
        page.header.version_lowest.store(page::VERSION_LOWEST, Ordering::Relaxed);
        page.header.page_bytes.store(PAGE_BYTES as u32, Ordering::Relaxed);
        page.header.manager_pid.store(std::process::id(), Ordering::Relaxed);
        page.header.app.store(app, Ordering::Relaxed);
        page.header.app_pid.store(pid, Ordering::Relaxed);
        page.manager.grace_us.store(grace_us, Ordering::Relaxed);
        page.manager.count.store(1, Ordering::Relaxed);
        page.header.version.store(page::VERSION, Ordering::Release);
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is whole, aligned and live as long as `self`; every field is atomic,
        // so writers in other processes are no data race.
        unsafe { self.address.as_ref() }
    }

    /// The descriptor to hand out, until [`Self::close_descriptor`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// The page has been handed out: from here on it costs the manager no descriptor. The mapping
    /// stays.
    pub fn close_descriptor(&mut self) {
        self.fd = None;
    }

    /// Publishes a decision and wakes the application's helper thread.
    pub fn publish(&self, decision: &Decision<'_>) -> Result<(), HostError> {
        protocol::write(self.page(), &target_of(decision));
        wake(&self.page().manager.epoch)
    }

    /// Another application lacks processors; the manager finds out at `next_ns` whether it still
    /// does.
    pub fn say_wanted(&self, next_ns: u64) {
        let until = &self.page().manager.wanted_until_ns;
        if until.load(Ordering::Relaxed) < next_ns + WANTED_NS / 2 {
            until.store(next_ns + WANTED_NS, Ordering::Relaxed);
        }
    }

    /// Reads the application's report.
    pub fn report(&self) -> Report {
        let page = self.page();
        let most = CPUSET_WORDS as u32 * 64;
        Report {
            regions: page.root.regions.load(Ordering::Relaxed),
            in_region: page.root.in_region.load(Ordering::Relaxed) != 0,
            sleeps: page.root.sleeps.load(Ordering::Relaxed),
            team: page.root.team.load(Ordering::Relaxed).min(most),
            team_max: page.root.team_max.load(Ordering::Relaxed).min(most),
            held: page.root.held.load(Ordering::Relaxed),
            held_by: page.root.held_by.load(Ordering::Relaxed).min(6),
            follows: page.root.follows.load(Ordering::Relaxed) != 0,
            adopted_epoch: protocol::adopted(page),
            folded: page.helper.folded.load(Ordering::Relaxed) != 0,
            runtimes: page.helper.runtimes.load(Ordering::Relaxed),
            requested: page.request.requested.load(Ordering::Relaxed).min(most),
        }
    }

    /// The application's report of its folding. An unknown mode counts as none.
    pub fn folding(&self) -> Folding {
        let page = self.page();
        let read = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let mode = Some(read(&page.fold.mode)).filter(|mode| *mode <= fold::KERNEL).unwrap_or(fold::NONE);
        let threads = read(&page.fold.threads).min(CPUSET_WORDS as u32 * 64);
        let carriers = read(&page.fold.carriers).min(threads);
        Folding {
            mode,
            why: read(&page.fold.why).min(why::OTHER),
            threads,
            carriers,
            switches: page.fold.switches.load(Ordering::Relaxed),
            switches_per_second: read(&page.fold.switches_per_second)
                .min(carriers.saturating_mul(SWITCHES_PER_SECOND_MAX)),
            unfolds: read(&page.fold.unfolds),
            opened: read(&page.fold.opened),
            dissolved: read(&page.fold.dissolved),
        }
    }

    /// Processors (OS indices) on which the program says it has nothing to run: those of its
    /// virtual processors that are parked.
    pub fn idle(&self) -> CpuSet {
        let words = self.page().vp.iter().map(|word| word.load(Ordering::Relaxed));
        words.filter(|word| vp::state(*word) == vp::UNALLOCATED).filter_map(vp::processor).collect()
    }
}

impl SharedPage {
    /// Pace of the application's parallel regions against their own best, as it says: thousandths,
    /// 2000 is half as fast, 0 is unknown.
    pub fn stretch_milli(&self) -> u32 {
        self.page().analyzer.stretch_milli.load(Ordering::Relaxed)
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `create`, and nothing can use it after `self`.
        // Failure would only leak it.
        let _ = unsafe { rustix::mm::munmap(self.address.as_ptr().cast(), PAGE_BYTES) };
    }
}

/// The decision as the page holds it; processors beyond the page's room are left out.
fn target_of(decision: &Decision<'_>) -> Target {
    let mut cpuset = [0_u64; CPUSET_WORDS];
    for (place, word) in cpuset.iter_mut().zip(decision.cpus.words()) {
        *place = *word;
    }
    let mut nodes = [0_u64; NODE_WORDS];
    for (place, word) in nodes.iter_mut().zip(decision.memory.iter().flat_map(|policy| policy.nodes.words())) {
        *place = *word;
    }
    let memory = decision.memory.map_or(page::memory::UNSAID, |policy| match policy.mode {
        Mode::Default => page::memory::FIRST_TOUCH,
        Mode::Preferred => page::memory::PREFERRED,
        Mode::Interleave => page::memory::INTERLEAVE,
        // A program's new pages are bound by its cpuset or not at all.
        Mode::Bind => page::memory::UNSAID,
    });
    let Decision { epoch, count, flags, decided_ns, .. } = *decision;
    Target { epoch, count, flags, decided_ns, memory, nodes, cpuset }
}

/// Wakes every thread of every process that sleeps on `word`.
fn wake(word: &AtomicU32) -> Result<(), HostError> {
    // Without FUTEX_PRIVATE_FLAG: the sleepers are in other processes.
    let flags = rustix::thread::futex::Flags::empty();
    rustix::thread::futex::wake(word, flags, i32::MAX.cast_unsigned()).map_err(error::call("wake a program"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(epoch: u32, cpus: &CpuSet) -> Decision<'_> {
        Decision { epoch, count: cpus.len() as u32, flags: page::flag::SHARED, cpus, memory: None, decided_ns: 7 }
    }

    #[test]
    fn a_decision_is_written_whole() {
        let page = SharedPage::create(9, 77, 10_000).unwrap();
        let cpus: CpuSet = "1,64-65,200".parse().unwrap();
        page.publish(&decision(3, &cpus)).unwrap();
        let raw = page.page();
        assert_eq!(protocol::read(raw), Some(target_of(&decision(3, &cpus))));
        assert_eq!(raw.header.magic.load(Ordering::Relaxed), page::MAGIC);
        assert_eq!(raw.header.app.load(Ordering::Relaxed), 9);
        assert_eq!(raw.manager.epoch.load(Ordering::Relaxed), 3);
        assert_eq!(raw.manager.count.load(Ordering::Relaxed), 4);
        assert_eq!(raw.manager.cpuset_words.load(Ordering::Relaxed), 4);
        assert_eq!(raw.manager.sequence.load(Ordering::Relaxed) % 2, 0);
        assert_eq!(raw.cpuset[0].load(Ordering::Relaxed), 2);
        assert_eq!(raw.cpuset[1].load(Ordering::Relaxed), 3);
        assert_eq!(raw.manager.memory.load(Ordering::Relaxed), page::memory::UNSAID);
        let home: MemoryPolicy = "prefer=static:65".parse().unwrap();
        page.publish(&Decision { memory: Some(&home), ..decision(5, &cpus) }).unwrap();
        assert_eq!(raw.manager.memory.load(Ordering::Relaxed), page::memory::PREFERRED);
        assert_eq!((raw.nodes[0].load(Ordering::Relaxed), raw.nodes[1].load(Ordering::Relaxed)), (0, 2));
        page.publish(&decision(4, &"0".parse().unwrap())).unwrap();
        assert_eq!(raw.cpuset[3].load(Ordering::Relaxed), 0);
        assert_eq!(raw.manager.cpuset_words.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nobody_can_change_the_size() {
        let page = SharedPage::create(1, 1, 1).unwrap();
        assert!(rustix::fs::ftruncate(page.descriptor().unwrap(), 0).is_err());
        assert!(rustix::fs::ftruncate(page.descriptor().unwrap(), 8192).is_err());
        assert!(rustix::fs::fcntl_add_seals(page.descriptor().unwrap(), SealFlags::WRITE).is_err());
    }

    #[test]
    fn what_an_application_writes_is_clamped() {
        let page = SharedPage::create(1, 1, 1).unwrap();
        page.page().root.team.store(u32::MAX, Ordering::Relaxed);
        page.page().root.held_by.store(99, Ordering::Relaxed);
        page.page().request.requested.store(u32::MAX, Ordering::Relaxed);
        let report = page.report();
        assert_eq!((report.team, report.held_by, report.requested), (8192, 6, 8192));
    }

    #[test]
    fn garbage_about_folding_is_clamped() {
        let page = SharedPage::create(1, 1, 1).unwrap();
        assert_eq!(page.folding(), Folding::default());
        let line = &page.page().fold;
        let words = [&line.mode, &line.why, &line.threads, &line.carriers, &line.switches_per_second];
        for word in words {
            word.store(u32::MAX, Ordering::Relaxed);
        }
        let seen = page.folding();
        assert_eq!((seen.mode, seen.why), (fold::NONE, why::OTHER));
        assert_eq!((seen.threads, seen.carriers, seen.switches_per_second), (8192, 8192, u32::MAX));
        line.mode.store(fold::USER, Ordering::Relaxed);
        line.threads.store(8, Ordering::Relaxed);
        line.carriers.store(2, Ordering::Relaxed);
        assert_eq!((page.folding().mode, page.folding().switches_per_second), (fold::USER, 200_000_000));
        line.threads.store(1, Ordering::Relaxed);
        assert_eq!(page.folding().carriers, 1);
    }

    #[test]
    fn parked_virtual_processors_are_idle() {
        let page = SharedPage::create(1, 1, 1).unwrap();
        assert!(page.idle().is_empty());
        let words = [
            vp::RUNNING << 48 | 3 << 32,
            vp::UNALLOCATED << 48 | 5 << 32,
            vp::UNALLOCATED << 48 | vp::NO_PU << 32,
            u64::MAX,
        ];
        for (place, word) in page.page().vp.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        assert_eq!(page.idle().to_string(), "5");
    }

    #[test]
    fn what_a_program_has_carried_out_is_reported() {
        let page = SharedPage::create(1, 1, 1).unwrap();
        protocol::adopt(page.page(), 5, true);
        assert_eq!((page.report().adopted_epoch, page.report().folded), (5, true));
        assert_eq!(page.stretch_milli(), 0, "nobody has measured");
        page.page().analyzer.stretch_milli.store(1500, Ordering::Relaxed);
        assert_eq!(page.stretch_milli(), 1500);
    }
}
