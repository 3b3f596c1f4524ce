//! The account of a jobserver's tokens: how many there should be, how many to put in or to take
//! out, and how many died with the jobs that held them. Pure: it is told what is in the pipe.
//!
//! A token has no owner, so the account cannot see who holds one. It compares: tokens that were
//! given and are not in the pipe are held; if more are held than jobs run, and still so at the next
//! look, then the difference is lost. A mistake mends itself: tokens that turn up after all are
//! surplus, and are taken out.

use std::cmp::Ordering;

/// Tokens for a build on `processors`. Each of its `clients` runs one job without a token, the
/// implicit one.
pub(super) fn tokens_for(processors: u32, clients: u32) -> u32 {
    processors.saturating_sub(clients.max(1))
}

/// What is to be done to the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// Put so many tokens in.
    Put(u32),
    /// Take up to so many out. Those that jobs hold can be taken when the jobs end.
    Take(u32),
}

/// See the file's header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// Tokens that there should be.
    wanted: u32,
    /// Tokens that there are, in the pipe or held.
    given: u32,
    /// Tokens that no job could hold at the latest look.
    missing: u32,
}

impl Account {
    /// The account of a pipe into which `given` tokens have been put.
    pub(super) fn new(given: u32) -> Self {
        Self { wanted: given, given, missing: 0 }
    }

    pub(super) fn given(&self) -> u32 {
        self.given
    }

    /// So many tokens there should be from now on.
    pub(super) fn aim(&mut self, wanted: u32) {
        self.wanted = wanted;
    }

    /// Some tokens are to be taken out.
    pub(super) fn has_surplus(&self) -> bool {
        self.given > self.wanted
    }

    /// What is to be done while so many tokens are in the pipe.
    pub(super) fn change(&mut self, free: u32) -> Change {
        // Tokens that were taken for lost have come back.
        self.given = self.given.max(free);
        match self.wanted.cmp(&self.given) {
            Ordering::Greater => Change::Put(self.wanted - self.given),
            Ordering::Less => Change::Take(self.given - self.wanted),
            Ordering::Equal => Change::None,
        }
    }

    /// So many have been put in.
    pub(super) fn put(&mut self, tokens: u32) {
        self.given += tokens;
    }

    /// So many have been taken out.
    pub(super) fn taken(&mut self, tokens: u32) {
        self.given -= tokens.min(self.given);
    }

    /// Looks whether tokens are lost: `free` are in the pipe, and jobs may hold up to `holdable`.
    /// Two looks must agree, because a client takes a token a moment before it starts the job.
    pub(super) fn look(&mut self, free: u32, holdable: u32) {
        let missing = self.given.saturating_sub(free).saturating_sub(holdable);
        let lost = missing.min(self.missing);
        self.given -= lost;
        self.missing = missing - lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_runs_as_many_jobs_as_it_has_processors() {
        for (processors, clients, tokens) in
            [(0, 1, 0), (1, 1, 0), (2, 1, 1), (8, 1, 7), (8, 0, 7), (8, 3, 5), (2, 3, 0)]
        {
            assert_eq!(tokens_for(processors, clients), tokens, "{processors} processors, {clients} clients");
        }
    }

    #[test]
    fn growth_is_given_at_once_and_a_surplus_is_taken_as_jobs_end() {
        let mut account = Account::default();
        account.aim(3);
        assert_eq!(account.change(0), Change::Put(3));
        account.put(3);
        assert_eq!((account.change(3), account.given()), (Change::None, 3));
        account.aim(1);
        assert!(account.has_surplus());
        assert_eq!(account.change(0), Change::Take(2), "all are held");
        account.taken(0);
        assert_eq!(account.change(1), Change::Take(2));
        account.taken(1);
        assert!(account.has_surplus());
        account.aim(4);
        assert_eq!(account.change(0), Change::Put(2), "one of the two has never been taken");
    }

    #[test]
    fn tokens_that_no_job_can_hold_are_given_again() {
        let mut account = Account::new(3);
        account.look(1, 2);
        account.look(1, 1);
        assert_eq!(account.given(), 3, "a job may be about to start");
        account.look(1, 2);
        account.look(1, 1);
        assert_eq!(account.given(), 3, "it has");
        account.look(1, 0);
        assert_eq!((account.given(), account.change(1)), (2, Change::Put(1)), "what both looks missed");
        account.put(1);
        account.look(2, 0);
        assert_eq!(account.change(2), Change::Put(1), "and then the other");
    }

    #[test]
    fn a_lost_token_is_the_first_of_a_surplus() {
        let mut account = Account::new(3);
        account.aim(1);
        account.look(0, 1);
        account.look(0, 1);
        assert_eq!((account.given(), account.change(0)), (1, Change::None));
    }

    #[test]
    fn a_mistake_mends_itself() {
        let mut account = Account::new(1);
        for _ in 0..2 {
            account.look(0, 0);
        }
        assert_eq!(account.change(0), Change::Put(1));
        account.put(1);
        // The one that was held comes back.
        assert_eq!(account.change(2), Change::Take(1));
        account.taken(1);
        assert_eq!((account.change(1), account.given()), (Change::None, 1));
    }

    #[test]
    fn whatever_happens_there_are_soon_as_many_tokens_as_wanted() {
        // Random walks against a model of the pipe: free and held tokens, some lost.
        let mut dice = numaestro_policy::Random::new(1);
        let mut roll = |sides: u32| dice.below(sides);
        for _ in 0..200 {
            let (mut account, mut free, mut held, mut wanted) = (Account::default(), 0, 0, 0);
            let apply = |account: &mut Account, free: &mut u32| match account.change(*free) {
                Change::None => {}
                Change::Put(tokens) => {
                    *free += tokens;
                    account.put(tokens);
                }
                Change::Take(tokens) => {
                    let taken = tokens.min(*free);
                    *free -= taken;
                    account.taken(taken);
                }
            };
            for _ in 0..100 {
                match roll(6) {
                    0 => {
                        wanted = roll(9);
                        account.aim(wanted);
                    }
                    1 | 2 if free > 0 => (free, held) = (free - 1, held + 1),
                    3 if held > 0 => (free, held) = (free + 1, held - 1),
                    4 if held > 0 => held -= 1,
                    _ => account.look(free, held),
                }
                apply(&mut account, &mut free);
            }
            while held > 0 {
                (free, held) = (free + 1, held - 1);
                apply(&mut account, &mut free);
            }
            for _ in 0..2 {
                account.look(free, 0);
                apply(&mut account, &mut free);
            }
            assert_eq!((free, account.given()), (wanted, wanted));
        }
    }
}
