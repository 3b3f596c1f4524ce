//! Makes answers to questions in a thread of its own, from copies of what they are about: a long
//! answer holds up its user, and nobody else.
//!
//! Not more orders can wait than there are connections: a connection says nothing more before it
//! has its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use numaestro_host::poll::Wake;
use numaestro_host::{HostError, thread_time_ns};

use crate::identity::payer::Payer;

/// Orders and answers that wait, each. More are made where they are ordered.
const WAITING_MOST: usize = 4096;

/// The bytes of an answer, perhaps one for many.
pub(crate) type Bytes = Arc<Vec<u8>>;

/// An answer to be made.
pub(crate) struct Order {
    /// Who pays for it.
    pub(crate) payer: Payer,
    /// The connections that wait for it.
    pub(crate) askers: Vec<u64>,
    pub(crate) make: Box<dyn FnOnce() -> Bytes + Send>,
}

/// One that is made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) payer: Payer,
    pub(crate) askers: Vec<u64>,
    /// `None`: it could not be made.
    pub(crate) bytes: Option<Bytes>,
    /// Processor time, nanoseconds.
    pub(crate) spent_ns: u64,
}

impl Order {
    fn fulfil(self) -> Made {
        let begun_ns = thread_time_ns();
        let bytes = catch_unwind(AssertUnwindSafe(self.make)).ok();
        let spent_ns = thread_time_ns().saturating_sub(begun_ns);
        Made { payer: self.payer, askers: self.askers, bytes, spent_ns }
    }
}

/// The thread, from the manager's side. It ends with this.
#[derive(Debug)]
pub(crate) struct Answers {
    orders: SyncSender<Order>,
    made: Receiver<Made>,
    wake: Arc<Wake>,
}

impl Answers {
    pub(crate) fn start() -> Result<Self, HostError> {
        let (orders, inbox) = sync_channel::<Order>(WAITING_MOST);
        let (outbox, made) = sync_channel(WAITING_MOST);
        let wake = Arc::new(Wake::new()?);
        let caller = wake.clone();
        let work = move || {
            for order in inbox {
                let sent = outbox.send(order.fulfil());
                caller.call();
                if sent.is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("answers".to_owned()).spawn(work);
        thread.map_err(|cause| HostError::Call { operation: "start the thread that answers", cause })?;
        Ok(Self { orders, made, wake })
    }

    /// Ready when an answer is made.
    pub(crate) fn wake(&self) -> &Wake {
        &self.wake
    }

    /// The answer where the thread cannot make it.
    pub(crate) fn order(answers: Option<&Self>, order: Order) -> Option<Made> {
        let Some(answers) = answers else { return Some(order.fulfil()) };
        match answers.orders.try_send(order) {
            Ok(()) => None,
            Err(TrySendError::Full(order) | TrySendError::Disconnected(order)) => Some(order.fulfil()),
        }
    }

    /// The answers that are made since the last time.
    pub(crate) fn take(&self) -> Vec<Made> {
        self.wake.clear();
        self.made.try_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_fails_is_none_and_the_next_is_made() {
        let answers = Answers::start().unwrap();
        let payer = Payer { uid: None, contained: false };
        let order = |make: Box<dyn FnOnce() -> Bytes + Send>| Order { payer, askers: vec![7], make };
        assert!(Answers::order(Some(&answers), order(Box::new(|| panic!("on purpose")))).is_none());
        assert!(Answers::order(Some(&answers), order(Box::new(|| Arc::new(vec![1])))).is_none());
        let mut made: Vec<Made> = answers.made.iter().take(2).collect();
        assert_eq!(made.pop().unwrap().bytes, Some(Arc::new(vec![1])));
        assert_eq!(made.pop().unwrap().bytes, None);
        let here = Answers::order(None, order(Box::new(|| Arc::new(vec![2])))).unwrap();
        assert_eq!((here.askers, here.bytes), (vec![7], Some(Arc::new(vec![2]))));
    }
}
