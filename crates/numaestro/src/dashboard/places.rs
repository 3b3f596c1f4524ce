//! Room for connections. One that has not shown the token yet has a place until others come after
//! it: the newest pushes the oldest out, so silent connections shut nobody out. One that has shown
//! it keeps its place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Connections without the token, at once.
const GUESTS_MOST: usize = 64;
/// Connections with the token, at once; further ones are refused.
const KEPT_MOST: usize = 64;

/// See the file's header.
#[derive(Debug, Default)]
pub struct Places(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// In the order in which they came.
    guests: BTreeMap<u64, Arc<Notify>>,
    kept: BTreeMap<u64, Arc<Notify>>,
}

/// The place of one connection.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    number: u64,
    leaves: Arc<Notify>,
}

impl Places {
    /// Somebody comes in.
    pub fn enter(places: &Arc<Self>) -> Arc<Place> {
        let mut taken = places.taken();
        while taken.guests.len() >= GUESTS_MOST {
            let Some((_, oldest)) = taken.guests.pop_first() else { break };
            oldest.notify_one();
        }
        let (number, leaves) = (taken.next, Arc::new(Notify::new()));
        taken.next += 1;
        taken.guests.insert(number, Arc::clone(&leaves));
        Arc::new(Place { places: Arc::clone(places), number, leaves })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// It has shown the token. False: there is no room.
    pub fn keep(&self) -> bool {
        let mut taken = self.places.taken();
        if taken.kept.len() >= KEPT_MOST {
            return false;
        }
        let Some(place) = taken.guests.remove(&self.number) else { return false };
        taken.kept.insert(self.number, place);
        true
    }

    /// Comes when somebody else has taken the place.
    pub fn pushed_out(&self) -> impl Future<Output = ()> + use<> {
        let leaves = Arc::clone(&self.leaves);
        async move { leaves.notified().await }
    }

    /// The connection has ended.
    pub fn leave(&self) {
        let mut taken = self.places.taken();
        taken.guests.remove(&self.number);
        taken.kept.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_shown_the_token_stays_and_the_oldest_guest_goes() {
        let places = Arc::new(Places::default());
        let known = Places::enter(&places);
        assert!(known.keep());
        let guests: Vec<_> = (0..200).map(|_| Places::enter(&places)).collect();
        assert_eq!(places.taken().guests.len(), GUESTS_MOST);
        assert!(!guests[0].keep(), "its place is another one's");
        assert!(guests[199].keep());
        let more: Vec<_> = (0..KEPT_MOST).map(|_| Places::enter(&places).keep()).collect();
        assert_eq!(more.iter().filter(|kept| **kept).count(), KEPT_MOST - 2);
        known.leave();
        assert!(Places::enter(&places).keep(), "a place is free again");
    }
}
