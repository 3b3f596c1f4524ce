//! Finds the candidate that fits best into the remaining bandwidth: equation 1 in integers, and an
//! ordered structure to find its maximum.
//!
//! Source: Antonopoulos et al. 2004, §4, equation 1; §5 names the cost of scanning all candidates
//! in every round, O(N²), and priority queues as the way out. Taken here: candidates sorted by
//! rate, with links over those that have been taken: O(N log N) for all rounds together.
//!
//! A target is a fraction (`numerator / denominator`) and may be negative. Fitness falls with the
//! distance |target - rate|, so the fittest is the nearest; distances of two candidates from one
//! target are compared as integers, exactly. Ties go to the lower rank.

/// Fitness of a candidate at this distance from the target, distance in transactions per
/// millisecond: 1000 / (1 + distance in transactions per microsecond) (equation 1). 1000 at
/// distance 0, 500 at 1 per microsecond.
pub fn fitness(distance_per_ms: u64) -> u64 {
    const PER_MICROSECOND: u64 = 1000;
    const BEST: u64 = 1000;
    BEST * PER_MICROSECOND / distance_per_ms.saturating_add(PER_MICROSECOND)
}

/// The candidates that have not been taken.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Rate and rank of each in one number, sorted: by rate, then by rank.
    candidates: Vec<u64>,
    /// For each candidate the first of the same rate.
    group: Vec<u32>,
    /// Itself while it is there, else one nearer to the next that is; one more entry for "none".
    next: Vec<u32>,
    /// The same backwards, all numbers one higher, 0 for "none".
    previous: Vec<u32>,
}

const fn rate_of(candidate: u64) -> u32 {
    (candidate >> 32) as u32
}

const fn rank_of(candidate: u64) -> u32 {
    candidate as u32
}

impl Selection {
    /// Removes all candidates.
    pub fn clear(&mut self) {
        self.candidates.clear();
    }

    /// Adds a candidate, before [`Self::prepare`]. The lower rank wins ties; ranks differ.
    pub fn push(&mut self, rate: u32, rank: u32) {
        self.candidates.push(u64::from(rate) << 32 | u64::from(rank));
    }

    /// Sorts the candidates, after all have been pushed.
    pub fn prepare(&mut self) {
        self.candidates.sort_unstable();
        let count = self.candidates.len() as u32;
        self.next.clear();
        self.next.extend(0..=count);
        self.previous.clear();
        self.previous.extend(0..=count);
        self.group.clear();
        let mut first = 0;
        for (index, &candidate) in self.candidates.iter().enumerate() {
            if rate_of(candidate) != rate_of(self.candidates[first as usize]) {
                first = index as u32;
            }
            self.group.push(first);
        }
    }

    /// Takes the admitted candidate whose rate is nearest to `numerator / denominator`, and returns
    /// its rank; none if none is left. A candidate that was not admitted once is not offered again.
    pub fn take(
        &mut self,
        (numerator, denominator): (i128, i128),
        mut admitted: impl FnMut(u32) -> bool,
    ) -> Option<u32> {
        let from = round_up(numerator, denominator);
        let split = self.candidates.partition_point(|&one| i64::from(rate_of(one)) < from);
        loop {
            let best = self.nearest(split, numerator, denominator)?;
            self.next[best] = best as u32 + 1;
            self.previous[best + 1] = best as u32;
            let rank = rank_of(self.candidates[best]);
            if admitted(rank) {
                return Some(rank);
            }
        }
    }

    /// The nearest candidate that is left, given the first that is not below the target.
    fn nearest(&mut self, split: usize, numerator: i128, denominator: i128) -> Option<usize> {
        let above = follow(&mut self.next, split);
        let below = follow(&mut self.previous, split);
        let above = (above < self.candidates.len()).then_some(above);
        // Of those with one rate the links lead to the last; the first that is left has the lowest
        // rank.
        let below = (below > 0).then(|| self.group[below - 1] as usize).map(|first| follow(&mut self.next, first));
        let key = |index: usize| {
            let one = self.candidates[index];
            ((i128::from(rate_of(one)) * denominator - numerator).abs(), rank_of(one))
        };
        match (below, above) {
            (Some(below), Some(above)) if key(above) < key(below) => Some(above),
            (Some(below), _) => Some(below),
            (None, above) => above,
        }
    }
}

/// The lowest whole rate that is not below `numerator / denominator`; far outside of all rates it
/// does not matter where.
fn round_up(numerator: i128, denominator: i128) -> i64 {
    // This is the case nearly always, and several times faster.
    if let (Ok(numerator), Ok(denominator)) = (i64::try_from(numerator), i64::try_from(denominator)) {
        return numerator.div_euclid(denominator) + i64::from(numerator.rem_euclid(denominator) > 0);
    }
    let far = i128::from(i64::MAX / 2);
    let quotient = numerator.div_euclid(denominator).clamp(-far, far) as i64;
    quotient + i64::from(numerator.rem_euclid(denominator) > 0)
}

/// Follows the links to their end, and shortens them.
fn follow(links: &mut [u32], from: usize) -> usize {
    let mut at = from;
    while links[at] as usize != at {
        links[at] = links[links[at] as usize];
        at = links[at] as usize;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Equation 1 as the paper does it: every round looks at all candidates.
    fn naive(left: &mut Vec<(u32, u32)>, numerator: i128, denominator: i128) -> Option<u32> {
        let nearest = left
            .iter()
            .enumerate()
            .min_by_key(|(_, (rate, rank))| ((i128::from(*rate) * denominator - numerator).abs(), *rank))?;
        let at = nearest.0;
        Some(left.remove(at).1)
    }

    #[test]
    fn equation_1() {
        assert_eq!(fitness(0), 1000);
        assert_eq!(fitness(1000), 500);
        assert_eq!(fitness(9000), 100);
        assert_eq!(fitness(u64::MAX), 0);
    }

    #[test]
    fn ties_go_to_the_lower_rank() {
        let mut selection = Selection::default();
        for (rate, rank) in [(4, 3), (6, 2), (4, 1), (6, 0)] {
            selection.push(rate, rank);
        }
        selection.prepare();
        let taken: Vec<_> = std::iter::from_fn(|| selection.take((5, 1), |_| true)).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
    }

    #[test]
    fn a_target_below_zero_takes_the_least() {
        let mut selection = Selection::default();
        for (rank, rate) in [7, 3, 9, 3].into_iter().enumerate() {
            selection.push(rate, rank as u32);
        }
        selection.prepare();
        let taken: Vec<_> = std::iter::from_fn(|| selection.take((-1, 3), |_| true)).collect();
        assert_eq!(taken, [1, 3, 0, 2]);
    }

    #[test]
    fn numbers_beyond_64_bits() {
        let mut selection = Selection::default();
        for (rank, rate) in [5, 7, u32::MAX].into_iter().enumerate() {
            selection.push(rate, rank as u32);
        }
        selection.prepare();
        let huge = 1_i128 << 90;
        assert_eq!(selection.take((7 * huge - 1, huge), |_| true), Some(1));
        assert_eq!(selection.take((huge, 1), |_| true), Some(2));
        assert_eq!(selection.take((-huge, 1), |_| true), Some(0));
        assert_eq!(selection.take((-huge, 1), |_| true), None);
    }

    #[test]
    fn the_same_as_looking_at_everybody() {
        let mut random = Random::new(0xF17);
        let mut selection = Selection::default();
        for round in 0..2000 {
            let count = random.below(40);
            // Few different rates make many ties.
            let rates = [2, 9, 30_000, u32::MAX][random.below(4) as usize];
            let mut left: Vec<_> = (0..count).map(|rank| (random.below(rates), rank)).collect();
            selection.clear();
            for &(rate, rank) in left.iter().rev() {
                selection.push(rate, rank);
            }
            selection.prepare();
            for _ in 0..=count {
                let numerator = i128::from(random.below(rates)) * 3 - i128::from(rates);
                let denominator = 1 + i128::from(random.below(5));
                // Some are not admitted.
                let odd = random.below(4) == 0;
                let mut expected = naive(&mut left, numerator, denominator);
                while odd && expected.is_some_and(|rank| rank % 2 == 0) {
                    expected = naive(&mut left, numerator, denominator);
                }
                let taken = selection.take((numerator, denominator), |rank| !odd || rank % 2 == 1);
                assert_eq!(taken, expected, "round {round}");
            }
        }
    }
}
