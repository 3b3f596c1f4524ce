//! Reads the limit of open descriptors, and runs commands with enough stack.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{self, HostError};

/// Raises the limit of open descriptors as far as it goes without asking anybody; returns it.
pub fn raise_descriptors() -> u64 {
    let present = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: present.maximum, maximum: present.maximum };
    let limit = if setrlimit(Resource::Nofile, raised).is_ok() { present.maximum } else { present.current };
    limit.unwrap_or(u64::MAX)
}

/// Number of descriptors that may be open now.
pub fn descriptors() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Lowers the limit of open descriptors to `most`; for tests without free descriptors.
pub fn lower_descriptors(most: u64) -> Result<(), HostError> {
    let present = getrlimit(Resource::Nofile);
    let lowered = Rlimit { current: Some(most), maximum: present.maximum };
    setrlimit(Resource::Nofile, lowered).map_err(error::call("lower the limit of descriptors"))
}

/// A first thread with a smaller stack, bytes, is too small for a command that reads files, formats
/// text and speaks JSON.
const STACK_SMALL_BYTES: u64 = 1 << 20;
/// Stack of the thread that works in its place, bytes.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` with enough stack. Under a tight `ulimit -s` that is another thread, while this one
/// only waits and takes no signal. If that thread cannot be made, `work` runs here: it may still
/// fit.
pub fn with_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let limit = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
    if limit >= STACK_SMALL_BYTES {
        return work();
    }
    let place = std::sync::Arc::new(std::sync::Mutex::new(Some(work)));
    let take = |place: &std::sync::Mutex<Option<_>>| place.lock().ok().and_then(|mut work| work.take());
    let theirs = place.clone();
    let run = move || take(&theirs).map(|work| work());
    match std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run) {
        Ok(thread) => {
            crate::signals::block_all();
            match thread.join() {
                Ok(Some(value)) => value,
                Ok(None) => unreachable!("nobody else takes the work"),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Err(_) => match take(&place) {
            Some(work) => work(),
            None => unreachable!("nobody else takes the work"),
        },
    }
}
