//! Waits for a condition to become true.

use anyhow::{Result, bail};
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Looks until `holds` gives a value. `look` observes; its last answer is in the error.
///
/// # Errors
/// It did not hold within `limit`, or the look itself failed at last.
pub fn until<T: Debug, U>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<T>,
    mut holds: impl FnMut(&T) -> Option<U>,
) -> Result<U> {
    let begun = Instant::now();
    loop {
        let seen = look();
        if let Some(value) = seen.as_ref().ok().and_then(&mut holds) {
            return Ok(value);
        }
        if begun.elapsed() > limit {
            match seen {
                Ok(seen) => bail!("waited {} s in vain for this: {what}; at last it was {seen:#?}", limit.as_secs()),
                Err(error) => bail!("waited {} s in vain for this: {what}; at last: {error:#}", limit.as_secs()),
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// [`until`] with two minutes, for a condition without a value: machines that emulate are slow, and
/// sometimes busy.
///
/// # Errors
/// As [`until`].
pub fn soon<T: Debug>(what: &str, look: impl FnMut() -> Result<T>, mut holds: impl FnMut(&T) -> bool) -> Result<()> {
    until(what, Duration::from_mins(2), look, |seen| holds(seen).then_some(()))
}
