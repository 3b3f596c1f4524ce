//! Times as people write them: `2 ms`, `1.5 s`. Knows nothing of what they are of.

/// What people should write.
pub(crate) const EXPECTED: &str = "a time such as \"2 ms\" (ns, us, ms, s, min, h, d) or a number of nanoseconds";

/// Units in nanoseconds.
const UNITS: [(&str, f64); 9] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
    ("", 1.0),
];

/// Nanoseconds, of `2 ms`, `2ms` or `2`.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.trim().parse().ok().filter(|number: &f64| number.is_finite())?;
    let &(_, ns) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(number * ns)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units() {
        let check = |text, ns| assert_eq!(parse(text), ns, "{text}");
        check("2 ms", Some(2e6));
        check("1.5s", Some(1.5e9));
        check("20 us", Some(20e3));
        check("20 µs", Some(20e3));
        check("7", Some(7.0));
        check("1e3 ns", Some(1000.0));
        check("3 min", Some(180e9));
        check("2 h", Some(7200e9));
        check("1 d", Some(86_400e9));
        check("fast", None);
        check("2 fortnights", None);
        check("", None);
        check("inf s", None);
    }
}
