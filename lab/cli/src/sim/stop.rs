//! Ctrl-C in a long simulation: no further run begins, the present runs end at once, and the
//! finished ones are kept.

use crate::say;
use numaestro_host::signals::BlockedSignals;
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code after Ctrl-C, as in a shell.
pub const STOPPED: u8 = 130;

/// Set when somebody wants it to stop.
#[derive(Debug, Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag, for the code that checks it.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// Turns `SIGINT` and `SIGTERM` into the flag. Call it before threads are started; a second signal
/// ends the process at once.
pub fn on_signal() -> anyhow::Result<Stop> {
    let signals = BlockedSignals::block(&[Signal::INT, Signal::TERM])?;
    let stop = Stop(Arc::new(AtomicBool::new(false)));
    let flag = stop.clone();
    std::thread::Builder::new().name("stop".to_owned()).spawn(move || {
        if signals.wait().is_ok() {
            flag.0.store(true, Ordering::Relaxed);
            let _ = signals.wait();
            std::process::exit(i32::from(STOPPED));
        }
    })?;
    Ok(stop)
}

/// Says how to go on.
pub fn say_how_to_go_on(state: Option<&std::path::Path>) {
    match state {
        Some(path) => say::note(&format!("stopped; what has run is in {}: go on by --resume", path.display())),
        None => say::note("stopped; nothing is kept (with --state FILE it could go on later)"),
    }
}
