//! Memory of nodes: counts the pages of a process, directs new ones, and moves pages.
//!
//! * [`numa_maps`], [`residence`]: where a process's pages are, by the kernel's own count.
//! * [`node_memory`]: the total and free memory of each node.
//! * [`own_policy`], [`set_own_policy`]: where the calling thread's new pages go.
//! * [`Walk`]: moves pages of a process, a batch at a time.

mod maps;
mod meminfo;
mod policy;
mod walk;

pub use maps::{Area, Residence, numa_maps, parse_numa_maps, residence};
pub use meminfo::{NodeMemory, node_memory};
pub use policy::{MemoryPolicy, Mode, kernel_balances, memory_policy_permitted, own_policy, set_own_policy};
pub use walk::{Batch, Target, Walk, page_bytes};

/// Words of a node mask: 1024 nodes, the most that Linux can be built for.
const NODE_WORDS: usize = 16;

/// A mask of nodes as the system calls take it, and the number of its bits.
///
/// The kernel looks at one bit less than it is told.
fn mask_of(nodes: impl IntoIterator<Item = u32>) -> ([libc::c_ulong; NODE_WORDS], usize) {
    let bits = libc::c_ulong::BITS as usize;
    let mut mask = [0; NODE_WORDS];
    for node in nodes {
        if let Some(word) = mask.get_mut(node as usize / bits) {
            *word |= 1 << (node as usize % bits);
        }
    }
    (mask, NODE_WORDS * bits + 1)
}
