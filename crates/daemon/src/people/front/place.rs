//! The manager's directory is gone, or a part of it: a logout removes the user's runtime
//! directory, cleaners of `/tmp` remove what is old. Commands and programs could not find the
//! manager any more, and the next command would start a second one beside it.
//!
//! Where the directory can be made anew, the manager makes it and goes on. Else it ends in order,
//! and so it does where another manager has the directory by now: two must not have the same
//! programs.

use std::path::Path;

use anyhow::{Result, bail};
use numaestro_host::listen::Inherited;
use numaestro_host::monotonic_ns;
use tracing::{info, warn};

use super::Front;
use crate::hands::notes::Notes;
use crate::service::Sockets;
use crate::shell::Shell;
use crate::wakeups::FrontDue;

/// From the first removal until the manager looks: whoever removes a directory removes what is in
/// it first, one file after the other.
const SETTLE_NS: u64 = 100_000_000;

/// The way in which a manager ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was asked to, or has nothing to do.
    Orderly,
    /// Its directory has gone, and programs were managed until then.
    Homeless,
}

/// Whether the manager is to end, and how.
#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) how: Option<Ending>,
    /// Connections that wait for the outcome.
    pub(super) askers: Vec<u64>,
}

impl Front {
    /// The runtime directory.
    pub(crate) fn place(&self) -> &Path {
        self.directory.runtime().path()
    }

    pub(super) fn place_has_changed(&self, shell: &mut Shell) {
        if self.directory.take_removals() {
            shell.wakeups().set_if_unset(FrontDue::Place, monotonic_ns() + SETTLE_NS);
        }
    }

    /// Looks whether the directory is as it was, and makes it so.
    pub(super) fn look_at_place(&mut self, shell: &mut Shell) {
        if self.directory.is_whole() || self.is_ending() {
            return;
        }
        if self.connections.sockets_stay() {
            warn!("somebody has removed the sockets; `systemctl restart numaestro.socket` makes them anew");
            return;
        }
        match self.make_place(shell) {
            Ok(()) => info!(directory = %self.place().display(), "somebody has removed it; it was made anew"),
            Err(cause) => {
                warn!("the manager's directory has gone, so it ends: {cause:#}");
                self.end.how = Some(Ending::Homeless);
            }
        }
    }

    fn make_place(&mut self, shell: &mut Shell) -> Result<()> {
        if !self.directory.take_again(&self.config)? {
            bail!("another manager lives there by now");
        }
        let sockets = Sockets::open(&self.config, self.directory.runtime(), Inherited::default())?;
        self.connections.listen_at(sockets, shell.wakeups())?;
        self.directory.watch(shell.wakeups());
        shell.note_moves(Notes::of(self.directory.runtime()));
        self.save(shell);
        Ok(())
    }
}
