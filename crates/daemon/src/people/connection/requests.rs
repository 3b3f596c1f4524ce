//! Whose request is served next: a request a turn, and every user's requests within a budget of
//! processor time.
//!
//! The user with the most time left comes first, so a user who asks seldom waits for one request of
//! anybody else, however many others there are. Within a user, connections take turns. Users who
//! have spent their time are served when nobody else waits, and all of them together for half of
//! the time only: the rest is for decisions.

use std::collections::{BTreeMap, VecDeque};

use crate::identity::payer::Payer;

/// Part of the time that each user has, and the most that is saved up, nanoseconds.
const BUDGET: Rate = Rate { one_in: 4, most_ns: 200_000_000 };
/// The same of all users together who have spent theirs.
const OVERTIME: Rate = Rate { one_in: 2, most_ns: 5_000_000 };
/// The most that is owed: one long request does not shut a user out.
const DEBT_NS: i64 = 100_000_000;
/// Connections that wait in a manager of one user, until others are let in.
const WAITING_OF_ONE: usize = 64;
/// Users without requests who are remembered.
const REMEMBERED: usize = 256;

/// The next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Of this connection.
    Of(u64),
    /// Of one, but not before this time, nanoseconds.
    At(u64),
    /// There is none.
    Nobody,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// There is one user, from whom nobody is to be protected.
    of_one: bool,
    payers: BTreeMap<Payer, Account>,
    overtime: Option<Purse>,
}

/// What there is of one user.
#[derive(Debug)]
struct Account {
    /// Connections that have said something, in the order of their turns.
    waiting: VecDeque<u64>,
    purse: Purse,
    /// Answers that another thread makes. The next request comes after them.
    answers: u32,
    /// Bytes that are kept for the user's connections.
    held: usize,
}

impl Requests {
    /// `of_one`: there is one user only, who may use all of the time.
    pub(super) fn new(of_one: bool) -> Self {
        Self { of_one, ..Self::default() }
    }

    /// As many wait as are worth to be let in. Where there are several users, each has a limit of
    /// connections instead.
    pub(super) fn is_full(&self) -> bool {
        self.of_one && self.payers.values().any(|account| account.waiting.len() >= WAITING_OF_ONE)
    }

    /// A connection has something to say. It is not waiting yet.
    pub(super) fn wait(&mut self, payer: Payer, number: u64, now_ns: u64) {
        if self.payers.len() > REMEMBERED {
            self.payers.retain(|_, account| !account.is_idle(now_ns));
        }
        self.account(payer, now_ns).waiting.push_back(number);
    }

    /// It is gone.
    pub(super) fn forget(&mut self, payer: Payer, number: u64) {
        if let Some(account) = self.payers.get_mut(&payer) {
            account.waiting.retain(|other| *other != number);
        }
    }

    /// The next request; it waits no more.
    pub(super) fn take(&mut self, now_ns: u64) -> Turn {
        let turn = self.next(now_ns);
        if let (Some(payer), Turn::Of(_)) = (self.richest(now_ns), turn)
            && let Some(account) = self.payers.get_mut(&payer)
        {
            account.waiting.pop_front();
        }
        turn
    }

    /// The next request.
    pub(super) fn next(&self, now_ns: u64) -> Turn {
        let Some(account) = self.richest(now_ns).and_then(|payer| self.payers.get(&payer)) else { return Turn::Nobody };
        let Some(&number) = account.waiting.front() else { return Turn::Nobody };
        let overtime = self.overtime.as_ref();
        let begins = account.purse.filled_ns(BUDGET);
        let begins = overtime.map_or(0, |purse| begins.min(purse.filled_ns(OVERTIME)));
        if self.of_one || begins <= now_ns { Turn::Of(number) } else { Turn::At(begins) }
    }

    fn richest(&self, now_ns: u64) -> Option<Payer> {
        let waits = self.payers.iter().filter(|(_, account)| account.answers == 0 && !account.waiting.is_empty());
        waits.max_by_key(|(_, account)| account.purse.level(BUDGET, now_ns)).map(|(payer, _)| *payer)
    }

    /// A request of this user has taken so much processor time.
    pub(super) fn charge(&mut self, payer: Payer, spent_ns: u64, now_ns: u64) {
        let purse = &mut self.account(payer, now_ns).purse;
        purse.spend(BUDGET, spent_ns, now_ns);
        if purse.level(BUDGET, now_ns) < 0 {
            self.overtime.get_or_insert_with(|| Purse::full(OVERTIME, now_ns)).spend(OVERTIME, spent_ns, now_ns);
        }
    }

    /// Another thread makes an answer for this user.
    pub(super) fn answer_begins(&mut self, payer: Payer, now_ns: u64) {
        self.account(payer, now_ns).answers += 1;
    }

    /// It is made.
    pub(super) fn answer_ends(&mut self, payer: Payer) {
        if let Some(account) = self.payers.get_mut(&payer) {
            account.answers = account.answers.saturating_sub(1);
        }
    }

    /// As many bytes as `now` are kept for a connection of this user, and no more `before`.
    pub(super) fn hold(&mut self, payer: Payer, before: usize, now: usize, now_ns: u64) {
        if before != now {
            let account = self.account(payer, now_ns);
            account.held = (account.held + now).saturating_sub(before);
        }
    }

    /// Bytes that are kept for all connections of this user.
    pub(super) fn held(&self, payer: Payer) -> usize {
        self.payers.get(&payer).map_or(0, |account| account.held)
    }

    fn account(&mut self, payer: Payer, now_ns: u64) -> &mut Account {
        self.payers.entry(payer).or_insert_with(|| Account {
            waiting: VecDeque::new(),
            purse: Purse::full(BUDGET, now_ns),
            answers: 0,
            held: 0,
        })
    }
}

impl Account {
    /// A new one would be the same.
    fn is_idle(&self, now_ns: u64) -> bool {
        let nothing = self.waiting.is_empty() && self.answers == 0 && self.held == 0;
        nothing && self.purse.level(BUDGET, now_ns) >= BUDGET.most_ns
    }
}

/// A part of the time.
#[derive(Debug, Clone, Copy)]
struct Rate {
    one_in: i64,
    most_ns: i64,
}

/// Time to spend, which grows while time passes.
#[derive(Debug)]
struct Purse {
    level_ns: i64,
    at_ns: u64,
}

impl Purse {
    fn full(rate: Rate, now_ns: u64) -> Self {
        Self { level_ns: rate.most_ns, at_ns: now_ns }
    }

    fn level(&self, rate: Rate, now_ns: u64) -> i64 {
        let passed = i64::try_from(now_ns.saturating_sub(self.at_ns)).unwrap_or(i64::MAX);
        (self.level_ns.saturating_add(passed / rate.one_in)).min(rate.most_ns)
    }

    fn spend(&mut self, rate: Rate, spent_ns: u64, now_ns: u64) {
        let spent = i64::try_from(spent_ns).unwrap_or(i64::MAX);
        self.level_ns = self.level(rate, now_ns).saturating_sub(spent).max(-DEBT_NS);
        self.at_ns = now_ns;
    }

    /// The time at which nothing is owed.
    fn filled_ns(&self, rate: Rate) -> u64 {
        let owed = self.level_ns.min(0).unsigned_abs();
        if owed == 0 { 0 } else { self.at_ns + owed * rate.one_in.unsigned_abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const ALICE: Payer = Payer { uid: Some(1), contained: false };
    const BOB: Payer = Payer { uid: Some(2), contained: false };

    /// Serves for so long; each request takes `cost_ns`, and is followed by the next of the same
    /// connection. Gives the requests of each connection.
    fn serve(requests: &mut Requests, payers: &[Payer], until_ns: u64, cost_ns: u64) -> Vec<u64> {
        let (mut served, mut now) = (vec![0; payers.len()], 0);
        while now < until_ns {
            match requests.take(now) {
                Turn::Of(number) => {
                    let index = usize::try_from(number).unwrap();
                    now += cost_ns;
                    served[index] += 1;
                    requests.charge(payers[index], cost_ns, now);
                    requests.wait(payers[index], number, now);
                }
                Turn::At(at) => now = at,
                Turn::Nobody => break,
            }
        }
        served
    }

    #[test]
    fn connections_of_a_user_take_turns() {
        let mut requests = Requests::default();
        let payers = [ALICE; 3];
        for number in 0..3 {
            requests.wait(ALICE, number, 0);
        }
        assert_eq!(serve(&mut requests, &payers, 30, 1), [10; 3]);
        requests.forget(ALICE, 1);
        assert_eq!(serve(&mut requests, &payers, 30, 1), [15, 0, 15]);
    }

    #[test]
    fn a_user_with_many_connections_has_no_more_than_one_with_one() {
        let mut requests = Requests::default();
        let mut payers = vec![ALICE; 200];
        payers.push(BOB);
        for (number, payer) in (0..).zip(&payers) {
            requests.wait(*payer, number, 0);
        }
        let served = serve(&mut requests, &payers, 10_000 * MS, MS);
        let alice: u64 = served[..200].iter().sum();
        let bob = served[200];
        assert!(alice.abs_diff(bob) <= bob / 4, "{alice} {bob}");
    }

    #[test]
    fn who_asks_seldom_waits_for_one_request_at_most() {
        let mut requests = Requests::default();
        for number in 0..200 {
            requests.wait(ALICE, number, 0);
        }
        serve(&mut requests, &[ALICE; 200], 2000 * MS, MS);
        requests.wait(BOB, 200, 2000 * MS);
        assert_eq!(requests.take(2000 * MS), Turn::Of(200));
    }

    #[test]
    fn a_user_alone_has_no_more_than_half_of_the_time() {
        let mut requests = Requests::default();
        requests.wait(ALICE, 0, 0);
        let served = serve(&mut requests, &[ALICE], 10_000 * MS, MS)[0];
        assert!((4000..5600).contains(&served), "{served} ms of 10 s");
        // One long request does not shut its user out for long.
        requests.charge(ALICE, 60_000 * MS, 10_000 * MS);
        assert!(matches!(requests.next(10_000 * MS), Turn::At(at) if at <= 10_500 * MS));
    }

    #[test]
    fn the_only_user_has_all_of_the_time() {
        let mut requests = Requests::new(true);
        requests.wait(ALICE, 0, 0);
        assert_eq!(serve(&mut requests, &[ALICE], 10_000 * MS, MS), [10_000]);
        assert!(!requests.is_full());
        (1..100).for_each(|number| requests.wait(ALICE, number, 0));
        assert!(requests.is_full());
    }

    #[test]
    fn no_request_while_an_answer_is_made() {
        let mut requests = Requests::default();
        requests.wait(ALICE, 0, 0);
        requests.wait(ALICE, 1, 0);
        assert_eq!(requests.take(0), Turn::Of(0));
        requests.answer_begins(ALICE, 0);
        assert_eq!(requests.next(0), Turn::Nobody);
        requests.wait(BOB, 2, 0);
        assert_eq!(requests.take(0), Turn::Of(2));
        requests.answer_ends(ALICE);
        assert_eq!(requests.take(0), Turn::Of(1));
    }

    #[test]
    fn users_who_come_and_go_are_forgotten() {
        let mut requests = Requests::default();
        for uid in 0..10_000 {
            let payer = Payer { uid: Some(uid), contained: false };
            requests.wait(payer, 0, 0);
            requests.forget(payer, 0);
        }
        assert!(requests.payers.len() <= REMEMBERED + 1, "{}", requests.payers.len());
    }
}
