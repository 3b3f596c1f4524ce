//! Parses values of options that are more than a number or a word.

use std::time::Duration;

/// A positive, finite weight.
pub(super) fn parse_weight(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && (0.001..=1000.0).contains(&x) => Ok(x),
        _ => Err("a number from 0.001 to 1000, 1 is usual".to_owned()),
    }
}

/// A positive number with `s`, `m`, `h` or `d`.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, f64); 4] = [('s', 1.0), ('m', 60.0), ('h', 3600.0), ('d', 86_400.0)];
    let wrong = || "a number with its unit: 90s, 10m, 1.5h or 2d".to_owned();
    let (_, seconds) = UNITS.into_iter().find(|&(unit, _)| text.ends_with(unit)).ok_or_else(wrong)?;
    let number: f64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

/// Bytes: a number with `K`, `M`, `G` or `T`, powers of 1024.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let wrong = || "a number with its unit, powers of 1024: 800M, 12G or 1.5T".to_owned();
    let (_, power) = UNITS.into_iter().find(|&(unit, _)| text.ends_with(unit)).ok_or_else(wrong)?;
    let number: f64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let bytes = number * f64::from(power).exp2();
    #[allow(clippy::cast_sign_loss)]
    let size = if (1.0..=f64::from(60).exp2()).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) };
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("800M"), Ok(800 << 20));
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        for wrong in ["", "G", "12", "-1G", "0G", "nanG", "infG", "1e30T", "1 G", "0.0001K"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("1.5h"), Ok(Duration::from_mins(90)));
        for wrong in ["", "s", "90", "-1s", "0s", "nanh", "infd", "1e30d", "1 m", "5µ"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
