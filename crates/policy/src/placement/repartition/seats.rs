//! Turns numbers by group into processors.

use super::board::Board;
use super::ground::Ground;
use crate::placement::machinery::acquaintance::acquaintance;
use crate::placement::machinery::surplus::Surplus;
use crate::plan::Plan;
use crate::shares::Shares;
use crate::view::{Slot, View};
use numaestro_topology::PuId;
use std::cmp::Reverse;

/// The smallest key is taken first: processors it knows (it has not left them yet, it had them
/// before), then cores without another application, fewest cores, the first.
type Key = (u8, Reverse<u64>, bool, u32, Reverse<u32>, PuId);

/// Buffers.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats {
    surplus: Surplus,
    candidates: Vec<(Key, PuId)>,
}

impl Seats {
    /// Takes idle processors from programs that have too many.
    pub(super) fn release_idle(&mut self, view: &View<'_>, shares: &Shares, plan: &mut Plan) {
        for &slot in view.order {
            let surplus = plan.count(slot).saturating_sub(shares.count(slot)) as usize;
            if surplus > 0 {
                let idle = view.app(slot).own.iter().filter(|&pu| view.pu(pu).idle).count();
                if idle > 0 {
                    self.surplus.release_from(view, shares, plan, slot, surplus.min(idle), |pu| view.pu(pu).idle);
                }
            }
        }
    }

    /// Writes the changes on the board into the plan: releases first.
    pub(super) fn write(
        &mut self,
        view: &View<'_>,
        shares: &Shares,
        ground: &Ground,
        board: &Board,
        spread: bool,
        plan: &mut Plan,
    ) {
        for (program, &slot) in view.order.iter().enumerate() {
            for group in board.was_in(program) {
                let (have, held) = (board.have(program, group), board.held(program, group));
                if have < held {
                    let members = ground.set(group);
                    let lost = usize::from(held - have);
                    self.surplus.release_from(view, shares, plan, slot, lost, |pu| members.contains(pu));
                }
            }
        }
        for (program, &slot) in view.order.iter().enumerate() {
            for group in board.places(program) {
                let (have, held) = (board.have(program, group), board.held(program, group));
                if have > held {
                    self.give(view, plan, slot, ground.members(group), usize::from(have - held), spread);
                }
            }
        }
    }

    /// Gives the best of the free processors of a group.
    fn give(&mut self, view: &View<'_>, plan: &mut Plan, slot: Slot, members: &[PuId], count: usize, spread: bool) {
        self.candidates.clear();
        for &pu in members.iter().filter(|&&pu| plan.free().contains(pu)) {
            let (rule, recent) = acquaintance(view, slot, pu);
            let (mut mine, mut taken, mut first) = (0, 0, true);
            for sibling in view.machine.smt_siblings(pu) {
                match plan.next(sibling) {
                    Some(other) if other == slot => mine += 1,
                    Some(_) => taken += 1,
                    None => first &= sibling >= pu || !plan.free().contains(sibling),
                }
            }
            // One of each empty core, if those are enough; else whole cores.
            let second = if spread { mine + taken > 0 || !first } else { taken > 0 };
            self.candidates.push(((rule, recent, second, taken, Reverse(mine), pu), pu));
        }
        if spread {
            // A known processor does not outweigh an empty core.
            self.candidates.sort_unstable_by_key(|&((rule, recent, second, ..), pu)| (second, rule, recent, pu));
        } else {
            self.candidates.sort_unstable();
        }
        for &(_, pu) in self.candidates.iter().take(count) {
            plan.give(pu, slot);
        }
    }
}
