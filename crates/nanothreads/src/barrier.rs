//! A barrier for nano-threads. It suspends a nano-thread that waits, so any number of nano-threads
//! can meet on any number of processors, and none holds a processor while it waits for a preempted
//! partner.

use std::ptr;

use crossbeam_utils::CachePadded;

use crate::fiber;
use crate::latch::Waiter;
use crate::sync::{AtomicU64, Ordering};

/// One party that waits; it lies on the stack of the party.
struct Node {
    waiter: Waiter,
    next: *mut Node,
}

/// First bit of the number of waiting parties in the barrier's word; the bits below are the address
/// of the newest one's node. The addresses of user programs have 47 bits on x86-64 and 48 on 64-bit
/// ARM, unless they ask for more.
const COUNT_SHIFT: u32 = 48;

/// Lets `parties` nano-threads (or threads from outside) meet, again and again.
pub struct Barrier {
    parties: u64,
    /// Number of waiting parties, and the list of them: one word, so that the last party takes
    /// exactly the others.
    ///
    /// ```text
    /// 63      48 47                      0
    /// [ waiting ][ address of newest node ]
    /// ```
    waiting: CachePadded<AtomicU64>,
}

impl Barrier {
    /// A barrier for so many parties, at most 65535; 0 counts as 1.
    ///
    /// # Panics
    /// If there are more.
    pub fn new(parties: usize) -> Self {
        assert!(u16::try_from(parties).is_ok(), "a barrier for {parties} parties");
        Self { parties: parties.max(1) as u64, waiting: CachePadded::new(AtomicU64::new(0)) }
    }

    /// Waits until all parties have come. Returns `true` to exactly one of them, the last.
    pub fn wait(&self) -> bool {
        // The last party need not wait at all.
        let mut word = self.waiting.load(Ordering::Acquire);
        while (word >> COUNT_SHIFT) + 1 == self.parties {
            match self.open(word) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        let mut node = std::mem::MaybeUninit::<Node>::uninit();
        let mut last = false;
        let (place, last_place) = (node.as_mut_ptr(), &raw mut last);
        // SAFETY: both lie on the stack of this party, which does not go on before `arrive` has
        // returned `false` or its waiter was released.
        fiber::wait(|waiter| unsafe {
            let waits = self.arrive(place, waiter);
            if !waits {
                last_place.write(true);
            }
            waits
        });
        last
    }

    /// Registers a party that is at rest (`true`), unless it is the last one: that opens the
    /// barrier (`false`).
    ///
    /// # Safety
    /// `node` is the party's own, and stays until its waiter is released.
    unsafe fn arrive(&self, node: *mut Node, waiter: Waiter) -> bool {
        let address = node.expose_provenance() as u64;
        assert!(address >> COUNT_SHIFT == 0, "an address with more than {COUNT_SHIFT} bits");
        let mut word = self.waiting.load(Ordering::Acquire);
        loop {
            let count = (word >> COUNT_SHIFT) + 1;
            let attempt = if count == self.parties {
                match self.open(word) {
                    Ok(()) => return false,
                    Err(now) => Err(now),
                }
            } else {
                // SAFETY: the node is ours until the barrier's word names it.
                unsafe { node.write(Node { waiter, next: newest(word) }) };
                let mine = (count << COUNT_SHIFT) | address;
                self.waiting.compare_exchange_weak(word, mine, Ordering::AcqRel, Ordering::Acquire)
            };
            match attempt {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Takes all waiting parties and lets them go on. The barrier is ready for the next meeting
    /// before the first of them goes on, and may be gone afterwards. Fails with the present word if
    /// that is not `word`.
    fn open(&self, word: u64) -> Result<(), u64> {
        self.waiting.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Acquire)?;
        let mut next = newest(word);
        while !next.is_null() {
            // SAFETY: the node's party is at rest until it is released, so the node lives until
            // then, and it was taken out of the word by this call alone.
            unsafe {
                let waiter = (*next).waiter;
                next = (*next).next;
                waiter.release();
            }
        }
        Ok(())
    }
}

fn newest(word: u64) -> *mut Node {
    ptr::with_exposed_provenance_mut((word & ((1 << COUNT_SHIFT) - 1)) as usize)
}
