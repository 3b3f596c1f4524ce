//! What the engine has decided lately, and what it would decide, as of one moment: a copy that any
//! thread may ask. Nothing is given, and nothing changes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use numaestro_engine::explain::Alternative;
use numaestro_engine::{Advice, Engine, Nanos, Wish};
use numaestro_policy::AppId;
use numaestro_topology::Machine;

use crate::decision::history::History;

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Witness {
    at: Nanos,
    /// Policies are sent between threads, but not shared.
    engine: Mutex<Engine>,
    history: History,
}

impl Witness {
    pub(crate) fn new(at: Nanos, engine: Engine, history: History) -> Self {
        Self { at, engine: Mutex::new(engine), history }
    }

    /// See [`History::told`].
    pub(crate) fn told(&self, after: Option<u64>) -> (String, bool) {
        self.history.told(after, self.at, &|| self.engine().snapshot())
    }

    /// The latest events.
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The machine that it speaks of.
    pub(crate) fn on_machine<T>(&self, words: impl FnOnce(&Machine) -> T) -> T {
        words(self.engine().machine())
    }

    /// What would give an application another number of processors. `own`: applications whose end
    /// may be named. Nothing is found where the policy fails at it.
    pub(crate) fn alternatives(&self, app: AppId, own: &dyn Fn(AppId) -> bool) -> Vec<Alternative> {
        let engine = self.engine();
        catch_unwind(AssertUnwindSafe(|| engine.alternatives(self.at, app, own))).unwrap_or_default()
    }

    /// Says what an application with this wish would get if it came now, or why it would be
    /// refused.
    pub(crate) fn advise(&self, wish: &Wish, free_memory: &[u64]) -> Result<Advice, String> {
        let engine = self.engine();
        match catch_unwind(AssertUnwindSafe(|| engine.advise(self.at, wish, free_memory))) {
            Ok(answer) => answer.map_err(|refusal| refusal.reason),
            Err(cause) => Err(format!("the policy fails at such an application: {}", message_of(cause.as_ref()))),
        }
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message of a panic.
pub(crate) fn message_of(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
