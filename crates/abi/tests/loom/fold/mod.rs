//! Whole teams on fewer processors: the scheduler of `client/fold/team.c` in small teams, and that
//! each mistake it could have is found here.
//!
//! What is checked: one carrier at most stands on a context's stack, and only after another has
//! left it; nobody passes a meeting that not all have come to; what was written before a meeting is
//! seen after it; each thread ends on its own kernel thread; and a team in which somebody is never
//! run again has no end, which the model checker reports.
#![allow(unsafe_code)] // One `Sync`, which says why it is sound.

mod calls;
mod futex;
mod mistake;
mod program;
mod recall;
mod standing;
mod team;

use mistake::Mistake::*;
use program::Step::{self, *};
use program::{Case, check};

const TWO: &[&[Step]] = &[&[Open, Write, Meet, Read, End, Dissolve], &[Join, Write, Meet, Read, End, Return]];
const THREE: &[&[Step]] = &[&[Open, End, Dissolve], &[Join, End, Return], &[Join, End, Return]];

/// Each thread has a carrier that works.
const UNFOLDED: Case = Case { preemptions: 2, limit: 2, programs: TWO, limits: &[] };
/// One carrier runs both.
const FOLDED: Case = Case { preemptions: 3, limit: 1, programs: TWO, limits: &[] };
/// Two carriers run three contexts.
const SPREAD: Case = Case { preemptions: 1, limit: 2, programs: THREE, limits: &[] };
const GROWS: Case = Case { preemptions: 1, limit: 1, programs: TWO, limits: &[2] };
const SHRINKS: Case = Case { preemptions: 1, limit: 2, programs: TWO, limits: &[1] };
const SHRINKS_AND_GROWS: Case = Case { preemptions: 1, limit: 2, programs: TWO, limits: &[1, 2] };
const GROWS_AND_SHRINKS: Case = Case { preemptions: 1, limit: 1, programs: TWO, limits: &[2, 1] };
/// A context that another carrier may run goes to its own, and comes back.
const GOES_HOME: Case = Case {
    preemptions: 3,
    limit: 1,
    programs: &[&[Open, Meet, End, Dissolve], &[Join, GoHome, AtHome, Meet, AtHome, LeaveHome, End, Return]],
    limits: &[],
};
/// Context 2 is sent home before it runs, or soon after.
const SENT_HOME: Case = Case {
    preemptions: 1,
    limit: 2,
    programs: &[
        &[Open, SendHome(2), AwaitHome(2), Meet, End, Dissolve],
        &[Join, Meet, End, Return],
        &[Join, Meet, AtHome, End, Return],
    ],
    limits: &[],
};
/// The root is run by others while the team is given back, and not any more after that.
const ROAMS: Case = Case {
    preemptions: 2,
    limit: 2,
    programs: &[&[Open, Roam(true), Meet, Roam(false), Meet, AtHome, End, Dissolve], &[Join, Meet, Meet, End, Return]],
    limits: &[],
};
/// One lets the other go first.
const GIVES_WAY: Case = Case {
    preemptions: 2,
    limit: 2,
    programs: &[&[Open, GiveWay, End, Dissolve], &[Join, GiveWay, End, Return]],
    limits: &[],
};

/// One lets the root go first, which then waits for it in its own way: another carrier must come.
const LEFT_READY: Case = Case {
    preemptions: 2,
    limit: 2,
    programs: &[&[Open, Meet, Await, End, Dissolve], &[Join, Meet, GiveWay, Tell, End, Return]],
    limits: &[],
};

/// The root waits for another context in its own way, until the team is given back.
const GIVEN_BACK: Case = Case {
    preemptions: 2,
    limit: 1,
    programs: &[&[Open, Await, End, Dissolve], &[Join, Tell, End, Return]],
    limits: &[2],
};

/// The root recalls the meeting to which another one comes, and waits for that one elsewhere.
const RECALLED: Case = Case {
    preemptions: 3,
    limit: 2,
    programs: &[&[Open, Recall, Await, End, Dissolve], &[Join, MeetInVain, Tell, End, Return]],
    limits: &[],
};

/// The root recalls the meeting while a carrier leaves the context that has come to it for one that
/// waits for it elsewhere: a third carrier must come, which has nothing to do at first.
const RECALLED_WHILE_LEFT: Case = Case {
    preemptions: 1,
    limit: 2,
    programs: &[
        &[Open, LetOthersCome, Limit(3), Recall, End, Dissolve],
        &[Join, Await, End, Return],
        &[Join, MeetInVain, Tell, End, Return],
    ],
    limits: &[],
};

macro_rules! holds {
    ($($name:ident: $case:ident;)*) => {
        mod holds {
            $(#[test] fn $name() { super::check(&super::$case, None); })*
        }
    };
}

holds! {
    unfolded: UNFOLDED;
    folded: FOLDED;
    spread: SPREAD;
    grows: GROWS;
    shrinks: SHRINKS;
    shrinks_and_grows: SHRINKS_AND_GROWS;
    grows_and_shrinks: GROWS_AND_SHRINKS;
    goes_home: GOES_HOME;
    sent_home: SENT_HOME;
    roams: ROAMS;
    gives_way: GIVES_WAY;
    left_ready: LEFT_READY;
    given_back: GIVEN_BACK;
    recalled: RECALLED;
}

/// The mistake that it is about shows among the first half of these.
#[test]
fn recalled_while_left() {
    program::check_most(&RECALLED_WHILE_LEFT, None, Some(100_000));
}

macro_rules! is_found {
    ($($name:ident: $mistake:ident in $case:ident, $says:literal;)*) => {
        mod is_found {
            $(#[test] #[should_panic(expected = $says)] fn $name() { super::check(&super::$case, Some(super::$mistake)); })*
        }
    };
}

is_found! {
    free_before_left: FreeBeforeLeft in UNFOLDED, "Causality violation";
    free_without_order: FreeWithoutOrder in UNFOLDED, "Causality violation";
    no_look_after_claim: NoLookAfterClaim in UNFOLDED, "not dissolved yet";
    counted_without_order: CountedWithoutOrder in UNFOLDED, "Causality violation";
    opened_before_reset: OpenedBeforeReset in UNFOLDED, "not all have come to";
    no_fence_in_ring: NoFenceInRing in UNFOLDED, "deadlock";
    no_fence_before_sleep: NoFenceBeforeSleep in UNFOLDED, "deadlock";
    no_look_before_sleep: NoLookBeforeSleep in UNFOLDED, "deadlock";
    bell_read_late: BellReadLate in UNFOLDED, "deadlock";
    evicted_not_called: EvictedNotCalled in GOES_HOME, "deadlock";
    no_ring_in_park: NoRingInPark in SHRINKS, "deadlock";
    no_ring_for_left: NoRingForLeft in LEFT_READY, "maximum number of branches";
    call_stored: CallStored in GROWS_AND_SHRINKS, "deadlock";
    call_overwritten: CallOverwritten in FOLDED, "deadlock";
    sleeps_without_own: SleepsWithoutOwn in SPREAD, "deadlock";
    ready_read_late: ReadyReadLate in SPREAD, "not its own";
    nobody_evicted: NobodyEvicted in GOES_HOME, "another's carrier";
    limit_not_called: LimitNotCalled in GIVEN_BACK, "maximum number of branches";
    dissolved_not_called: DissolvedNotCalled in FOLDED, "deadlock";
    home_not_called: HomeNotCalled in SENT_HOME, "deadlock";
    recalled_late: RecalledLate in RECALLED, "maximum number of branches";
    generation_without_order: GenerationWithoutOrder in RECALLED, "maximum number of branches";
    sleeps_without_left: SleepsWithoutLeft in RECALLED_WHILE_LEFT, "maximum number of branches";
    not_taken_back: NotTakenBack in RECALLED, "deadlock";
}
