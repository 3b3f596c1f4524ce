//! Measures the processor time of jobs: what their programs had, what others had of their own
//! processors, and what they had beyond them.
//!
//! ```text
//! own(j)       = numaestro_policy::own_of_job
//! unused(j)    = max(0, own(j) - has(j))          over(j) = max(0, has(j) - own(j))
//! nobody's     = processors of the machine - all own
//! taken        = min(all unused, max(0, all over + what programs outside of jobs have - nobody's))
//! lent(j)      = taken * unused(j) / all unused   borrowed(j) = over(j)
//! ```
//!
//! So a processor that nobody needs is not lent, and where all programs belong to jobs and every
//! processor to one of them, jobs borrow as much as is lent. It counts in thousandths of a
//! processor.

use std::collections::BTreeMap;

use super::JobId;
use numaestro_abi::control::ProcessorTime;
use numaestro_policy::own_of_job;

/// What a job is entitled to and what it has, thousandths of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) id: JobId,
    pub(crate) allocated: u64,
    pub(crate) has: u64,
}

/// Thousandths of a processor, or those times nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amounts {
    used: u128,
    lent: u128,
    borrowed: u128,
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    rate: Amounts,
    total: Amounts,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Time up to which totals hold, nanoseconds.
    at_ns: u64,
    accounts: BTreeMap<JobId, Account>,
}

impl Meter {
    /// From now on the jobs hold this. `machine`: thousandths of the processors that there are;
    /// `outside`: those that programs outside of jobs have.
    pub(crate) fn hold(&mut self, now_ns: u64, machine: u64, outside: u64, holdings: &[Holding]) {
        self.advance(now_ns);
        for account in self.accounts.values_mut() {
            account.rate = Amounts::default();
        }
        let allocated: u64 = holdings.iter().map(|held| held.allocated).sum();
        let own = |held: &Holding| own_of_job(held.allocated, allocated, machine);
        let unused = |held: &Holding| own(held).saturating_sub(held.has);
        let over = |held: &Holding| held.has.saturating_sub(own(held));
        let all_unused: u64 = holdings.iter().map(unused).sum();
        let nobodys = machine.saturating_sub(holdings.iter().map(own).sum());
        let wanted = holdings.iter().map(over).sum::<u64>() + outside;
        let taken = all_unused.min(wanted.saturating_sub(nobodys));
        for held in holdings {
            let lent = u128::from(taken) * u128::from(unused(held)) / u128::from(all_unused.max(1));
            let rate = Amounts { used: held.has.into(), lent, borrowed: over(held).into() };
            self.accounts.entry(held.id).or_default().rate = rate;
        }
    }

    /// The processor time of a job so far.
    pub(crate) fn of(&mut self, now_ns: u64, id: JobId) -> ProcessorTime {
        self.advance(now_ns);
        let total = self.accounts.get(&id).map(|account| account.total).unwrap_or_default();
        ProcessorTime { used_s: seconds(total.used), lent_s: seconds(total.lent), borrowed_s: seconds(total.borrowed) }
    }

    /// A former manager has measured so much.
    pub(crate) fn resume(&mut self, id: JobId, time: ProcessorTime) {
        let [used, lent, borrowed] = [time.used_s, time.lent_s, time.borrowed_s].map(amount);
        self.accounts.entry(id).or_default().total = Amounts { used, lent, borrowed };
    }

    /// The same, at its end.
    pub(crate) fn close(&mut self, now_ns: u64, id: JobId) -> ProcessorTime {
        let time = self.of(now_ns, id);
        self.accounts.remove(&id);
        time
    }

    fn advance(&mut self, now_ns: u64) {
        let elapsed = u128::from(now_ns.saturating_sub(self.at_ns));
        self.at_ns = self.at_ns.max(now_ns);
        for Account { rate, total } in self.accounts.values_mut() {
            total.used += rate.used * elapsed;
            total.lent += rate.lent * elapsed;
            total.borrowed += rate.borrowed * elapsed;
        }
    }
}

/// Processor-seconds, with three digits, of thousandths of a processor times nanoseconds.
#[allow(clippy::cast_precision_loss)] // A month of a thousand processors is exact.
fn seconds(amount: u128) -> f64 {
    (amount / 1_000_000_000) as f64 / 1000.0
}

/// The same the other way.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Nobody has used less than nothing.
fn amount(seconds: f64) -> u128 {
    (seconds * 1000.0).round() as u128 * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn holding(job: u32, allocated: u64, has: u64) -> Holding {
        Holding { id: (0, job), allocated, has }
    }

    fn time(used_s: f64, lent_s: f64, borrowed_s: f64) -> ProcessorTime {
        ProcessorTime { used_s, lent_s, borrowed_s }
    }

    #[test]
    fn one_job_lends_what_the_other_borrows() {
        let mut meter = Meter::default();
        meter.hold(10 * S, 4000, 0, &[holding(1, 2000, 2000), holding(2, 2000, 2000)]);
        meter.hold(12 * S, 4000, 0, &[holding(1, 2000, 500), holding(2, 2000, 3500)]);
        assert_eq!(meter.of(14 * S, (0, 1)), time(5.0, 3.0, 0.0));
        assert_eq!(meter.of(14 * S, (0, 2)), time(11.0, 0.0, 3.0));
    }

    #[test]
    fn what_nobody_needs_is_not_lent() {
        let mut meter = Meter::default();
        meter.hold(0, 4000, 0, &[holding(1, 2000, 0), holding(2, 2000, 2000)]);
        assert_eq!(meter.of(S, (0, 1)), time(0.0, 0.0, 0.0));
        // A job that may have more than it was allocated takes first what belongs to nobody.
        meter.hold(S, 4000, 0, &[holding(1, 2000, 0), holding(2, 1000, 2000)]);
        assert_eq!(meter.of(2 * S, (0, 1)), time(0.0, 0.0, 0.0));
        assert_eq!(meter.of(2 * S, (0, 2)), time(4.0, 0.0, 1.0));
        // So do programs outside of jobs.
        meter.hold(2 * S, 4000, 1500, &[holding(1, 2000, 500), holding(2, 1000, 1000)]);
        assert_eq!(meter.of(3 * S, (0, 1)), time(0.5, 0.5, 0.0));
    }

    #[test]
    fn jobs_that_were_allocated_more_than_there_is_own_their_part_of_it() {
        let mut meter = Meter::default();
        meter.hold(0, 2000, 0, &[holding(1, 2000, 2000), holding(2, 2000, 0)]);
        assert_eq!(meter.of(S, (0, 1)), time(2.0, 0.0, 1.0));
        assert_eq!(meter.of(S, (0, 2)), time(0.0, 1.0, 0.0));
    }

    #[test]
    fn a_next_manager_goes_on_from_the_time_of_the_former_one() {
        let mut meter = Meter::default();
        meter.resume((0, 1), time(12.345, 0.5, 0.001));
        meter.hold(100 * S, 2000, 0, &[holding(1, 2000, 1000)]);
        assert_eq!(meter.of(101 * S, (0, 1)), time(13.345, 0.5, 0.001));
    }

    #[test]
    fn a_closed_account_begins_anew() {
        let mut meter = Meter::default();
        meter.hold(0, 2000, 0, &[holding(1, 2000, 2000)]);
        assert_eq!(meter.close(S, (0, 1)), time(2.0, 0.0, 0.0));
        assert_eq!(meter.of(2 * S, (0, 1)), time(0.0, 0.0, 0.0));
        // A clock that stands still or goes back adds nothing.
        meter.hold(3 * S, 2000, 0, &[holding(1, 2000, 2000)]);
        assert_eq!(meter.of(S, (0, 1)), time(0.0, 0.0, 0.0));
    }

    #[test]
    fn jobs_borrow_all_that_is_lent_where_every_processor_belongs_to_one() {
        for mixed in 0..1000_u64 {
            let part = |shift: u64| ((mixed * 2_654_435_761) >> shift) % 4000;
            let has = [part(3), part(7).min(4000 - part(3))];
            let rest = 4000 - has[0] - has[1];
            let mut meter = Meter::default();
            let holdings = [holding(1, 1000, has[0]), holding(2, 1500, has[1]), holding(3, 1500, rest)];
            meter.hold(0, 4000, 0, &holdings);
            let times: Vec<_> = (1..=3).map(|job| meter.of(1_000_000 * S, (0, job))).collect();
            let lent: f64 = times.iter().map(|time| time.lent_s).sum();
            let borrowed: f64 = times.iter().map(|time| time.borrowed_s).sum();
            assert!((lent - borrowed).abs() <= 3.0 * 1000.0, "{lent} lent, {borrowed} borrowed: {holdings:?}");
        }
    }
}
