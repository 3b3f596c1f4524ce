//! `join`: two closures, perhaps at the same time.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::job::StackJob;
use crate::runtime::global;
use crate::vp::{self, Vp};

/// Runs both closures, perhaps at the same time, and returns both results. The caller runs `a`; `b`
/// lies in the local ready queue meanwhile, and the caller runs it too unless another virtual
/// processor has stolen it.
///
/// If one panics, the panic goes on here after both have ended; if `a` panics, `b` may never run.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    match vp::current() {
        Some(vp) => join_on(vp, a, b),
        None => global().install(|| join(a, b)),
    }
}

#[inline]
fn join_on<A, B>(vp: &Vp, a: impl FnOnce() -> A, b: impl FnOnce() -> B + Send) -> (A, B)
where
    A: Send,
    B: Send,
{
    let job = StackJob::new(b);
    // SAFETY: this function does not return or unwind before the job was executed or taken back.
    let entry = unsafe { job.job() };
    vp.push(entry);
    vp.safe_point();
    let first = catch_unwind(AssertUnwindSafe(a));
    let vp = vp.refreshed();
    match vp.deque.pop() {
        Some(top) if top.is(&entry) => {
            // SAFETY: it came out of the queue, so nobody else has it.
            let b = unsafe { job.take_back() };
            match first {
                Ok(first) => (first, b()),
                Err(payload) => resume_unwind(payload),
            }
        }
        top => {
            // Stolen, or below a job that `a` or another nano-thread has left here. That job does
            // not run on top of this nano-thread, because others may wait for this one.
            if let Some(other) = top {
                vp.deque.push(other);
            }
            job.wait();
            match first {
                Ok(first) => (first, job.into_result()),
                Err(payload) => resume_unwind(payload),
            }
        }
    }
}
