//! The real places of a program's threads beside its page, and its excuses for places that somebody
//! else was promised to have alone.

use numaestro_topology::{PuId, PuSet};

/// What its page says.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub epoch: u32,
    pub pus: PuSet,
    pub shared: bool,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    page: Option<Page>,
    /// Latest epoch of its page that it (or somebody from outside) has carried out.
    seen: u32,
    /// Where its threads may run.
    placed: PuSet,
    /// Where it may be although somebody else is promised to be alone there, through no fault of
    /// the engine's: it said that it was not, the system refused to move it, it was a guest, or the
    /// engine has never heard of it.
    excused: PuSet,
    /// What it has told the engine to be idle, and has not been given since.
    idle: PuSet,
}

impl Whereabouts {
    /// What its page says; `None`: it has none.
    pub fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// Latest epoch of its page that has been carried out.
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Where its threads may run.
    pub fn placed(&self) -> &PuSet {
        &self.placed
    }

    /// It comes to a manager that has not put it where it is.
    pub fn join(&mut self) {
        (self.page, self.seen) = (None, 0);
        self.idle.clear();
        self.excused.clone_from(&self.placed);
    }

    /// Its threads are gone.
    pub fn vanish(&mut self) {
        self.placed.clear();
    }

    /// It begins to run there; nobody has put it there yet.
    pub fn begin(&mut self, pus: &PuSet) {
        self.placed.clone_from(pus);
        self.excused.clone_from(pus);
    }

    /// It may be wherever it is.
    pub fn excuse_all(&mut self) {
        self.excused.or_with(&self.placed);
    }

    /// It may be there.
    pub fn excuse(&mut self, pus: &PuSet) {
        self.excused.or_with(pus);
    }

    /// It may be on one processor.
    pub fn excuse_one(&mut self, pu: PuId) {
        self.excused.insert(pu);
    }

    /// It says that these are idle. It may still be on those that it was told to leave.
    pub fn say_idle(&mut self, idle: &PuSet) {
        if let Some(page) = &self.page {
            self.excused.or_with(&idle.difference(&page.pus));
        }
        self.idle.clone_from(idle);
    }

    /// It, or somebody from outside, moves its threads.
    pub fn move_to(&mut self, epoch: u32, pus: &PuSet, shared: bool) {
        self.seen = self.seen.max(epoch);
        self.placed.clone_from(pus);
        self.excused.and_with(pus);
        if !shared {
            self.excused.clear();
        }
    }

    /// The same, as its page says. Whether that is news to it; `None`: it has no page.
    pub fn follow_page(&mut self) -> Option<(Page, bool)> {
        let page = self.page.clone()?;
        let news = page.epoch > self.seen || self.placed != page.pus;
        self.move_to(page.epoch, &page.pus, page.shared);
        Some((page, news))
    }

    /// Its page is written. True if it names other processors than before.
    pub fn publish(&mut self, epoch: u32, pus: &PuSet, shared: bool) -> bool {
        let lost = self.idle.difference(pus);
        self.excused.or_with(&lost);
        self.idle.subtract(&lost);
        let before = self.page.replace(Page { epoch, pus: pus.clone(), shared });
        let moves = before.as_ref().is_none_or(|page| page.pus != *pus);
        if shared {
            self.excused.or_with(pus);
        } else {
            let before = before.map(|page| page.pus).unwrap_or_default();
            self.idle.subtract(&pus.difference(&before));
            self.excused.subtract(pus);
        }
        moves
    }

    /// Where it is without an excuse.
    pub fn unexcused(&self) -> PuSet {
        let mut there = self.placed.difference(&self.excused);
        there.subtract(&self.idle);
        there
    }
}
