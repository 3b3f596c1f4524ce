//! Gives processors that are released before a turn ends to the work-list, one by one.
//!
//! **Source**: Martorell et al. 2000, §3.4 and §5.2: between two quanta nothing is taken from
//! anybody, and a processor that its application gives back visits the list of applications that
//! want more than they have.
//!
//! **Terms**: *released* are the processors that have come free since the turn began; those that
//! the division at its beginning left over stay free until it ends.
//!
//! **Algorithm**
//! ```text
//! everybody keeps min(what it has, what it could use)
//! list = those of this turn in the order of the turns part, then those of the next; of them,
//!        those that could use more
//! for each released processor: to the first in the list; it is off the list when it has its request
//! the list is empty: free
//! ```
//!
//! An application whose number of processors has been found by its speedups is not on the list. Nor
//! is an application whose minimum cannot be had.

use numaestro_policy::{Search, Shares, Slot, Turn, View};

/// The work-list in the middle of a turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkList<'a> {
    /// Number of processors that the division at the beginning of the turn left over.
    pub left_over: u32,
    /// The applications of this turn and of the next.
    pub turn: &'a Turn,
}

impl WorkList<'_> {
    /// Sets the count of all in `view.order`: the applications of this turn, and those of the next
    /// that may be given released processors.
    pub(crate) fn divide(self, view: &View<'_>, shares: &mut Shares) {
        for &slot in view.order {
            let app = view.app(slot);
            shares.set(slot, app.allocation.min(app.cap(view.capacity)));
        }
        let mut released = view.capacity.saturating_sub(shares.total()).saturating_sub(self.left_over);
        for &slot in self.turn.running.iter().chain(&self.turn.next) {
            if released == 0 {
                return;
            }
            let count = shares.count(slot);
            let given = released.min(wanted(view, slot, count, released));
            shares.set(slot, count + given);
            released -= given;
        }
    }
}

/// Number of processors it could use in addition; 0 if it is not on the list.
fn wanted(view: &View<'_>, slot: Slot, count: u32, released: u32) -> u32 {
    let app = view.app(slot);
    let found = matches!(app.search, Search::Settled { .. } | Search::Bad);
    let enough = count > 0 || app.has_its_minimum(released, view.capacity);
    if found || !enough { 0 } else { app.cap(view.capacity).saturating_sub(count) }
}

#[cfg(test)]
mod tests {
    use crate::{AppId, Engine, Event, Settings, Wish};

    /// Processors of each application, in order of arrival, after these requests at a tick and
    /// those changes in the middle of the turn.
    fn counts(pus: u32, policy: &str, requests: &[u32], changes: &[(u64, u32)]) -> Vec<u32> {
        let machine = numaestro_topology::synthetic::parse(&format!("core:{pus} pu:1")).unwrap();
        let settings = Settings { policy: policy.to_owned(), ..Settings::default() };
        let mut engine = Engine::new(machine, settings, 1).unwrap();
        let mut actions = Vec::new();
        for (app, &request) in (1..).zip(requests) {
            engine.step(1, &Event::Arrive { app: AppId(app), wish: Wish::new(request) }, &mut actions);
        }
        // The first quantum was for the first application.
        engine.step(1 + 100_000_000, &Event::Timer, &mut actions);
        for &(app, processors) in changes {
            engine.step(2 + 100_000_000, &Event::Request { app: AppId(app), processors }, &mut actions);
        }
        let view = engine.view();
        let mut apps: Vec<_> = view.apps.iter().map(|app| (app.id, app.allocation)).collect();
        apps.sort_unstable();
        apps.into_iter().map(|(_, allocation)| allocation).collect()
    }

    #[test]
    fn what_is_released_goes_to_the_first_that_wants_more_until_it_has_its_request() {
        // DSS of Martorell et al. 2000, table 2.
        let requests = [32, 24, 8, 8, 8, 8, 8];
        assert_eq!(counts(64, "nanos-dss", &requests, &[]), [21, 16, 6, 6, 5, 5, 5]);
        // Of five released processors the first application gets all. Of thirteen the second gets
        // some when the first has its request.
        assert_eq!(counts(64, "nanos-dss", &requests, &[(3, 1)]), [26, 16, 1, 6, 5, 5, 5]);
        assert_eq!(counts(64, "nanos-dss", &requests, &[(3, 1), (4, 1), (5, 2)]), [32, 18, 1, 1, 2, 5, 5]);
    }

    #[test]
    fn an_increase_takes_nothing_from_anybody() {
        assert_eq!(counts(8, "nanos-dss", &[4, 4], &[(1, 8)]), [4, 4]);
        // But the application is on the list.
        assert_eq!(counts(8, "nanos-dss", &[4, 4], &[(1, 8), (2, 1)]), [7, 1]);
    }

    #[test]
    fn leftovers_of_the_division_are_not_released() {
        // Equip leaves two of eight over; the processor that the third gives back goes to the
        // first, the two stay free.
        assert_eq!(counts(8, "nanos-equip", &[8, 8, 8], &[]), [2, 2, 2]);
        assert_eq!(counts(8, "nanos-equip", &[8, 8, 8], &[(3, 1)]), [3, 2, 1]);
    }

    #[test]
    fn nobody_wants_it() {
        assert_eq!(counts(8, "nanos-dss", &[4, 4], &[(1, 2)]), [2, 4]);
    }
}
