//! Reads and sets the memory policy of the calling thread, which directs its new pages:
//! `set_mempolicy(2)`, `get_mempolicy(2)`. A policy is inherited by new threads and kept across
//! `exec`.

use std::fmt;
use std::str::FromStr;

use numaestro_topology::CpuSet;

use super::{NODE_WORDS, mask_of};
use crate::error::{self, HostError};

/// The mode of a memory policy. The numbers are the kernel's, as `numaif.h` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// To the node of the processor that touches first.
    Default = 0,
    /// To the node named; pages that do not fit go to the nearest.
    Preferred = 1,
    /// To the nodes named and no others: a page that does not fit is an error or the end of the
    /// program.
    Bind = 2,
    /// To the nodes named in turn.
    Interleave = 3,
}

impl Mode {
    const ALL: [(Self, &str); 4] = [
        (Self::Default, "default"),
        (Self::Preferred, "prefer"),
        (Self::Bind, "bind"),
        (Self::Interleave, "interleave"),
    ];
}

/// A memory policy, as this project sets it: the nodes named stay as they are when the cpuset
/// changes (`MPOL_F_STATIC_NODES`). Other programs do not as a rule, so the flag also marks the
/// policy as ours. As text: `default`, `prefer=static:1`, `interleave=static:0-3`, which is how the
/// kernel writes it in `numa_maps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPolicy {
    /// The mode.
    pub mode: Mode,
    /// OS indices of nodes; none for [`Mode::Default`].
    pub nodes: CpuSet,
}

/// `MPOL_F_STATIC_NODES`.
const STATIC_NODES: u32 = 1 << 15;

impl MemoryPolicy {
    /// The policy of a thread for which nobody has set one.
    pub fn none() -> Self {
        Self { mode: Mode::Default, nodes: CpuSet::new() }
    }
}

impl fmt::Display for MemoryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Mode::ALL.iter().find(|(mode, _)| *mode == self.mode).map_or("", |(_, name)| name);
        match self.mode {
            Mode::Default => f.write_str(name),
            _ => write!(f, "{name}=static:{}", self.nodes),
        }
    }
}

impl FromStr for MemoryPolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self::none());
        }
        let wrong = || format!("expected a policy such as prefer=static:1, found `{text}`");
        let (name, nodes) = text.split_once("=static:").ok_or_else(wrong)?;
        let (mode, _) = Mode::ALL.into_iter().find(|(_, known)| *known == name).ok_or_else(wrong)?;
        let nodes: CpuSet = nodes.parse().map_err(|_| wrong())?;
        if nodes.is_empty() || mode == Mode::Default { Err(wrong()) } else { Ok(Self { mode, nodes }) }
    }
}

/// The calling thread's policy; `None`: one that this project never sets.
pub fn own_policy() -> Result<Option<MemoryPolicy>, HostError> {
    let mut mode: libc::c_int = 0;
    let mut mask: [libc::c_ulong; NODE_WORDS] = [0; NODE_WORDS];
    let bits = NODE_WORDS * libc::c_ulong::BITS as usize + 1;
    let nobody = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one int to `mode` and at most that many bits to `mask`.
    let asked = unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, mask.as_mut_ptr(), bits, nobody, 0) };
    if asked != 0 {
        return Err(error::call("ask for the memory policy")(std::io::Error::last_os_error()));
    }
    let word_bits = libc::c_ulong::BITS;
    let nodes = (0..NODE_WORDS as u32 * word_bits)
        .filter(|node| mask[(node / word_bits) as usize] >> (node % word_bits) & 1 == 1)
        .collect();
    Ok(recognised(mode.cast_unsigned(), nodes))
}

fn recognised(mode: u32, nodes: CpuSet) -> Option<MemoryPolicy> {
    if mode == Mode::Default as u32 {
        return Some(MemoryPolicy::none());
    }
    let (known, _) =
        Mode::ALL.into_iter().find(|(known, _)| *known != Mode::Default && mode == *known as u32 | STATIC_NODES)?;
    Some(MemoryPolicy { mode: known, nodes })
}

/// Sets the calling thread's policy. Refused where none of the nodes may be used.
pub fn set_own_policy(policy: &MemoryPolicy) -> Result<(), HostError> {
    let (mask, bits) = mask_of(policy.nodes.iter());
    let (mode, mask, bits) = match policy.mode {
        Mode::Default => (0, std::ptr::null(), 0),
        mode => (mode as u32 | STATIC_NODES, mask.as_ptr(), bits),
    };
    // SAFETY: the mask is readable for that many bits, or absent.
    let set = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask, bits) };
    if set == 0 { Ok(()) } else { Err(error::call("set the memory policy")(std::io::Error::last_os_error())) }
}

/// Checks that `get_mempolicy`, `set_mempolicy` and `move_pages` exist and are permitted here:
/// called so that they change nothing, they answer with success.
///
/// Containers often forbid them by a seccomp filter, and kernels without NUMA have none of them.
pub fn memory_policy_permitted() -> Result<(), HostError> {
    if let Some(policy) = own_policy()? {
        set_own_policy(&policy)?;
    }
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: no pages are named, so nothing is read or written.
    let moved = unsafe { libc::syscall(libc::SYS_move_pages, 0, 0, none, none, none, 0) };
    if moved < 0 {
        return Err(error::call("move pages between nodes")(std::io::Error::last_os_error()));
    }
    Ok(())
}

/// Says whether the kernel moves pages to the threads that use them (`kernel.numa_balancing`). It
/// leaves the pages of threads alone that have a policy.
pub fn kernel_balances() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/numa_balancing").is_ok_and(|text| text.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_written_and_nothing_else_is() {
        for text in ["default", "prefer=static:1", "bind=static:0,3", "interleave=static:0-3"] {
            assert_eq!(text.parse::<MemoryPolicy>().unwrap().to_string(), text);
        }
        for text in
            ["", "prefer:1", "prefer=static:", "local", "default=static:0", "prefer=static:x", "weighted=static:1"]
        {
            assert!(text.parse::<MemoryPolicy>().is_err(), "{text}");
        }
    }

    #[test]
    fn policies_of_others_are_not_taken_for_ours() {
        let nodes: CpuSet = "0".parse().unwrap();
        assert_eq!(recognised(0, CpuSet::new()), Some(MemoryPolicy::none()));
        // As numactl sets them, relative ones, local, preferred-many, weighted.
        for mode in [1, 2, 3, 4, 5, 6, 1 | 1 << 14, 5 | 1 << 15] {
            assert_eq!(recognised(mode, nodes.clone()), None, "{mode:#x}");
        }
        assert_eq!(recognised(1 | 1 << 15, nodes.clone()), Some(MemoryPolicy { mode: Mode::Preferred, nodes }));
    }

    #[test]
    fn a_policy_is_set_inherited_and_taken_back() {
        if let Err(why) = memory_policy_permitted() {
            numaestro_skip::skip!("no memory policies: {why}");
        }
        std::thread::spawn(|| {
            for text in ["prefer=static:0", "interleave=static:0", "bind=static:0", "default"] {
                let policy: MemoryPolicy = text.parse().unwrap();
                set_own_policy(&policy).unwrap();
                assert_eq!(own_policy().unwrap(), Some(policy.clone()));
                let inherited = std::thread::spawn(own_policy).join().unwrap().unwrap();
                assert_eq!(inherited, Some(policy));
            }
            // A node that is not there: refused, and nothing has changed.
            let far = MemoryPolicy { mode: Mode::Preferred, nodes: "1000".parse().unwrap() };
            assert!(set_own_policy(&far).is_err());
            assert_eq!(own_policy().unwrap(), Some(MemoryPolicy::none()));
        })
        .join()
        .unwrap();
    }
}
