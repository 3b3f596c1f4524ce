//! Reads the set of processors that the calling thread may use, and binds it to one of them.
//!
//! Under a manager the client binds, and nothing here is used.

use std::mem::{MaybeUninit, size_of};

/// Operating-system numbers of the processors in the calling thread's mask, in rising order; empty
/// if the kernel knows more processors than fit the C library's mask.
pub fn mask() -> Vec<usize> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: all zeros is an empty set, and the kernel writes no more than the size it is given.
    let set = unsafe {
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) != 0 {
            return Vec::new();
        }
        set.assume_init()
    };
    // SAFETY: every number is below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&processor| unsafe { libc::CPU_ISSET(processor, &set) }).collect()
}

/// Binds the calling thread to one processor. Where that fails (it has just been unplugged, say),
/// the thread stays as it is.
pub fn bind(processor: usize) {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: all zeros is an empty set, the number came from `mask`, and the kernel only reads.
    unsafe {
        libc::CPU_SET(processor, &mut *set.as_mut_ptr());
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set.as_ptr());
    }
}
