//! The accepted spellings and their values; a written quantity is read as the same value.

use numaestro_quantity::spellings::{DURATIONS, SIZES};
use numaestro_quantity::{Amount, DURATION, Grammar, SIZE};
use proptest::prelude::*;

fn whole(grammar: Grammar, text: &str) -> Option<u128> {
    grammar.read(text).ok().map(Amount::rounded)
}

#[test]
fn durations() {
    for (text, ns) in [
        ("7ns", 7),
        ("20 us", 20_000),
        ("20µs", 20_000),
        ("1.5ms", 1_500_000),
        ("2 s", 2_000_000_000),
        (" 2s ", 2_000_000_000),
        ("10m", 600_000_000_000),
        ("3 min", 180_000_000_000),
        ("1.5h", 5_400_000_000_000),
        ("2d", 172_800_000_000_000),
        ("+1e3 ns", 1_000),
        ("1E-3s", 1_000_000),
        (".5us", 500),
        ("5.ns", 5),
        ("-0s", 0),
        ("0e999s", 0),
        ("1e-99s", 0),
        ("0.4ns", 0),
        ("0.5ns", 1),
        ("1.00000000000000000000000000000000000001s", 1_000_000_000),
        ("100000000000000000000000000000000000ns", 100_000_000_000_000_000_000_000_000_000_000_000),
    ] {
        assert_eq!(whole(DURATION, text), Some(ns), "{text}");
    }
}

#[test]
fn sizes() {
    for (text, bytes) in [
        ("12B", 12),
        ("1K", 1024),
        ("1k", 1024),
        ("1 KiB", 1024),
        ("1kB", 1000),
        ("1KB", 1000),
        ("800M", 800 << 20),
        ("1.5G", 3 << 29),
        ("64GB", 64_000_000_000),
        ("64gib", 64 << 30),
        ("2TB", 2_000_000_000_000),
        ("1.5T", 3 << 39),
    ] {
        assert_eq!(whole(SIZE, text), Some(bytes), "{text}");
    }
    assert_eq!(SIZE.read("0.3K").unwrap().whole(), 307);
}

#[test]
fn what_every_place_understands() {
    for (grammar, table) in [(DURATION, &DURATIONS), (SIZE, &SIZES)] {
        for &(text, value) in table {
            let (numerator, denominator) = grammar.read(text).unwrap().fraction();
            assert_eq!(numerator, u128::from(value) * denominator, "{text}");
        }
    }
}

#[test]
fn what_is_no_quantity_is_refused_with_an_example() {
    for text in [
        "",
        ".",
        "s",
        "90",
        "-1s",
        "nanh",
        "infd",
        "1e30d9",
        "5µ",
        "5e",
        "1e40s",
        "2 fortnights",
        "1 0s",
        "1.2.3s",
        "5S",
    ] {
        assert!(DURATION.read(text).unwrap_err().contains("100ms or 1.5h"), "{text}");
    }
    for text in ["", "G", "12", "-1G", "nanG", "infG", "1X", "1iB", "1 G 1"] {
        assert!(SIZE.read(text).unwrap_err().contains("800M"), "{text}");
    }
}

#[test]
fn the_place_of_use_gives_numbers_their_unit() {
    assert_eq!(whole(DURATION.or_bare("ns"), "7"), Some(7));
    assert_eq!(whole(DURATION.or_bare("s"), "2.5"), Some(2_500_000_000));
    assert_eq!(whole(DURATION.or_bare("s"), "2ms"), Some(2_000_000));
    assert!(DURATION.or_bare("s").expected().ends_with(", or a number of s"));
}

#[test]
fn bounds_are_named() {
    let read = |text| DURATION.read_within(text, 1_000_000..=1_000_000_000_000);
    assert_eq!(
        (read("1ms"), read("1000s"), read("0.9999999ms")),
        (Ok(1_000_000), Ok(1_000_000_000_000), Ok(1_000_000))
    );
    for wrong in ["999us", "1000.1s", "1e30s", "fast"] {
        assert!(read(wrong).unwrap_err().ends_with(", from 1ms to 1000s"), "{wrong}");
    }
    assert!(DURATION.read_within("0s", 1..=u64::MAX).unwrap_err().ends_with("d), at least 1ns"));
    assert!(DURATION.read_within("-1s", 0..=u64::MAX).unwrap_err().ends_with(", d)"));
    assert_eq!(DURATION.read_within("1e6d", 1..=u64::MAX), Ok(u64::MAX));
    assert_eq!(SIZE.read_within("0.9KiB", 0..=1 << 60), Ok(921));
}

/// Values with few and with many digits.
fn values() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0_u64..2000, 0_u32..17).prop_map(|(x, power)| x * 10_u64.pow(power)), 0_u64..1 << 42]
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_the_same(value in values()) {
        for grammar in [DURATION, SIZE] {
            let text = grammar.write(value);
            prop_assert_eq!(grammar.read(&text).map(Amount::fraction), Ok((value.into(), 1)), "{}", text);
        }
    }

    #[test]
    fn decimals_are_exact(value in 0_u64..1 << 60, decimals in 0_u32..12) {
        let scale = 10_u64.pow(decimals);
        let text = format!("{}.{:0width$}s", value / scale, value % scale, width = decimals as usize);
        let (numerator, denominator) = DURATION.read(&text).unwrap().fraction();
        prop_assert_eq!(numerator * u128::from(scale), u128::from(value) * 1_000_000_000 * denominator, "{}", text);
    }
}
