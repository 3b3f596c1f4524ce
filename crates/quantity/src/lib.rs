//! Reads and writes durations (`1.5h`) and sizes of memory (`64GiB`), and finds misspelled names
//! ([`names`]): one grammar for scenarios, policies, machines and the command line. Makes names
//! that strangers have chosen fit to be shown ([`label`]).
//!
//! A quantity is a decimal number and a unit, with or without blanks between them. The number is
//! read exactly, without floating point. The place of use says what a number without a unit
//! means, and what becomes of a fraction of a nanosecond or a byte.

mod amount;
pub mod label;
pub mod names;
pub mod spellings;

pub use amount::Amount;
use std::ops::RangeInclusive;

/// The units of one kind of quantity.
#[derive(Debug, Clone, Copy)]
pub struct Grammar {
    /// An example and all units, for error messages.
    expected: &'static str,
    /// Units and their size in nanoseconds or bytes.
    units: &'static [(&'static str, u64)],
    /// Units in which [`Self::write`] writes, from the largest to the base unit.
    written: &'static [&'static str],
    /// Whether capitals make no difference.
    any_case: bool,
    /// Makes whole base units of a fraction in [`Self::read_within`].
    in_whole: fn(Amount) -> u128,
    /// The unit of a number without one; `None` = such a number is refused.
    bare: Option<&'static str>,
}

/// Durations, in nanoseconds. The longest unit that is written is the second.
pub const DURATION: Grammar = Grammar {
    expected: "a time such as 100ms or 1.5h (ns, us, ms, s, m, min, h, d)",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    written: &["s", "ms", "us", "ns"],
    any_case: false,
    in_whole: Amount::rounded,
    bare: None,
};

/// Sizes of memory, in bytes. As in hwloc `kB` is 1000 bytes; `K` and `KiB` are 1024.
pub const SIZE: Grammar = Grammar {
    expected: "a size such as 800M or 1.5TiB (B, K = KiB, M, G, T; kB = 1000 B, MB, GB, TB)",
    units: &[
        ("b", 1),
        ("k", 1 << 10),
        ("m", 1 << 20),
        ("g", 1 << 30),
        ("t", 1 << 40),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
    ],
    written: &["TiB", "GiB", "MiB", "KiB", "B"],
    any_case: true,
    in_whole: Amount::whole,
    bare: None,
};

impl Grammar {
    /// The same, and a number without a unit is of this one.
    #[must_use]
    pub const fn or_bare(self, unit: &'static str) -> Self {
        Self { bare: Some(unit), ..self }
    }

    /// The accepted spellings, for error messages: `expected {}`.
    pub fn expected(&self) -> String {
        let bare = self.bare.map_or_else(String::new, |unit| format!(", or a number of {unit}"));
        format!("{}{bare}", self.expected)
    }

    /// The exact value of a text.
    ///
    /// # Errors
    /// The text is no quantity; the error names the accepted spellings.
    pub fn read(&self, text: &str) -> Result<Amount, String> {
        let amount = || {
            let (number, unit) = amount::split(text.trim())?;
            let unit = if unit.is_empty() { self.bare? } else { unit };
            Amount::new(number, self.size(unit)?)
        };
        amount().ok_or_else(|| self.expected())
    }

    /// A whole number of base units within bounds: nanoseconds are rounded, bytes cut off. A
    /// larger value than 64 bits hold counts as the largest number.
    ///
    /// # Errors
    /// The text is no quantity within the bounds; the error names the spellings and the bounds.
    pub fn read_within(&self, text: &str, bounds: RangeInclusive<u64>) -> Result<u64, String> {
        let value = self.read(text).map(|amount| u64::try_from((self.in_whole)(amount)).unwrap_or(u64::MAX));
        value.ok().filter(|value| bounds.contains(value)).ok_or_else(|| {
            let (expected, least) = (self.expected(), self.write(*bounds.start()));
            match *bounds.end() {
                u64::MAX if *bounds.start() == 0 => expected,
                u64::MAX => format!("{expected}, at least {least}"),
                most => format!("{expected}, from {least} to {}", self.write(most)),
            }
        })
    }

    /// A whole number of the largest unit that leaves no fraction: 90 s are `90s`, 1536 B are
    /// `1536B`.
    pub fn write(&self, value: u64) -> String {
        let sizes = self.written.iter().filter_map(|&unit| Some((unit, self.size(unit)?)));
        let fitting = sizes.clone().find(|(_, size)| value.is_multiple_of(*size));
        fitting.map_or_else(String::new, |(unit, size)| format!("{}{unit}", value / size))
    }

    fn size(&self, unit: &str) -> Option<u64> {
        let same = |known: &str| if self.any_case { known.eq_ignore_ascii_case(unit) } else { known == unit };
        self.units.iter().find(|(known, _)| same(known)).map(|&(_, size)| size)
    }
}
