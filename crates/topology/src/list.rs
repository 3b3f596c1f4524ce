//! Reads and writes index sets as text: Linux's lists (`0-3,8`) and hwloc's masks
//! (`0x3,0xffffffff`).

use crate::bitmap::Bitmap;
use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

/// Largest index accepted in a text, so that a typing error or garbage cannot allocate gigabytes.
pub const LARGEST: u32 = (1 << 20) - 1;

/// A text that is not a list of indices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found \"{found}\"")]
pub struct ListError {
    /// The place where the wrong part begins; the first character is column 1.
    pub column: usize,
    /// The text that would have been right.
    pub expected: &'static str,
    /// The wrong part, shortened.
    pub found: String,
}

impl ListError {
    fn new(column: usize, expected: &'static str, found: &str) -> Self {
        Self { column, expected, found: excerpt(found) }
    }
}

/// The first characters of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut out: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}

/// Writes rising indices as ranges.
pub(crate) fn write(items: impl Iterator<Item = u32>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut items = items.peekable();
    let mut comma = "";
    while let Some(low) = items.next() {
        let mut high = low;
        while let Some(next) = items.next_if(|&next| next == high.wrapping_add(1)) {
            high = next;
        }
        if low == high {
            write!(f, "{comma}{low}")?;
        } else {
            write!(f, "{comma}{low}-{high}")?;
        }
        comma = ",";
    }
    Ok(())
}

/// Reads a list that a file has as a string.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bitmap, D::Error> {
    struct List;
    impl Visitor<'_> for List {
        type Value = Bitmap;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Bitmap, E> {
            parse(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(List)
}

/// Reads `0-3,8`; white space around it and the empty text are fine.
pub(crate) fn parse(text: &str) -> Result<Bitmap, ListError> {
    as_written(text).map_or_else(|| read(text), Ok)
}

/// Reads a list as [`write()`] has it, in one pass: a recorded day has ten million. `None`: it is
/// another text.
fn as_written(text: &str) -> Option<Bitmap> {
    let mut out = Bitmap::new();
    let (mut low, mut number) = (None, None);
    for byte in text.bytes().chain((!text.is_empty()).then_some(b',')) {
        match byte {
            b'0'..=b'9' => {
                let digits = number.unwrap_or(0) * 10 + u32::from(byte - b'0');
                number = Some(digits).filter(|&digits| digits <= LARGEST);
                number?;
            }
            b'-' if low.is_none() => low = Some(number.take()?),
            b',' => {
                let high = number.take()?;
                let low = low.take().unwrap_or(high);
                if low > high {
                    return None;
                }
                (low..=high).rev().for_each(|bit| _ = out.insert(bit));
            }
            _ => return None,
        }
    }
    Some(out)
}

/// Reads any list, and finds its first mistake.
fn read(text: &str) -> Result<Bitmap, ListError> {
    let mut out = Bitmap::new();
    let mut column = 1 + text.chars().take_while(|c| c.is_whitespace()).count();
    let text = text.trim();
    if text.is_empty() {
        return Ok(out);
    }
    for part in text.split(',') {
        let (low, high) = match part.split_once('-') {
            None => {
                let only = index(part, column)?;
                (only, only)
            }
            Some((low, high)) => (index(low, column)?, index(high, column + low.chars().count() + 1)?),
        };
        if low > high {
            return Err(ListError::new(column, "a range that rises", part));
        }
        // Highest first: one allocation for the whole range.
        for bit in (low..=high).rev() {
            out.insert(bit);
        }
        column += part.chars().count() + 1;
    }
    Ok(out)
}

fn index(text: &str, column: usize) -> Result<u32, ListError> {
    const EXPECTED: &str = "an index from 0 to 1048575";
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ListError::new(column, EXPECTED, text));
    }
    match text.parse() {
        Ok(value) if value <= LARGEST => Ok(value),
        _ => Err(ListError::new(column, EXPECTED, text)),
    }
}

/// Reads hwloc's `0x00000003,0xffffffff`, also with empty words (`0x1,,` = bit 64).
pub(crate) fn parse_mask(text: &str) -> Result<Bitmap, ListError> {
    const EXPECTED: &str = "words of 32 bits such as 0x0000ffff, at most 32768";
    let mut out = Bitmap::new();
    let text = text.trim();
    let words = text.split(',').count();
    if words > (LARGEST as usize + 1) / 32 {
        return Err(ListError::new(1, EXPECTED, text));
    }
    let mut column = 1;
    for (position, part) in text.split(',').enumerate() {
        let base = ((words - 1 - position) * 32) as u32;
        let digits = part.strip_prefix("0x").unwrap_or(part);
        let word = if part.is_empty() {
            0
        } else if digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            u32::from_str_radix(digits, 16).map_err(|_| ListError::new(column, EXPECTED, part))?
        } else {
            return Err(ListError::new(column, EXPECTED, part));
        };
        for bit in (0..32).rev().filter(|bit| word >> bit & 1 == 1) {
            out.insert(base + bit);
        }
        column += part.chars().count() + 1;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_pass_reads_the_same_as_the_careful_reader(
            text in "[0-9,-]{0,12}",
            bits in proptest::collection::btree_set(0..300u32, 0..40),
        ) {
            struct Written(Vec<u32>);
            impl fmt::Display for Written {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write(self.0.iter().copied(), f)
                }
            }
            let written = Written(bits.into_iter().collect()).to_string();
            prop_assert!(as_written(&written).is_some());
            for text in [text, written] {
                if let Some(found) = as_written(&text) {
                    prop_assert_eq!(Ok(found), read(&text), "{}", text);
                }
            }
        }
    }

    #[test]
    fn other_texts_are_read_with_care() {
        for text in [" 0-3", "0-", "-3", "3-1", "0,,1", "1048576", "99999999999", "0-1-2", "+1"] {
            assert!(as_written(text).is_none(), "{text}");
        }
    }
}
