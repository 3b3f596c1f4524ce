//! The promises of every answer, checked in random situations: one suite for each part, run over
//! every registered answer.
//!
//! The tests cover an answer as soon as its part lists it, with its default parameters. Other
//! parameters stand below.

use super::{Case, app, random_case};
use crate::answer::Answer;
use crate::catalogue::make;
use crate::page_home::PageHome;
use crate::part::{Admission, Offer, Pages, Part, Placement, Queue, Share, Turns, Waiting};
use crate::random::Random;
use crate::turns::machinery::{testing, threading};
use crate::view::{App, Slot};
use crate::{admission, pages, placement, share, turns};

/// Answers with other parameters than the default ones.
const VARIANTS: [(Part, &[&str]); 4] = [
    (
        Part::Share,
        &[
            "equi(by=max)",
            "cluster(unit=1)",
            "equip(leftover=worklist)",
            "demand(idle=keep)",
            "demand(idle=home)",
            "demand(idle=slide)",
            "demand(idle=lazy)",
            "sgi-mp(sees=requests,step=all)",
        ],
    ),
    (
        Part::Placement,
        &[
            "affinity(tie=random)",
            "first-fit(tie=lowest)",
            "worst-fit(tie=lowest)",
            "worst-fit(equal=3)",
            "empty-pool(tie=lowest)",
            "empty-pool(overflow=deny)",
            "localized(tie=lowest)",
            "fixed(at=1)",
            "base-priority(tie=lowest)",
            "home(tie=lowest)",
            "limited(tie=lowest)",
            "repartition(tie=random)",
        ],
    ),
    (Part::Turns, &["sw-dss(k=2)", "ssw-dss(k=0.5)", "vtq-dss(k=1.5)", "fitness(base=dss)"]),
    (Part::Admission, &["multiprogramming(initial=1,max=2,finish=test)"]),
];

/// An answer that cannot be made without parameters.
const NEEDS_PARAMETERS: &str = "fixed";

/// Texts of every answer of a part, and of its variants.
fn texts<P: ?Sized>(part: Part, answers: &[Answer<P>]) -> Vec<&'static str> {
    let names = answers.iter().map(|answer| answer.info.name).filter(|&name| name != NEEDS_PARAMETERS);
    let variants = VARIANTS.into_iter().filter(|&(of, _)| of == part).flat_map(|(_, texts)| texts.iter().copied());
    names.chain(variants).collect()
}

/// An answer by its text.
fn made<P: ?Sized>(part: Part, answers: &[Answer<P>], text: &str, seed: u64) -> Box<P> {
    make(part, answers, Some(text), seed).unwrap_or_else(|rejected| panic!("{text}: {rejected}"))
}

#[test]
fn every_share_conforms() {
    for text in texts(Part::Share, share::ANSWERS) {
        share_conforms(&mut *made(Part::Share, share::ANSWERS, text, 0));
    }
}

#[test]
fn every_placement_conforms() {
    for text in texts(Part::Placement, placement::ANSWERS) {
        placement_conforms(text, &|seed| made(Part::Placement, placement::ANSWERS, text, seed));
    }
}

#[test]
fn every_turns_part_conforms() {
    for text in texts(Part::Turns, turns::ANSWERS) {
        turns_conform(text, &|| made(Part::Turns, turns::ANSWERS, text, 0));
    }
}

#[test]
fn every_pages_part_conforms() {
    for text in texts(Part::Pages, pages::ANSWERS) {
        pages_conform(text, &*made(Part::Pages, pages::ANSWERS, text, 0));
    }
}

#[test]
fn every_admission_conforms() {
    for text in texts(Part::Admission, admission::ANSWERS) {
        admission_conforms(text, &mut *made(Part::Admission, admission::ANSWERS, text, 0));
    }
}

/// In every situation: G2, G3, limits, the same answer twice, work conservation where promised.
fn share_conforms(share: &mut dyn Share) {
    let mut random = Random::new(0x5EED);
    for round in 0..2000 {
        let case = random_case(&mut random);
        let counts = case.divide(share);
        let capacity = case.with_view(|view| view.capacity);
        let name = share.info().name;
        if !share.space_shares() {
            let threads = case.apps.iter().zip(&counts).all(|(app, &count)| (1..=app.threads()).contains(&count));
            assert!(threads && counts == case.divide(share), "{name} {round}: {counts:?}");
            continue;
        }
        assert!(counts.iter().sum::<u32>() <= capacity, "{name} {round}: {counts:?} of {capacity}");
        for (app, &count) in case.apps.iter().zip(&counts) {
            assert!(count == 0 || count >= app.min, "{name} {round}: {count} below minimum {}", app.min);
            assert!(
                count == 0 || count <= app.cap(capacity) || share.retains() && count <= app.allocation,
                "{name} {round}: {count} above cap {}",
                app.cap(capacity)
            );
        }
        let room = |(app, &count): (&App, &u32)| if count == 0 { app.min } else { count + 1 } <= app.cap(capacity);
        let wanting = case.apps.iter().zip(&counts).filter(|&pair| room(pair));
        let needed = wanting.map(|(app, &count)| if count == 0 { app.min } else { 1 }).min().unwrap_or(u32::MAX);
        let left = capacity - counts.iter().sum::<u32>();
        if share.conserves_work() {
            assert!(left < needed, "{name} {round}: {left} left of {capacity}, {counts:?} {:#?}", case.apps);
        }
        assert_eq!(counts, case.divide(share), "{name} {round}: not the same twice");
    }
}

/// Decisions until nothing moves: one takes processors where applications must not be, one gives
/// them to others.
const ROUNDS_TO_REST: u32 = 2;

/// In every situation with all counts: each application has as many processors as it should, and
/// none moves without need.
fn placement_conforms(text: &str, make: &dyn Fn(u64) -> Box<dyn Placement>) {
    let mut random = Random::new(0xF00D);
    for round in 0..2000 {
        let mut case = random_case(&mut random);
        let before = case.clone();
        let mut left = case.with_view(|view| view.capacity);
        let mut counts = vec![0; case.apps.len()];
        for count in &mut counts {
            *count = random.below(left + 1);
            left -= *count;
        }
        let (mut placement, mut again) = (make(round), make(round));
        let places = case.place(&mut *placement, &counts);
        assert_eq!(places, before.clone().place(&mut *again, &counts), "{text} {round}: same seed, another answer");
        for (slot, &count) in counts.iter().enumerate() {
            let (was, is) = (&before.apps[slot].own, &case.apps[slot].own);
            let right = if placement.selective() { is.len() <= count as usize } else { is.len() == count as usize };
            assert!(right, "{text} {round}: {} processors instead of {count}", is.len());
            // Where applications have homes of their own, being elsewhere is a reason to move;
            // others make only moves that pay (their own tests).
            let may_move = placement.selective() && placement.gives_homes() || placement.moves();
            assert!(
                may_move || is.common(was) == was.len().min(is.len()),
                "{text} {round}: {was} → {is} moved without need"
            );
            assert!(is.iter().all(|pu| before.pus[pu.index()].is_usable()));
        }
        comes_to_rest(&mut case, &mut *placement, &counts, &format!("{text} {round}"));
    }
}

/// Decides about the same situation again and again, and carries each decision out: the next one
/// must not take processors that the last one has given.
fn comes_to_rest(case: &mut Case, placement: &mut dyn Placement, counts: &[u32], of: &str) {
    let mut places = case.place(placement, counts);
    for _ in 0..ROUNDS_TO_REST {
        let before = std::mem::replace(&mut places, case.place(placement, counts));
        if before == places {
            return;
        }
    }
    panic!("{of}: it never comes to rest: {places:?}");
}

/// Quanta for each application or thread within which it must have run.
const PATIENCE: u32 = 4;

/// After every event the answer is a possible one and the same when asked again, a turn ends after
/// it has begun, and every application that stays runs again and again (G7).
fn turns_conform(text: &str, make: &dyn Fn() -> Box<dyn Turns>) {
    if make().chooses_threads() {
        return threading::survives(make, &|_, _| {}, &|case| PATIENCE * (case.thread_total() + 1));
    }
    let mut random = Random::new(0x7124);
    for round in 0..200 {
        let (mut case, mut turns) = (testing::random_case(&mut random), make());
        for _ in 0..40 {
            testing::random_change(&mut case, &mut random);
            one_turn(text, &mut case, &mut *turns);
        }
        let mut waiting: Vec<Slot> = case.order.clone();
        waiting.retain(|slot| case.apps[slot.index()].min <= case.pus.len() as u32);
        for _ in 0..PATIENCE * (case.order.len() as u32 + 1) {
            let running = one_turn(text, &mut case, &mut *turns);
            waiting.retain(|slot| !running.contains(slot));
        }
        assert!(waiting.is_empty(), "{text} {round}: {waiting:?} never run");
    }
}

/// The applications of the turn that begins now, if it is a possible one; the turn is over
/// afterwards.
fn one_turn(text: &str, case: &mut Case, turns: &mut dyn Turns) -> Vec<Slot> {
    let (turn, end) = case.turn(turns);
    let (again, same_end) = case.turn(turns);
    assert_eq!((&turn.running, turn.limits(), end), (&again.running, again.limits(), same_end), "{text}: asked again");
    assert!(end.is_none_or(|end| end > case.now_ns), "{text}: a turn that is over: {end:?}");
    assert!(turn.limits().iter().all(|&(_, limit)| limit > 0), "{text}: {turn:?}");
    let waits = |slot: &Slot| !turn.running.contains(slot);
    let can_run = case.order.iter().any(|slot| waits(slot) && case.apps[slot.index()].min <= case.pus.len() as u32);
    assert!(end.is_some() || !can_run, "{text}: somebody waits, and nothing follows");
    case.now_ns = end.unwrap_or(case.now_ns + testing::QUANTUM);
    turn.running
}

/// In every situation pages go to a node of the machine, the same one when asked again, and only an
/// answer that says so needs control of them.
fn pages_conform(text: &str, pages: &dyn Pages) {
    let mut random = Random::new(0x9A6E);
    for round in 0..500 {
        let case = random_case(&mut random);
        case.with_view(|view| {
            for &slot in view.order {
                let home = pages.home(view, slot);
                assert_eq!(home, pages.home(view, slot), "{text} {round}: not the same twice");
                let node = if let PageHome::Node(node) = home { node.index() } else { 0 };
                assert!(node < view.machine.numa_nodes().len(), "{text} {round}: there is no node {node}");
                assert!(home == PageHome::FirstTouch || pages.needs().page_control, "{text} {round}: {home:?}");
            }
        });
    }
}

/// With every queue the next application is in it and the same when asked again, and on an empty
/// machine one starts.
fn admission_conforms(text: &str, admission: &mut dyn Admission) {
    let mut random = Random::new(0xAD31);
    for round in 0..1000 {
        if !admission.queues() {
            return;
        }
        let mut case = random_case(&mut random);
        let capacity = case.with_view(|view| view.capacity);
        let waiting: Vec<Waiting> = (0..random.below(6)).map(|_| wait(&mut case, &mut random)).collect();
        let free = random.below(capacity + 1);
        let from = random.below(waiting.len() as u32 + 1) as usize;
        let queue = Queue { waiting: &waiting, started: &[], free };
        let next = case.with_view(|view| admission.next(view, queue, from));
        assert_eq!(
            next,
            case.with_view(|view| admission.next(view, queue, from)),
            "{text} {round}: not the same twice"
        );
        assert!(next.is_none_or(|next| (from..waiting.len()).contains(&next)), "{text} {round}: {next:?} from {from}");
        case.order.clear();
        case.pus.iter_mut().for_each(|pu| (pu.owner, pu.next) = (None, None));
        let queue = Queue { waiting: &waiting, started: &[], free: capacity };
        let first = case.with_view(|view| admission.next(view, queue, 0));
        assert_eq!(first, (!waiting.is_empty()).then_some(0), "{text} {round}: nobody starts on an empty machine");
        if let Some(first) = first.map(|first| waiting[first]) {
            let offer = Offer { count: first.need(capacity), others_served: true };
            let min = case.apps[first.app.index()].min;
            let starts = case.with_view(|view| admission.starts(view, first.app, offer));
            assert!(starts || offer.count < min, "{text} {round}: {first:?}");
        }
    }
}

/// Adds an application that waits.
fn wait(case: &mut Case, random: &mut Random) -> Waiting {
    let slot = Slot(case.apps.len() as u32);
    let processors = 1 + random.below(2 * case.pus.len() as u32);
    case.apps.push(app(u64::from(slot.0) + 1, processors));
    Waiting { app: slot, processors, estimate_ns: (random.below(2) == 0).then(|| u64::from(random.below(1000))) }
}
