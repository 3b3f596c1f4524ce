//! Decides what pools of threads that are sized once, at start, are sized for.

use crate::cli::PoolArg;
use numaestro_topology::CpuSet;
use std::ffi::OsStr;
use std::fmt;

/// What pools are sized for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// So many processors, which is all that the program may ever have.
    Whole(usize),
    /// The processors that the program has when it asks.
    Now,
}

impl Pool {
    /// The user's word, or that of an outer `run`, as it has told the program; else all that the
    /// program may ever have: what the manager can give it (`most`), among the processors that the
    /// user gave (a Linux list). `None`: nobody knows these.
    pub fn of(wish: Option<PoolArg>, outer: Option<&OsStr>, given: &str, most: Option<u32>) -> Option<Self> {
        if wish == Some(PoolArg::Now) || (wish.is_none() && outer.is_some_and(|outer| outer == "now")) {
            return Some(Self::Now);
        }
        let processors = given.parse::<CpuSet>().ok()?.len();
        let most = most.map_or(usize::MAX, |most| most as usize);
        (processors > 0).then(|| Self::Whole(processors.min(most).max(1)))
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(processors) => write!(f, "whole:{processors}"),
            Self::Now => f.write_str("now"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_what_the_manager_gives_of_the_users_own() {
        assert_eq!(Pool::of(None, None, "0-7", None), Some(Pool::Whole(8)));
        assert_eq!(Pool::of(None, None, "0-7", Some(3)), Some(Pool::Whole(3)));
        assert_eq!(Pool::of(Some(PoolArg::Whole), None, "0-3", Some(64)), Some(Pool::Whole(4)));
        assert_eq!(Pool::of(Some(PoolArg::Now), None, "0-3", None), Some(Pool::Now));
        assert_eq!(Pool::of(None, None, "", None), None);
    }

    #[test]
    fn an_outer_run_has_said_now_for_all_below_it() {
        let now = Some(OsStr::new("now"));
        assert_eq!(Pool::of(None, now, "0-3", None), Some(Pool::Now));
        assert_eq!(Pool::of(Some(PoolArg::Whole), now, "0-3", None), Some(Pool::Whole(4)));
        // A number is found out anew: the inner run may have another limit.
        assert_eq!(Pool::of(None, Some(OsStr::new("whole:4")), "0-3", Some(2)), Some(Pool::Whole(2)));
    }
}
