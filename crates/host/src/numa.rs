//! Which calls for the placing of pages this machine permits. It must not know where pages should be.

use crate::error::{self, HostError};

/// Words of a node mask: 1024 nodes, the most that Linux can be built for.
const NODE_WORDS: usize = 16;

/// Whether `get_mempolicy` and `migrate_pages` exist and are permitted here: asked for nothing, they answer with success.
///
/// Containers often forbid both by a seccomp filter, and kernels without NUMA have neither.
pub fn memory_policy_permitted() -> Result<(), HostError> {
    let mut mode: libc::c_int = 0;
    let nothing = std::ptr::null_mut::<libc::c_ulong>();
    // SAFETY: the kernel writes one int to `mode`; no node mask is asked for.
    let asked = unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, nothing, 0, nothing, 0) };
    if asked != 0 {
        return Err(error::call("ask for the memory policy")(std::io::Error::last_os_error()));
    }
    let mut nodes: [libc::c_ulong; NODE_WORDS] = [0; NODE_WORDS];
    nodes[0] = 1;
    let bits = NODE_WORDS * libc::c_ulong::BITS as usize;
    // SAFETY: both masks are readable for that many bits; pages of this process move from node 0 to node 0: not at all.
    let moved = unsafe { libc::syscall(libc::SYS_migrate_pages, 0, bits, nodes.as_ptr(), nodes.as_ptr()) };
    if moved < 0 {
        return Err(error::call("move pages between nodes")(std::io::Error::last_os_error()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_same_twice() {
        assert_eq!(memory_policy_permitted().is_ok(), memory_policy_permitted().is_ok());
    }
}
