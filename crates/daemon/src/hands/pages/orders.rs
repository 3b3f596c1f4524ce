//! Orders for the mover that it has not begun yet. Of each application, and of everything else that
//! is told again and again, the latest counts, so they are not more than there are applications.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::residency::{Places, Subject};

/// An order to the mover.
#[derive(Debug)]
pub(crate) enum Order {
    /// An application is new, or has changed: look at it.
    Watch(Box<Subject>),
    /// It is gone or nobody's business any more.
    Forget(u64),
    /// Look at all of these now; the answer has the same number, and comes after their samples.
    Look(u64, Vec<Subject>),
    /// So many bytes may be moved in a second from now on.
    Rate(u64),
    /// The machine has these distances from now on, and nodes by processor.
    Machine(Arc<Places>),
}

/// See the file's header.
#[derive(Debug, Default)]
pub(super) struct Orders {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    rate: Option<Order>,
    machine: Option<Order>,
    by_app: BTreeMap<u64, Order>,
    /// Not more than there are users who ask: each look is for all who ask the same.
    looks: VecDeque<Order>,
    ended: bool,
}

/// The next thing that the mover is to do.
#[derive(Debug)]
pub(super) enum Next {
    Order(Order),
    /// Nothing before the time was over.
    Nothing,
    /// Nobody gives orders any more.
    End,
}

impl Orders {
    pub(super) fn give(&self, order: Order) {
        let mut waiting = self.waiting();
        match order {
            Order::Rate(_) => waiting.rate = Some(order),
            Order::Machine(_) => waiting.machine = Some(order),
            Order::Watch(ref subject) => drop(waiting.by_app.insert(subject.app, order)),
            Order::Forget(app) => drop(waiting.by_app.insert(app, order)),
            Order::Look(..) => waiting.looks.push_back(order),
        }
        self.changed.notify_one();
    }

    /// There are no more.
    pub(super) fn end(&self) {
        self.waiting().ended = true;
        self.changed.notify_one();
    }

    /// Waits for the next; `at_most`: so long.
    pub(super) fn take(&self, at_most: Option<Duration>) -> Next {
        let nothing = |waiting: &mut Waiting| !waiting.ended && waiting.is_empty();
        let waiting = self.waiting();
        let mut waiting = match at_most {
            None => self.changed.wait_while(waiting, nothing).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                self.changed.wait_timeout_while(waiting, time, nothing).unwrap_or_else(PoisonError::into_inner).0
            }
        };
        match waiting.next() {
            _ if waiting.ended => Next::End,
            Some(order) => Next::Order(order),
            None => Next::Nothing,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.rate.is_none() && self.machine.is_none() && self.by_app.is_empty() && self.looks.is_empty()
    }

    fn next(&mut self) -> Option<Order> {
        let first = self.machine.take().or_else(|| self.rate.take());
        let first = first.or_else(|| Some(self.by_app.pop_first()?.1));
        first.or_else(|| self.looks.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_application_the_latest_counts() {
        let orders = Orders::default();
        let watch = |app| Order::Watch(Box::new(Subject::new(app, 1, 1, None)));
        for round in 0..1000 {
            orders.give(Order::Rate(round));
            orders.give(watch(1));
            orders.give(watch(2));
            orders.give(Order::Forget(1));
        }
        orders.give(Order::Look(7, Vec::new()));
        let mut all = Vec::new();
        while let Next::Order(order) = orders.take(Some(Duration::ZERO)) {
            all.push(format!("{order:?}").split(['(', ' ']).next().unwrap().to_owned());
        }
        assert_eq!(all, ["Rate", "Forget", "Watch", "Look"]);
        orders.end();
        assert!(matches!(orders.take(None), Next::End));
    }
}
