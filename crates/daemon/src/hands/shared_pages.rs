//! The actuator of the shared page: it keeps the page of each attached program, and writes the
//! manager's decisions into it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::BorrowedFd;

use numaestro_abi::control::Class;
use numaestro_abi::page::flag;
use numaestro_host::memory::{Decision, Report, SharedPage};
use numaestro_host::numa::MemoryPolicy;
use numaestro_host::{HostError, monotonic_ns};
use numaestro_topology::CpuSet;
use tracing::warn;

use crate::decision::obligations::{Allocation, Target};

/// The content of an application's page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) allocation: &'a Allocation,
    /// The way in which its user wants it to be steered.
    pub(crate) class: Class,
    /// The memory policy of its new pages.
    pub(crate) memory: Option<&'a MemoryPolicy>,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct SharedPages {
    by_app: BTreeMap<u64, SharedPage>,
    /// Applications that have had a page at any time, also under a former manager.
    attached: BTreeSet<u64>,
    /// Programs are asked to measure themselves.
    measures: bool,
}

impl SharedPages {
    pub(crate) fn has(&self, app: u64) -> bool {
        self.by_app.contains_key(&app)
    }

    pub(crate) fn get(&self, app: u64) -> Option<&SharedPage> {
        self.by_app.get(&app)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SharedPage> {
        self.by_app.values()
    }

    /// The program's report about itself; zeros without a page.
    pub(crate) fn report(&self, app: u64) -> Report {
        self.by_app.get(&app).map_or_else(Report::default, SharedPage::report)
    }

    /// It has had a page at any time.
    pub(crate) fn was_attached(&self, app: u64) -> bool {
        self.attached.contains(&app)
    }

    /// It had a page under a former manager.
    pub(crate) fn inherit(&mut self, app: u64) {
        self.attached.insert(app);
    }

    /// Opens a new page with the application's latest decision; it replaces the page that the
    /// process had before `exec`.
    pub(crate) fn open(&mut self, app: u64, pid: u32, grace_us: u32, content: Content<'_>) -> Result<(), HostError> {
        let page = SharedPage::create(app, pid, grace_us)?;
        if let Some(target) = content.allocation.target() {
            page.publish(&self.decision(target, content))?;
        }
        self.by_app.insert(app, page);
        self.attached.insert(app);
        Ok(())
    }

    /// Hands the page to its program by `hand`. A program that does not take it has none. `None`:
    /// there was no page.
    pub(crate) fn hand_out(
        &mut self,
        app: u64,
        hand: impl FnOnce(Option<BorrowedFd<'_>>) -> Result<(), HostError>,
    ) -> Option<Result<(), HostError>> {
        let page = self.by_app.get_mut(&app)?;
        let sent = hand(page.descriptor());
        page.close_descriptor();
        if sent.is_err() {
            self.by_app.remove(&app);
        }
        Some(sent)
    }

    /// Says the latest decision in the page; false if there is no page.
    pub(crate) fn publish(&self, app: u64, content: Content<'_>) -> bool {
        let Some(page) = self.by_app.get(&app) else { return false };
        if let Some(target) = content.allocation.target() {
            say(app, page, &self.decision(target, content));
        }
        true
    }

    /// Says in the page that there are no limits any more.
    pub(crate) fn release(&self, app: u64, content: Content<'_>, original: &CpuSet) {
        let Some(page) = self.by_app.get(&app) else { return };
        let free = content.memory.map(|_| MemoryPolicy::none());
        let decision = Decision {
            epoch: content.allocation.release_epoch(),
            count: original.len() as u32,
            flags: flag::RELEASED,
            cpus: original,
            memory: free.as_ref(),
            decided_ns: monotonic_ns(),
        };
        say(app, page, &decision);
    }

    /// It has said that it has no limits any more; so has a program without a page.
    pub(crate) fn has_adopted_release(&self, app: u64, allocation: &Allocation) -> bool {
        let adopted = |page: &SharedPage| page.report().adopted_epoch == allocation.release_epoch();
        self.by_app.get(&app).is_none_or(adopted)
    }

    /// Sets whether programs are to measure themselves from now on; true if this is a change.
    /// Measuring costs a little, so programs are asked first.
    pub(crate) fn set_measures(&mut self, wanted: bool) -> bool {
        std::mem::replace(&mut self.measures, wanted) != wanted
    }

    fn decision<'a>(&self, target: &'a Target, content: Content<'a>) -> Decision<'a> {
        Decision {
            epoch: content.allocation.page_epoch(),
            count: target.count,
            flags: self.flags(target, content.class),
            cpus: &target.cpus,
            memory: content.memory,
            decided_ns: monotonic_ns(),
        }
    }

    fn flags(&self, target: &Target, class: Class) -> u32 {
        let mut flags = 0;
        if target.shared {
            flags |= flag::SHARED;
        }
        if target.lent {
            flags |= flag::LENT;
        }
        if self.measures {
            flags |= flag::MEASURE;
        }
        match class {
            Class::Malleable => flags | flag::RESIZE_ALWAYS,
            Class::Fold => flags | flag::RESIZE_NEVER,
            Class::Auto | Class::Whole | Class::Setter => flags,
        }
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.by_app.remove(&app);
        self.attached.remove(&app);
    }
}

fn say(app: u64, page: &SharedPage, decision: &Decision<'_>) {
    if let Err(cause) = page.publish(decision) {
        warn!(app, "cannot wake it: {cause}");
    }
}
