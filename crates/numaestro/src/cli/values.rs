//! Parses values of options that are more than a number or a word.

use numaestro_abi::control::Most;
use numaestro_quantity::{DURATION, SIZE};

/// A positive, finite weight.
pub fn parse_weight(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && (0.001..=1000.0).contains(&x) => Ok(x),
        _ => Err("a number from 0.001 to 1000, 1 is usual".to_owned()),
    }
}

/// A weight in thousandths.
#[allow(clippy::cast_sign_loss)]
pub fn milli(weight: f64) -> u32 {
    // The parser admits 0.001 to 1000 only.
    (weight * 1000.0).round() as u32
}

/// The most processors: a number, or `none`.
pub fn parse_most(text: &str) -> Result<Most, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(Most::Processors(number)),
        _ if text == "none" => Ok(Most::All),
        _ => Err("a number from 1, or `none` for no limit".to_owned()),
    }
}

/// A duration in nanoseconds.
pub(super) fn parse_time(text: &str) -> Result<u64, String> {
    DURATION.read_within(text, 1..=u64::MAX)
}

/// A size in bytes.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    SIZE.read_within(text, 1..=1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_quantity::spellings::{DURATIONS, SIZES};

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("800M"), Ok(800 << 20));
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        assert_eq!(parse_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_size("64GB"), Ok(64_000_000_000));
        for (text, bytes) in SIZES {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "G", "12", "-1G", "0G", "nanG", "infG", "1e30T", "1 X", "0.0001K"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_a_number_or_none() {
        assert_eq!(parse_most("4"), Ok(Most::Processors(4)));
        assert_eq!(parse_most("none"), Ok(Most::All));
        for wrong in ["", "0", "-1", "all", "4294967296", "1.5"] {
            assert!(parse_most(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("90s"), Ok(90_000_000_000));
        assert_eq!(parse_time("20 ms"), Ok(20_000_000));
        assert_eq!(parse_time("1.5h"), Ok(5_400_000_000_000));
        assert_eq!(parse_time("1e6d"), Ok(u64::MAX));
        for (text, ns) in DURATIONS {
            assert_eq!(parse_time(text), Ok(ns), "{text}");
        }
        for wrong in ["", "s", "90", "-1s", "0s", "nanh", "infd", "1e30d", "1 x", "5µ"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
