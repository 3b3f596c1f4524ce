//! The manager's own rules, beside those of `numaestro-contract` for every shell: how many
//! processors it asks for, and which number a decision has in the page. They are pure: they use no
//! component, clock or system call.

use numaestro_topology::{CpuSet, Machine, PuSet};

/// Processors to ask for on behalf of a program without a page. A program that is alone would be
/// held to its few active threads at its start, so its activity counts only while others contend.
/// One process with one active thread is in a sequential phase: the sensor of phases finds that,
/// and its end, much faster.
pub(crate) fn request_from_activity(active: u32, wish: u32, contended: bool, one_process: bool) -> u32 {
    if contended && !(one_process && active <= 1) { active.clamp(1, wish) } else { wish }
}

/// The number of processors that an application could use, and the number that the engine was asked
/// for. The user's limit goes before the program's wishes: the engine is never asked for more, and
/// the wishes are kept for a time when the limit is higher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wants {
    /// Processors that the program could use on a machine of any size, without its user's limit.
    could: u32,
    /// The most that its user lets it have.
    most: u32,
    /// Processors that it could use of this machine, and may have.
    wish: u32,
    /// Processors that the program itself last asked for; 0: it left the number to us.
    own: u32,
    /// Processors last asked of the engine.
    request: u32,
}

impl Wants {
    /// The wants of an application that may have this many, on a machine of `processors`.
    pub(crate) fn new(most: u32, processors: u32) -> Self {
        Self { could: u32::MAX, most, wish: most.clamp(1, processors), own: 0, request: 0 }
    }

    /// Processors that the program could use, for a next manager.
    pub(crate) fn could(&self) -> u32 {
        self.could
    }

    pub(crate) fn wish(&self) -> u32 {
        self.wish
    }

    pub(crate) fn request(&self) -> u32 {
        self.request
    }

    /// Another number of processors is all that it could use.
    pub(crate) fn limit(&mut self, could: u32, processors: u32) {
        self.could = could;
        self.fit(processors);
    }

    /// Its user lets it have another number at most.
    pub(crate) fn allow(&mut self, most: u32, processors: u32) {
        self.most = most;
        self.fit(processors);
    }

    /// There are more processors than before, or fewer: the former wish, if it is another one now.
    pub(crate) fn fit(&mut self, processors: u32) -> Option<u32> {
        let wish = self.could.min(self.most).clamp(1, processors);
        let before = std::mem::replace(&mut self.wish, wish);
        (before != wish).then_some(before)
    }

    /// The program asks for so many by itself; 0: any number.
    pub(crate) fn says(&mut self, own: u32) {
        self.own = own;
    }

    /// Processors to ask for, by the program's own word.
    pub(crate) fn wanted(&self) -> u32 {
        if self.own == 0 { self.wish } else { self.own.min(self.most) }
    }

    /// The engine is asked for this many from now on; gives the former number.
    pub(crate) fn ask(&mut self, processors: u32) -> u32 {
        std::mem::replace(&mut self.request, processors)
    }
}

/// Processors that the engine said an application is to have.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The engine's number of it.
    pub(crate) epoch: u32,
    pub(crate) count: u32,
    pub(crate) pus: PuSet,
    pub(crate) cpus: CpuSet,
    pub(crate) shared: bool,
    pub(crate) lent: bool,
}

/// The latest target of an application, and how far it has been adopted. A page's epochs go on when
/// the engine begins anew, because a program looks at a decision only when its number changes.
#[derive(Debug, Default)]
pub(crate) struct Allocation {
    target: Option<Target>,
    /// Added to the engine's epochs in the page.
    base: u32,
    /// The engine's epoch.
    adopted: u32,
}

impl Allocation {
    /// The allocation of an application whose page already has decisions up to this number.
    pub(crate) fn after(page_epoch: u32) -> Self {
        Self { base: page_epoch, ..Self::default() }
    }

    pub(crate) fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// Processors it has; 0 before its first target.
    pub(crate) fn count(&self) -> u32 {
        self.target.as_ref().map_or(0, |target| target.count)
    }

    fn epoch(&self) -> u32 {
        self.target.as_ref().map_or(0, |target| target.epoch)
    }

    /// The number up to which its page has decisions.
    pub(crate) fn page_epoch(&self) -> u32 {
        self.base.wrapping_add(self.epoch())
    }

    /// The same for people: 0 before the first decision of this manager.
    pub(crate) fn latest_page_epoch(&self) -> u32 {
        self.target.as_ref().map_or(0, |_| self.page_epoch())
    }

    /// The number of the latest decision that it has adopted, as its page has it.
    pub(crate) fn adopted_page_epoch(&self) -> u32 {
        self.base.wrapping_add(self.adopted)
    }

    /// The number that its page gives the decision that lets it go.
    pub(crate) fn release_epoch(&self) -> u32 {
        self.page_epoch().wrapping_add(1)
    }

    pub(crate) fn set(&mut self, target: Target) {
        self.target = Some(target);
    }

    /// The page says the latest decision under a new number, because something else has changed.
    pub(crate) fn say_again(&mut self) {
        self.base = self.base.wrapping_add(1);
    }

    /// The engine's number of a decision that the page has under this one. The page may hold any
    /// number.
    pub(crate) fn epoch_of(&self, page_epoch: u32) -> u32 {
        page_epoch.wrapping_sub(self.base)
    }

    /// The application is within its target of this epoch.
    pub(crate) fn adopt(&mut self, epoch: u32) {
        self.adopted = self.adopted.max(epoch);
    }

    /// No thread of it is outside its latest target.
    pub(crate) fn is_adopted(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.epoch == self.adopted)
    }

    /// The engine begins anew, on this machine: its epochs and the numbers of its PUs do too.
    pub(crate) fn begin_anew(&mut self, machine: &Machine) {
        self.base = self.page_epoch();
        self.adopted = 0;
        if let Some(target) = &mut self.target {
            target.pus = machine.pu_set(&target.cpus);
            target.epoch = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_counts_only_while_others_contend() {
        assert_eq!(request_from_activity(3, 8, false, false), 8);
        assert_eq!(request_from_activity(3, 8, true, true), 3);
        assert_eq!(request_from_activity(0, 8, true, false), 1);
        assert_eq!(request_from_activity(20, 8, true, false), 8);
        assert_eq!(request_from_activity(1, 8, true, true), 8, "a sequential phase");
    }

    #[test]
    fn a_wish_follows_the_number_of_processors() {
        let mut wants = Wants::new(u32::MAX, 4);
        assert_eq!((wants.wish(), wants.request()), (4, 0));
        assert_eq!(wants.fit(8), Some(4));
        assert_eq!(wants.fit(8), None);
        wants.limit(2, 8);
        assert_eq!((wants.could(), wants.wish(), wants.ask(2), wants.request()), (2, 2, 0, 2));
    }

    #[test]
    fn the_users_limit_goes_before_all_wishes_and_forgets_none() {
        let mut wants = Wants::new(u32::MAX, 8);
        wants.limit(6, 8);
        wants.allow(2, 8);
        assert_eq!((wants.wish(), wants.wanted(), wants.could()), (2, 2, 6));
        wants.says(4);
        assert_eq!(wants.wanted(), 2, "a later wish of the program's own");
        wants.limit(8, 8);
        assert_eq!(wants.wish(), 2, "a larger team");
        wants.allow(u32::MAX, 8);
        assert_eq!((wants.wish(), wants.wanted()), (8, 4), "what it had asked for counts again");
        wants.says(0);
        assert_eq!(wants.wanted(), 8);
    }

    fn target(epoch: u32) -> Target {
        let (pus, cpus) = (PuSet::new(), CpuSet::new());
        Target { epoch, count: 1, pus, cpus, shared: false, lent: false }
    }

    #[test]
    fn the_page_goes_on_from_the_numbers_of_a_former_manager() {
        let mut allocation = Allocation::after(10);
        allocation.set(target(2));
        assert_eq!((allocation.page_epoch(), allocation.epoch_of(12)), (12, 2));
        assert!(allocation.epoch_of(9) > 2, "no number of this manager's");
        allocation.adopt(allocation.epoch_of(11));
        assert!(!allocation.is_adopted());
        allocation.adopt(allocation.epoch_of(12));
        assert!(allocation.is_adopted());
        allocation.adopt(1);
        assert_eq!(allocation.adopted_page_epoch(), 12, "it does not go back");
    }

    #[test]
    fn numbers_in_the_page_go_on_when_the_engine_begins_anew() {
        let machine = numaestro_topology::synthetic::parse("core:2 pu:1").unwrap();
        let mut allocation = Allocation::default();
        allocation.set(target(5));
        allocation.adopt(5);
        allocation.begin_anew(&machine);
        assert_eq!((allocation.page_epoch(), allocation.adopted_page_epoch()), (5, 5));
        allocation.set(target(1));
        assert_eq!((allocation.page_epoch(), allocation.release_epoch()), (6, 7));
    }
}
