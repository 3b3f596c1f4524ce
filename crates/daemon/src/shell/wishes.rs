//! Changes the wishes for an application while it runs: the engine hears of other limits at once,
//! and the program reads another class in its page.

use numaestro_abi::control::{NewWishes, Options};
use numaestro_engine::Event;
use numaestro_policy::AppId;
use tracing::info;

use super::Shell;
use crate::decision::wishes::{Limits, Reach, Subject};
use crate::identity::rights::Refusal;

impl Shell {
    /// An application, and all applications inside it: the wishes of a `run` hold for everything
    /// below it.
    pub(crate) fn with_inner(&self, app: u64) -> Vec<u64> {
        let inner = self.programs.iter().filter(|entry| entry.wrapper == Some(app));
        std::iter::once(app).chain(inner.map(|entry| entry.number)).collect()
    }

    /// The wishes of an application after such a change.
    pub(crate) fn changed_wishes(&self, app: u64, new: &NewWishes) -> Result<Options, Refusal> {
        let Some(entry) = self.programs.get(app) else { return Err(Refusal::new("the application has ended", "")) };
        let reach = match self.actuators.shared_pages.has(app) {
            true => Reach::Page,
            false if entry.is_wrapper() => Reach::Wrapper,
            false => Reach::Affinity,
        };
        let processors = self.site.processors();
        Subject { name: &entry.name, options: &entry.options, reach, processors }.changed(new)
    }

    /// These wishes hold from now on; if the engine refuses them, the former ones.
    pub(crate) fn change_wishes(&mut self, app: u64, options: Options) -> Result<(), Refusal> {
        let Some(entry) = self.programs.get_mut(app) else { return Ok(()) };
        let limits = Limits::of(&options);
        let before = std::mem::replace(&mut entry.options, options);
        if Limits::of(&before) != limits
            && let Err(reason) = self.limit(app, limits)
        {
            if let Some(entry) = self.programs.get_mut(app) {
                entry.options = before;
            }
            return Err(Refusal::new(reason, "nothing has changed; `numaestro status` shows who has what"));
        }
        let Some(entry) = self.programs.get_mut(app) else { return Ok(()) };
        let class = entry.options.class;
        info!(app, ?limits, ?class, "other wishes");
        entry.wants.allow(limits.max, self.site.processors());
        if !entry.is_wrapper() {
            let wanted = entry.wants.wanted();
            self.ask_for(app, wanted);
        }
        if class != before.class {
            self.publish_again(app);
        }
        self.observe_everybodys_demand();
        self.outcome.changed = true;
        Ok(())
    }

    /// Tells the engine of other limits; `Err`: its reason against them.
    fn limit(&mut self, app: u64, limits: Limits) -> Result<(), String> {
        let Limits { min, max, weight_milli } = limits;
        self.order(Some(app), Event::Limits { app: AppId(app), min, max, weight_milli })
    }
}
