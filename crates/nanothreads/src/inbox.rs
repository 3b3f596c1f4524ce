//! The list of resumed nano-threads that one virtual processor must go on with itself: any thread
//! pushes, the owner takes all. A node is a pointer whose pointee has room for the next pointer, so
//! nothing is allocated.

use std::ptr;

use crate::sync::{AtomicPtr, Ordering};

/// Something that can be in an [`Inbox`]: it keeps the pointer to the next one.
pub trait Linked: Sized {
    /// The place of the next pointer. It belongs to the inbox from the push until the node is
    /// taken.
    ///
    /// # Safety
    /// `this` points to a live value.
    unsafe fn link(this: *mut Self) -> *mut *mut Self;
}

/// Many producers, one consumer, newest first inside, oldest first outside.
pub struct Inbox<T> {
    head: AtomicPtr<T>,
}

impl<T: Linked> Inbox<T> {
    /// An empty inbox.
    pub fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Is there nothing in it?
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// Puts `node` in.
    ///
    /// # Safety
    /// `node` is live, in no inbox, and nobody else touches its link until it was taken.
    pub unsafe fn push(&self, node: *mut T) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller gives us the link.
            unsafe { *T::link(node) = head };
            match self.head.compare_exchange_weak(head, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes everything out, oldest first.
    pub fn take(&self, mut each: impl FnMut(*mut T)) {
        if self.is_empty() {
            return;
        }
        let mut newest = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        let mut oldest = ptr::null_mut();
        while !newest.is_null() {
            // SAFETY: pushed nodes are live, and their links are ours until we hand them out.
            unsafe {
                let link = T::link(newest);
                let next = *link;
                *link = oldest;
                oldest = newest;
                newest = next;
            }
        }
        while !oldest.is_null() {
            // SAFETY: as above; the link is read before the node is handed out.
            let next = unsafe { *T::link(oldest) };
            each(oldest);
            oldest = next;
        }
    }
}
