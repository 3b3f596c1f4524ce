//! `parallel_for` divides a loop where and when a virtual processor has nothing to do.
//!
//! Lazy binary splitting (Tzannes et al. 2010): a nano-thread goes through its part chunk by chunk,
//! and whenever its queue is empty, because another has taken the part there, puts half of the rest
//! there. So the loop grows to new processors in the middle, and with 1 processor it is one loop.

use std::ops::Range;

use crate::join::join;
use crate::runtime::global;
use crate::vp;

/// With grain 0 a loop has so many chunks for each virtual processor.
const CHUNKS: usize = 64;

/// Calls `body` for every index of `range`, in any order, perhaps at the same time. `grain`: number
/// of indices in a chunk, after which a processor can be given back or work shared; 0 lets the
/// runtime choose. A panic goes on here after the chunks under way have ended; the others may never
/// run.
pub fn parallel_for(range: Range<usize>, grain: usize, body: impl Fn(usize) + Sync) {
    parallel_for_chunks(range, grain, |chunk| chunk.for_each(&body));
}

/// As [`parallel_for`], with a body for whole chunks of at most `grain` indices.
pub fn parallel_for_chunks(range: Range<usize>, grain: usize, body: impl Fn(Range<usize>) + Sync) {
    start(range, grain, &body);
}

fn start(range: Range<usize>, grain: usize, body: &(impl Fn(Range<usize>) + Sync)) {
    let Some(vp) = vp::current() else {
        return global().install(|| start(range, grain, body));
    };
    let length = range.len();
    let chunks = vp.registry().inboxes.len() * CHUNKS;
    let grain = if grain == 0 { length.div_ceil(chunks) } else { grain }.max(1);
    part(range, grain, body);
}

fn part(mut range: Range<usize>, grain: usize, body: &(impl Fn(Range<usize>) + Sync)) {
    while range.len() > grain {
        let Some(vp) = vp::current() else {
            unreachable!("nano-threads run on virtual processors only");
        };
        let registry = vp.registry();
        registry.poll();
        // As much parallelism as there are processors: none for one, unless it is about to go.
        if vp.deque.is_empty() && (registry.seats.target() > 1 || registry.asked_back()) {
            let middle = range.start + (range.len() / 2).next_multiple_of(grain).min(range.len() - 1);
            join(|| part(range.start..middle, grain, body), || part(middle..range.end, grain, body));
            return;
        }
        vp.safe_point();
        let chunk = range.start..range.start + grain;
        range.start = chunk.end;
        body(chunk);
    }
    if !range.is_empty() {
        body(range);
    }
}
