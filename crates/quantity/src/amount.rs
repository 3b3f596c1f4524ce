//! Exact decimal numbers: `1.5e3` is 15 with a power of 2.

/// Digits beyond the 24th change nothing that anybody writes; with fewer, no product overflows.
const MANTISSA_MAX: u128 = 10_u128.pow(23);

/// A number as it is written: `mantissa` times 10 to the `power`.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    mantissa: u128,
    power: i32,
}

/// A quantity in base units (nanoseconds or bytes), as a fraction.
#[derive(Debug, Clone, Copy)]
pub struct Amount {
    numerator: u128,
    /// A power of 10.
    denominator: u128,
}

impl Amount {
    /// So many units, each of `unit` base units; `None` if that is too much to be counted.
    pub(crate) fn new(Decimal { mantissa, power }: Decimal, unit: u64) -> Option<Self> {
        let numerator = mantissa * u128::from(unit);
        let scale = 10_u128.checked_pow(power.unsigned_abs());
        match scale {
            _ if numerator == 0 => Some(Self { numerator: 0, denominator: 1 }),
            Some(scale) if power < 0 => Some(Self { numerator, denominator: scale }),
            // Less than one part in 10^38.
            None if power < 0 => Some(Self { numerator: 0, denominator: 1 }),
            scale => Some(Self { numerator: numerator.checked_mul(scale?)?, denominator: 1 }),
        }
    }

    /// Base units, a half rounded up.
    pub const fn rounded(self) -> u128 {
        (self.numerator + self.denominator / 2) / self.denominator
    }

    /// Whole base units.
    pub const fn whole(self) -> u128 {
        self.numerator / self.denominator
    }

    /// Numerator and denominator.
    pub const fn fraction(self) -> (u128, u128) {
        (self.numerator, self.denominator)
    }
}

/// The number at the beginning of a text, and what follows it. A minus only stands before 0.
pub(crate) fn split(text: &str) -> Option<(Decimal, &str)> {
    let negative = text.starts_with('-');
    let (whole, rest) = digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    let (exponent, rest) = exponent(rest);
    let (mut mantissa, mut power) = (0_u128, exponent);
    for (place, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let (counts, of_whole) = (mantissa < MANTISSA_MAX, place < whole.len());
        if counts {
            mantissa = mantissa * 10 + u128::from(digit - b'0');
        }
        power += i32::from(!counts) - i32::from(!of_whole);
    }
    let number = !(whole.is_empty() && fraction.is_empty() || negative && mantissa > 0);
    number.then_some((Decimal { mantissa, power }, rest.trim_start()))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len()))
}

/// The exponent at the beginning of a text, 0 where there is none, and what follows it.
fn exponent(text: &str) -> (i32, &str) {
    let read = || {
        let signed = text.strip_prefix(['e', 'E'])?;
        let (number, rest) = digits(signed.strip_prefix(['+', '-']).unwrap_or(signed));
        // No text is so long that the sum with its digits overflows.
        let size: i32 = number.parse::<i16>().ok()?.into();
        Some((if signed.starts_with('-') { -size } else { size }, rest))
    };
    read().unwrap_or((0, text))
}
