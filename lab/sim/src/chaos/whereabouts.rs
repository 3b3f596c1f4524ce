//! The real places of a program's threads beside its page, and its excuses for processors that
//! another program was promised to have alone.

use numaestro_topology::{PuId, PuSet};

/// The target in a program's page.
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
    /// Processors on which its threads may run.
    placed: PuSet,
    /// Processors where it may be although another program was promised to be alone there, through
    /// no fault of the engine's: it said that it had left them, the system refused to move it, it
    /// was a guest, or the engine has never heard of it.
    excused: PuSet,
    /// Processors that it has called idle to the engine, and has not been given since.
    idle: PuSet,
}

impl Whereabouts {
    /// The target in its page; `None`: it has no page.
    pub fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// Latest epoch of its page that has been carried out.
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Processors on which its threads may run.
    pub fn placed(&self) -> &PuSet {
        &self.placed
    }

    /// The program comes to a manager that has not put it where it is.
    pub fn join(&mut self) {
        (self.page, self.seen) = (None, 0);
        self.idle.clear();
        self.excused.clone_from(&self.placed);
    }

    /// The threads of the program are gone.
    pub fn vanish(&mut self) {
        self.placed.clear();
    }

    /// The program begins to run on these processors; nobody has put it there yet.
    pub fn begin(&mut self, pus: &PuSet) {
        self.placed.clone_from(pus);
        self.excused.clone_from(pus);
    }

    /// Excuses it for all its present places.
    pub fn excuse_all(&mut self) {
        self.excused.or_with(&self.placed);
    }

    /// Excuses it for these processors.
    pub fn excuse(&mut self, pus: &PuSet) {
        self.excused.or_with(pus);
    }

    /// Excuses it for one processor.
    pub fn excuse_one(&mut self, pu: PuId) {
        self.excused.insert(pu);
    }

    /// The program says that these processors are idle. It may still be on the ones that it was
    /// told to leave.
    pub fn say_idle(&mut self, idle: &PuSet) {
        if let Some(page) = &self.page {
            self.excused.or_with(&idle.difference(&page.pus));
        }
        self.idle.clone_from(idle);
    }

    /// The program, or somebody from outside, moves its threads.
    pub fn move_to(&mut self, epoch: u32, pus: &PuSet, shared: bool) {
        self.seen = self.seen.max(epoch);
        self.placed.clone_from(pus);
        self.excused.and_with(pus);
        if !shared {
            self.excused.clear();
        }
    }

    /// Moves its threads as its page says. Returns the page and whether it is news to the program;
    /// `None`: it has no page.
    pub fn follow_page(&mut self) -> Option<(Page, bool)> {
        let page = self.page.clone()?;
        let news = page.epoch > self.seen || self.placed != page.pus;
        self.move_to(page.epoch, &page.pus, page.shared);
        Some((page, news))
    }

    /// Writes its page. True if the page names other processors than before.
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

    /// Processors where it is without an excuse.
    pub fn unexcused(&self) -> PuSet {
        let mut there = self.placed.difference(&self.excused);
        there.subtract(&self.idle);
        there
    }
}
