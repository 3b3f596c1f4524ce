//! Exactly the processors that the policy's text names.
//!
//! **Source**: the experiments of Brecht 1993, §7, and their notation: `---- ---3 --42 ---1` is a
//! machine of four stations of four processors, and the second process of the application is put on
//! the last processor but one of the third station.
//!
//! **Terms**: digit k = the processor of the k-th process (after 9 come a, b, …); `-` = none of it;
//! `/` stands for the paper's blank.
//!
//! **Algorithm**
//! ```text
//! at=A;B;…: the first application to arrive is put by A, the next by B, …, and again from the beginning
//! j grows: the lowest digit that it does not have; not free ⇒ it waits for it; no digit left ⇒ it gets no more
//! ```
//!
//! **Differs from the paper**: several applications can be placed.
//!
//! **Use when** the effect of a placement is to be measured. **Avoid when** processors must not lie
//! idle.

use super::machinery::surplus::Surplus;
use crate::answer::Answer;
use crate::part::{Info, Placement};
use crate::plan::Plan;
use crate::rejected::Rejected;
use crate::shares::Shares;
use crate::view::{AppId, View};
use numaestro_topology::{Machine, PuId, PuSet};

/// The name of the answer, and the function that makes it.
pub const ANSWER: Answer<dyn Placement> = Answer {
    info: Info { name: "fixed", summary: "Exactly where the policy's text says", source: "Brecht 1993, §7" },
    build: |given| {
        let missing = || Rejected::new("fixed needs places, such as placement=fixed(at=----/----/----/1234)");
        Ok(Box::new(Fixed::new(&given.value("at").ok_or_else(missing)?)?))
    },
};

/// One application's places.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Places {
    /// Processors in the order of its processes.
    order: Vec<PuId>,
    /// Number of processors of the machine that the text is for.
    positions: usize,
}

/// Config and state.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// Config: the text as it was given.
    text: String,
    places: Vec<Places>,
    surplus: Surplus,
    /// Index in `places` of each application, by slot.
    chosen: Vec<Option<(AppId, u32)>>,
    /// Applications seen so far.
    arrivals: u32,
}

impl Fixed {
    /// From the value of `at`.
    ///
    /// # Errors
    /// The column at which the text is no placement.
    pub fn new(text: &str) -> Result<Self, Rejected> {
        let places = text.split(';').map(read).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), places, surplus: Surplus::default(), chosen: Vec::new(), arrivals: 0 })
    }

    /// The places of an application: those of its number in the order of arrival, in rotation.
    fn places_of(&mut self, view: &View<'_>, slot: crate::view::Slot) -> usize {
        if self.chosen.len() <= slot.index() {
            self.chosen.resize(slot.index() + 1, None);
        }
        let (id, chosen) = (view.app(slot).id, &mut self.chosen[slot.index()]);
        let number = match *chosen {
            Some((known, number)) if known == id => number,
            _ => {
                self.arrivals += 1;
                self.arrivals - 1
            }
        };
        *chosen = Some((id, number));
        number as usize % self.places.len()
    }
}

impl Placement for Fixed {
    fn info(&self) -> Info {
        ANSWER.info
    }

    fn parameters(&self) -> String {
        format!("at={}", self.text)
    }

    fn selective(&self) -> bool {
        true
    }

    fn fits(&self, machine: &Machine, usable: &PuSet) -> Result<(), Rejected> {
        for places in &self.places {
            if places.positions != machine.pu_count() {
                let (given, there) = (places.positions, machine.pu_count());
                return Err(Rejected::new(format!(
                    "`at` has {given} positions, but the machine has {there} processors"
                )));
            }
            if let Some(pu) = places.order.iter().find(|&&pu| !usable.contains(pu)) {
                return Err(Rejected::new(format!("`at` names processor {pu}, which is not given to applications")));
            }
        }
        Ok(())
    }

    fn place(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        self.surplus.release(view, shares, plan);
        for &slot in view.order {
            let lacking = shares.count(slot).saturating_sub(plan.count(slot)) as usize;
            let number = self.places_of(view, slot);
            for _ in 0..lacking {
                let mut order = self.places[number].order.iter();
                match order.find(|&&pu| plan.next(pu) != Some(slot)) {
                    Some(&pu) if plan.free().contains(pu) => plan.give(pu, slot),
                    _ => break,
                }
            }
        }
    }
}

/// `----/----/----/1234`.
fn read(text: &str) -> Result<Places, Rejected> {
    let mut found: Vec<(u32, PuId)> = Vec::new();
    let positions = text.chars().filter(|&letter| letter != '/');
    for (position, letter) in positions.clone().enumerate() {
        match letter.to_digit(36) {
            Some(number) if number > 0 => found.push((number, PuId(position as u32))),
            None if letter == '-' => {}
            _ => {
                let reason =
                    format!("`at={text}`: `{letter}` is neither `-`, `/` nor the number of a process from 1 on");
                return Err(Rejected::new(reason));
            }
        }
    }
    found.sort_unstable();
    if found.is_empty() || !found.iter().zip(1..).all(|(&(number, _), expected)| number == expected) {
        let reason =
            format!("`at={text}`: processes should be numbered 1, 2, 3, …, each once, as in ----/---3/--42/---1");
        return Err(Rejected::new(reason));
    }
    Ok(Places { order: found.into_iter().map(|(_, pu)| pu).collect(), positions: positions.count() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Case;

    const HECTOR: &str = "numa:4 core:4 pu:1";

    fn fixed(at: &str) -> Fixed {
        Fixed::new(at).unwrap()
    }

    /// Processors of an application after each process is created.
    fn created(at: &str) -> Vec<String> {
        let mut case = Case::on(HECTOR).wants(&[4]);
        let mut placement = fixed(at);
        (1..=4).map(|count| case.place(&mut placement, &[count]).remove(0)).collect()
    }

    #[test]
    fn the_placements_of_the_paper() {
        assert_eq!(created("----/----/----/1234"), ["12", "12-13", "12-14", "12-15"]);
        assert_eq!(created("----/---3/--42/---1"), ["15", "11,15", "7,11,15", "7,10-11,15"]);
        assert_eq!(created("----/----/--43/--21"), ["15", "14-15", "11,14-15", "10-11,14-15"]);
        // The parent and its first child have changed places.
        assert_eq!(created("----/---3/--41/---2"), ["11", "11,15", "7,11,15", "7,10-11,15"]);
    }

    #[test]
    fn no_more_than_there_are_digits_and_only_what_is_free() {
        let mut case = Case::on(HECTOR).wants(&[6, 4]);
        let mut placement = fixed("12--/----/----/----;-21-/----/----/----");
        assert_eq!(case.place(&mut placement, &[6, 4]), ["0-1", "2"]);
        assert_eq!(case.place(&mut placement, &[0, 4]), ["", "1-2"]);
    }

    #[test]
    fn one_after_the_other_from_the_beginning() {
        let mut case = Case::new(4).wants(&[1, 1, 1]);
        assert_eq!(case.place(&mut fixed("1---;-1--"), &[1, 1, 1]), ["0", "1", ""]);
    }

    #[test]
    fn what_is_no_placement_is_refused() {
        for wrong in ["", "----", "-12x?", "1-1-", "1-3-", "01--", "12;", "----;1---"] {
            assert!(Fixed::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(fixed("123456789ab").places[0].order.len(), 11);
    }

    #[test]
    fn a_machine_of_another_size_or_a_reserved_processor_is_refused() {
        let machine = numaestro_topology::synthetic::parse(HECTOR).unwrap();
        let reason = |at, usable: &str| fixed(at).fits(&machine, &usable.parse().unwrap()).unwrap_err().reason;
        assert!(fixed("----/----/----/1234").fits(&machine, &machine.all()).is_ok());
        assert_eq!(reason("----/----/1234", "0-15"), "`at` has 12 positions, but the machine has 16 processors");
        assert_eq!(reason("1234/----/----/----", "4-15"), "`at` names processor 0, which is not given to applications");
    }
}
