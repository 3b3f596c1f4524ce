//! Values of options that are more than a number or a word. Knows no option.

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

/// A number of bytes with `K`, `M`, `G` or `T` (powers of 1024).
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let wrong = || "a number with its unit: 512M, 16G or 1.5G".to_owned();
    let number = text.strip_suffix('B').and_then(|text| text.strip_suffix('i')).unwrap_or(text);
    let unit = number.chars().next_back().map(|unit| unit.to_ascii_uppercase());
    let (_, shift) = UNITS.into_iter().find(|&(known, _)| unit == Some(known)).ok_or_else(wrong)?;
    let number: f64 = number[..number.len() - 1].parse().map_err(|_| wrong())?;
    let bytes = number * (1_u64 << shift) as f64;
    // Up to 2^60: what is more is a mistake, and what is below one byte too.
    if !(1.0..=(1_u64 << 60) as f64).contains(&bytes) {
        return Err(wrong());
    }
    #[allow(clippy::cast_sign_loss)]
    let bytes = bytes as u64;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("512M"), Ok(512 << 20));
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("64k"), Ok(64 << 10));
        for wrong in ["", "G", "16", "-1G", "0G", "nanG", "infT", "9e9T", "1 G", "5µ", "1GB"] {
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
