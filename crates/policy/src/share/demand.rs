//! Processors on demand: one for each thread that could run, as long as there are free ones; idle
//! ones go back.
//!
//! **Source**: the kernel scheduler of Koita et al. §2.2 (release, hold, partial hold, slide);
//! thread-granular allocation of Brecht 1997, §2. The order of service: Ohishi, Saisho, Fukuda 1997
//! (waiting applications first).
//!
//! **Terms**: runnable threads = `request`; a(j) = allocation; free = nobody's; idle = its owner
//! has nothing to run on it.
//!
//! **Algorithm**
//! ```text
//! every application keeps the processors it uses, and of its idle ones
//!   idle=release: none              idle=keep: all             idle=home: those in its home
//!   idle=slide:   those in its home, but gives up as many that it uses elsewhere: their threads slide home
//!   idle=lazy:    all that the others leave over; the one with most gives first
//! free ones: one to each that has none, in order of arrival; then one a turn to each with a(j) < runnable threads
//! ```
//!
//! **Differs from the paper**: it gives no order of service. The user's minimum is given at once or
//! not at all; weights have no meaning.
//!
//! **Use when** programs say what they could use and their phases are long. **Avoid when** programs
//! ask for the whole machine and never less: the first one has it (`equi`).

use crate::answer::Answer;
use crate::part::{Info, Share};
use crate::shares::Shares;
use crate::view::{Slot, View};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Share> = Answer {
    info: Info {
        name: "demand",
        summary: "One for each thread that could run, as long as there are free ones; idle ones go back",
        source: "Koita et al. §2.2; Brecht 1997, §2",
    },
    build: |given| Ok(Box::new(Demand::new(given.choice("idle", &Idle::ALL)?.unwrap_or_default()))),
};

/// The rule for processors that their owner has nothing to run on. Default: they are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// They are free at once (FR).
    #[default]
    Release,
    /// They stay until the application ends (FH).
    Keep,
    /// The ones in its home stay, others are free (FP, HB).
    Home,
    /// As `Home`, and threads that run elsewhere come home to them (HS).
    Slide,
    /// They stay until another application wants them (FR-lazy).
    Lazy,
}

impl Idle {
    /// All of them, with their words in policy texts.
    pub const ALL: [(&'static str, Self); 5] = [
        ("release", Self::Release),
        ("keep", Self::Keep),
        ("home", Self::Home),
        ("slide", Self::Slide),
        ("lazy", Self::Lazy),
    ];
}

/// Processors that one application has now.
#[derive(Debug, Clone, Copy, Default)]
struct Has {
    /// Idle processors.
    idle: u32,
    /// Idle processors in its home.
    idle_at_home: u32,
    /// All processors in its home.
    at_home: u32,
}

/// Config and buffers.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    idle: Idle,
    has: Vec<Has>,
    /// Applications that want more.
    open: Vec<Slot>,
}

impl Demand {
    /// A share with a rule for idle processors.
    pub fn new(idle: Idle) -> Self {
        Self { idle, ..Self::default() }
    }
}

impl Share for Demand {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        let word = Idle::ALL.iter().find(|(_, idle)| *idle == self.idle && *idle != Idle::default());
        word.map(|(word, _)| format!("idle={word}")).unwrap_or_default()
    }

    fn conserves_work(&self) -> bool {
        matches!(self.idle, Idle::Release | Idle::Lazy)
    }

    fn retains(&self) -> bool {
        self.idle != Idle::Release
    }

    fn needs_homes(&self) -> bool {
        matches!(self.idle, Idle::Home | Idle::Slide)
    }

    fn divide(&mut self, view: &View<'_>, shares: &mut Shares) {
        self.look(view);
        let mut left = view.capacity;
        for &slot in view.order {
            let kept = self.kept(view, slot).min(left);
            if kept >= view.app(slot).min {
                shares.set(slot, kept);
                left -= kept;
            }
        }
        first_ones(view, shares, &mut left);
        one_a_turn(view, shares, &mut left, &mut self.open);
        if self.idle == Idle::Lazy {
            self.give_back(view, shares, left);
        }
    }
}

impl Demand {
    /// Counts the processors that each application has.
    fn look(&mut self, view: &View<'_>) {
        self.has.clear();
        self.has.resize(view.apps.len(), Has::default());
        for (pu, place) in view.pus.iter().zip(view.machine.pus()) {
            let Some(slot) = pu.next else { continue };
            let (has, idle) = (&mut self.has[slot.index()], u32::from(pu.idle));
            has.idle += idle;
            if view.app(slot).home == Some(place.node) {
                has.idle_at_home += idle;
                has.at_home += 1;
            }
        }
    }

    /// Processors that an application keeps even if others want them.
    fn kept(&self, view: &View<'_>, slot: Slot) -> u32 {
        let (app, has) = (view.app(slot), self.has[slot.index()]);
        let used = (app.allocation - has.idle).min(app.cap(view.capacity));
        match self.idle {
            Idle::Release | Idle::Lazy => used,
            Idle::Keep => app.allocation,
            Idle::Home => used + has.idle_at_home,
            Idle::Slide => used.max(has.at_home),
        }
    }

    /// Gives the rest back to the applications with idle processors, one at a time, to the one that
    /// has kept fewest of them. So the one with most loses first.
    fn give_back(&self, view: &View<'_>, shares: &mut Shares, mut left: u32) {
        let kept = |shares: &Shares, slot: Slot| {
            let (app, count) = (view.app(slot), shares.count(slot));
            let used = app.allocation - self.has[slot.index()].idle;
            (count >= app.min && count < app.allocation).then(|| count.saturating_sub(used))
        };
        while left > 0 {
            let least =
                view.order.iter().filter_map(|&slot| Some((kept(shares, slot)?, view.app(slot).id, slot))).min();
            let Some((_, _, slot)) = least else { return };
            shares.set(slot, shares.count(slot) + 1);
            left -= 1;
        }
    }
}

/// Gives each application without processors its minimum, in order of arrival, while there is
/// enough.
pub(super) fn first_ones(view: &View<'_>, shares: &mut Shares, left: &mut u32) {
    for &slot in view.order {
        let app = view.app(slot);
        if shares.count(slot) == 0 && app.min <= *left && app.min <= app.cap(view.capacity) {
            shares.set(slot, app.min);
            *left -= app.min;
        }
    }
}

/// Gives one processor in each round to each application that has some and could use more, in order
/// of arrival.
fn one_a_turn(view: &View<'_>, shares: &mut Shares, left: &mut u32, open: &mut Vec<Slot>) {
    let room = |shares: &Shares, slot: Slot| match shares.count(slot) {
        0 => 0,
        count => view.app(slot).cap(view.capacity).saturating_sub(count),
    };
    open.clear();
    open.extend(view.order.iter().filter(|&&slot| room(shares, slot) > 0));
    while *left > 0 && !open.is_empty() {
        // Gives several rounds at once, so that a thousand processors do not take a thousand
        // rounds.
        let least = open.iter().map(|&slot| room(shares, slot)).min().unwrap_or(0);
        let turns = (*left / open.len() as u32).clamp(1, least);
        open.retain(|&slot| {
            let more = turns.min(*left);
            shares.set(slot, shares.count(slot) + more);
            *left -= more;
            room(shares, slot) > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;
    use numaestro_topology::NumaNodeId;

    fn demand(idle: Idle) -> Demand {
        Demand::new(idle)
    }

    /// Two nodes of 4 processors. The first application has 0–5, its home is node 0, and it has
    /// nothing to run on those in `idle`.
    fn at_home(request: u32, idle: &[usize]) -> Case {
        let mut case = Case::on("numa:2 core:4 pu:1").wants(&[request, 8]).holds(&[6]);
        case.apps[0].home = Some(NumaNodeId(0));
        for &pu in idle {
            case.pus[pu].idle = true;
        }
        case
    }

    #[test]
    fn what_is_idle_is_released_and_given() {
        assert_eq!(at_home(3, &[0, 1, 5]).divide(&mut demand(Idle::Release)), [3, 5]);
    }

    #[test]
    fn what_is_idle_is_kept() {
        assert_eq!(at_home(3, &[0, 1, 5]).divide(&mut demand(Idle::Keep)), [6, 2]);
    }

    #[test]
    fn what_is_idle_at_home_is_kept() {
        assert_eq!(at_home(3, &[0, 1, 5]).divide(&mut demand(Idle::Home)), [5, 3]);
    }

    #[test]
    fn what_runs_elsewhere_slides_home() {
        // 0 and 1 idle, threads on 2–5: the threads of 4 and 5 go home.
        assert_eq!(at_home(4, &[0, 1]).divide(&mut demand(Idle::Slide)), [4, 4]);
        // Only 0 idle: one of the two outside slides, the other stays outside.
        assert_eq!(at_home(5, &[0]).divide(&mut demand(Idle::Slide)), [5, 3]);
        // Nothing runs outside: home is kept although it is idle.
        assert_eq!(at_home(1, &[1, 2, 3, 4, 5]).divide(&mut demand(Idle::Slide)), [4, 4]);
    }

    #[test]
    fn what_is_idle_stays_while_nobody_asks() {
        let mut lazy = demand(Idle::Lazy);
        assert_eq!(at_home(3, &[0, 1, 5]).divide(&mut lazy), [3, 5]);
        let mut case = at_home(3, &[0, 1, 5]);
        case.apps[1].request = 3;
        assert_eq!(case.divide(&mut lazy), [5, 3]);
    }

    #[test]
    fn taken_from_who_has_most_idle_ones() {
        let mut case = Case::new(9).wants(&[1, 1, 2]).holds(&[3, 6]);
        for pu in [1, 2, 4, 5, 6, 7, 8] {
            case.pus[pu].idle = true;
        }
        assert_eq!(case.divide(&mut demand(Idle::Lazy)), [3, 4, 2]);
    }

    #[test]
    fn waiting_ones_first_then_one_a_turn() {
        let case = Case::new(8).wants(&[8, 8, 3]).holds(&[2, 2]);
        assert_eq!(case.divide(&mut demand(Idle::Release)), [3, 3, 2]);
        assert_eq!(Case::new(3).wants(&[8, 8, 8, 8]).divide(&mut demand(Idle::Release)), [1, 1, 1, 0]);
    }

    #[test]
    fn nothing_is_taken_from_who_uses_it() {
        let case = Case::new(8).wants(&[8, 8]).holds(&[8, 0]);
        assert_eq!(case.divide(&mut demand(Idle::Release)), [8, 0]);
    }
}
