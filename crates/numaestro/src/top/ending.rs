//! Turns signals that end the view into a call, so that the terminal is restored first.

use numaestro_host::HostError;
use numaestro_host::signals::BlockedSignals;
use rustix::process::Signal;

/// Blocks the ending signals in this thread and in the threads it starts, and calls `ended` from a
/// thread of its own when one comes.
pub fn watch(ended: impl Fn() + Send + 'static) -> Result<(), HostError> {
    let signals = BlockedSignals::block(&[Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT])?;
    std::thread::spawn(move || {
        while signals.wait().is_ok() {
            ended();
        }
    });
    Ok(())
}
