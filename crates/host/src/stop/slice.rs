//! Lets a thread react at once although others compute.

/// As the kernel's `sched_attr` (`sched_setattr(2)`), its first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The shortest time slice that the kernel gives, nanoseconds.
const SHORTEST_NS: u64 = 100_000;

/// Asks for the shortest time slices for the calling thread: as much processor time as any other,
/// in smaller pieces, which come sooner. Takes effect from Linux 6.12 on; needs no rights. Without
/// it, a thread that wakes among `n` others that compute may wait for `n` slices.
pub fn prefer_short() {
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes { size, runtime: SHORTEST_NS, nice: own_nice(), ..Attributes::default() };
    // SAFETY: the structure says how large it is and is valid for reading; 0 is the calling thread.
    // A refusal changes nothing.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Lets the calling thread go before all others, if the system allows it: for one that has little
/// to do, but that at once. Without the right to it (`CAP_SYS_NICE`, or a limit that allows it)
/// nothing changes.
pub(super) fn go_first() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
}

/// Its nice value, which the same call sets.
fn own_nice() -> i32 {
    let thread = rustix::thread::gettid();
    rustix::process::getpriority_process(Some(thread)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_else_changes() {
        std::thread::spawn(|| {
            let before = own_nice();
            prefer_short();
            assert_eq!(own_nice(), before);
            let mut attributes = Attributes::default();
            let size = size_of::<Attributes>() as u32;
            // SAFETY: valid for writing of as many bytes as are announced.
            let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
            assert_eq!((result, attributes.policy), (0, 0));
        })
        .join()
        .unwrap();
    }
}
