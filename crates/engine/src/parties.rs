//! The machine is shared among parties before it is shared among applications. Knows nothing of users and groups.

use crate::engine::Engine;
use numaestro_policy::Party;

impl Engine {
    /// Other parties from now on.
    pub(crate) fn regroup_parties(&mut self, parties: &[Party]) -> bool {
        if self.settings.parties == parties {
            return false;
        }
        self.settings.parties.clear();
        self.settings.parties.extend_from_slice(parties);
        self.wishes_stale = true;
        true
    }
}
