//! A share of the runs of a comparison: part K of N. The parts are made from the list of runs
//! alone, so machines that know nothing of each other do all of it, and nothing twice.

use std::str::FromStr;

/// So many parts at most.
const PARTS_MAX: u32 = 1_000_000;

/// Part `number` of `count`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    pub number: u32,
    /// At least `number`.
    pub count: u32,
}

impl Part {
    /// Its share of a list.
    pub fn of<T: Copy>(self, all: &[T]) -> Vec<T> {
        let shares = shares(all.len(), self.count);
        all.iter().zip(shares).filter(|(_, part)| *part == self.number).map(|(one, _)| *one).collect()
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let Some((number, count)) = numbers else {
            return Err("expected K/N, such as 2/3 for the second of three parts".to_owned());
        };
        if count == 0 || count > PARTS_MAX {
            Err(format!("there can be 1 to {PARTS_MAX} parts"))
        } else if number == 0 || number > count {
            Err(format!("parts go from 1/{count} to {count}/{count}"))
        } else {
            Ok(Self { number, count })
        }
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

/// The part of each of so many runs, from 1. Parts differ by one run at most. The runs are dealt in
/// a scattered order: dealt in their own, one part would get all runs of a slow policy where the
/// number of policies divides by that of parts.
pub fn shares(runs: usize, count: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..runs).collect();
    order.sort_by_key(|&run| (scattered(run as u64), run));
    let mut shares = vec![0; runs];
    for (run, part) in order.into_iter().zip((1..=count).cycle()) {
        shares[run] = part;
    }
    shares
}

/// `SplitMix64` (Steele, Lea, Flood 2014).
const fn scattered(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_are_written() {
        let part = "2/3".parse::<Part>().expect("a part");
        assert_eq!((part, part.to_string()), (Part { number: 2, count: 3 }, "2/3".to_owned()));
        for (wrong, said) in [("4/3", "3/3"), ("0/3", "1/3"), ("1/0", "1 to"), ("2", "K/N"), ("a.jsonl", "K/N")] {
            assert!(wrong.parse::<Part>().expect_err(wrong).contains(said), "{wrong}");
        }
    }

    #[test]
    fn every_run_is_in_one_part_and_parts_are_as_large() {
        for (runs, count) in [(0, 3), (1, 1), (2, 5), (1000, 24), (1000, 7)] {
            let shares = shares(runs, count);
            let sizes: Vec<usize> = (1..=count).map(|part| shares.iter().filter(|&&of| of == part).count()).collect();
            assert_eq!((shares.len(), sizes.iter().sum::<usize>()), (runs, runs));
            assert!(sizes.iter().max() <= sizes.iter().min().map(|least| least + 1).as_ref(), "{sizes:?}");
        }
    }

    #[test]
    fn no_part_gets_a_whole_policy() {
        // Four policies at 50 points, one seed: every fourth run is the same policy.
        let shares = shares(200, 4);
        let of_first = shares.iter().step_by(4).filter(|&&part| part == 1).count();
        assert!((5..=25).contains(&of_first), "{of_first}");
    }
}
