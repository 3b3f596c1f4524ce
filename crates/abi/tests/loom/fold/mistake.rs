//! What the models must find.

/// A mistake that the scheduler could have. Each is a line of team.c left out or put in another
/// place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// `nm_switch` clears `runner` before it is off the stack.
    FreeBeforeLeft,
    /// `nm_switch` clears `runner` without release order.
    FreeWithoutOrder,
    /// Neither `claim` looks again after its compare-and-swap nor `suspend` after it runs again;
    /// one of them would be enough.
    NoLookAfterClaim,
    /// `meet` counts itself without acquire and release order.
    CountedWithoutOrder,
    /// `meet` opens the next generation before the count is 0 again.
    OpenedBeforeReset,
    /// `ring` has no full barrier.
    NoFenceInRing,
    /// `sleep_by_the_bell` has no full barrier.
    NoFenceBeforeSleep,
    /// `sleep_by_the_bell` does not look once more.
    NoLookBeforeSleep,
    /// `sleep_by_the_bell` reads the bell after it has looked.
    BellReadLate,
    /// `park` does not call the own carrier of a context that it has just left.
    EvictedNotCalled,
    /// `park` does not ring for the context that it has just left.
    NoRingInPark,
    /// `runs_again` does not ring for the ready context that its carrier has left, and nobody looks
    /// for such a one before sleeping; one of them would be enough here.
    NoRingForLeft,
    /// `call` overwrites another one's call: what that one did before may not be seen.
    CallStored,
    /// `park` overwrites a call instead of taking it: it may not see what it was called for.
    CallOverwritten,
    /// A carrier sleeps for good while another one is still on the stack of a context that only it
    /// may run or that is ready, and that other one does not ring either when it has left; one of
    /// them would be enough here.
    SleepsWithoutOwn,
    /// A carrier sleeps for good while another one is still on the stack of a context that has
    /// become ready since that one left it.
    SleepsWithoutLeft,
    /// `suspend` looks whether a context is ready after it has seen that its carrier may keep it.
    ReadyReadLate,
    /// `suspend` keeps a context that is to go home.
    NobodyEvicted,
    /// `nm_fold_limit` calls nobody.
    LimitNotCalled,
    /// `nm_fold_dissolve` calls nobody.
    DissolvedNotCalled,
    /// `nm_fold_send_home` calls nobody.
    HomeNotCalled,
    /// `nm_fold_recall` opens the next generation before it says that the meeting is recalled.
    RecalledLate,
    /// `meet` reads the generation without acquire order: it may not see that the meeting before
    /// was recalled.
    GenerationWithoutOrder,
    /// `meet` leaves a recalled meeting and is still counted.
    NotTakenBack,
}
