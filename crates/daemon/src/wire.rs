//! The attach messages as bytes. Everything that comes in is checked here; nothing behind it sees a length or a magic number.

use numaestro_abi::attach::{Hello, Kind, MAGIC, Notice, VERSION, Welcome, code};
use numaestro_topology::CpuSet;

/// Room for the largest message and one byte more, so that a longer one is seen to be longer.
pub(crate) const BUFFER_BYTES: usize = size_of::<Hello>() + 1;
const _: () = assert!(size_of::<Hello>() >= size_of::<Notice>());
/// Bytes of the text of [`Welcome`].
const TEXT_BYTES: usize = 168;

/// A program asks for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) runtimes: u32,
    pub(crate) threads_max: u32,
    pub(crate) name: String,
    /// What it had from a former manager.
    pub(crate) claim: Option<CpuSet>,
}

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Hello(Greeting),
    Adopted { app: u64, epoch: u32 },
    Busy { app: u64 },
    Request { app: u64, processors: u32 },
    Demand { app: u64, processors: u32 },
    Speedup { app: u64, processors: u32, speedup_milli: u32 },
}

/// Reads little-endian numbers one after the other.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(bytes)?;
        self.0 = tail;
        Some(head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

/// Understands a packet, or says with which [`code`] to refuse it.
pub(crate) fn decode(packet: &[u8]) -> Result<Message, u32> {
    let mut cursor = Cursor(packet);
    let head = (|| Some((cursor.u32()?, cursor.u16()?, cursor.u16()?)))();
    let (magic, kind, version) = head.ok_or(code::MALFORMED)?;
    if magic != MAGIC {
        return Err(code::MALFORMED);
    }
    if version != VERSION {
        return Err(code::VERSION);
    }
    let hello = kind == Kind::Hello as u16;
    let length = if hello { size_of::<Hello>() } else { size_of::<Notice>() };
    if packet.len() != length {
        return Err(code::MALFORMED);
    }
    let message = if hello { greeting(&mut cursor)?.map(Message::Hello) } else { notice(kind, &mut cursor) };
    message.ok_or(code::MALFORMED)
}

fn notice(kind: u16, cursor: &mut Cursor<'_>) -> Option<Message> {
    let (app, value, second) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
    match kind {
        kind if kind == Kind::Adopted as u16 => Some(Message::Adopted { app, epoch: value }),
        kind if kind == Kind::Busy as u16 => Some(Message::Busy { app }),
        kind if kind == Kind::Request as u16 => Some(Message::Request { app, processors: value }),
        kind if kind == Kind::Demand as u16 => Some(Message::Demand { app, processors: value }),
        kind if kind == Kind::Speedup as u16 => {
            Some(Message::Speedup { app, processors: value, speedup_milli: second })
        }
        _ => None,
    }
}

fn greeting(cursor: &mut Cursor<'_>) -> Result<Option<Greeting>, u32> {
    use numaestro_abi::page;
    if cursor.u32().is_none_or(|version| !(page::VERSION_LOWEST..=page::VERSION).contains(&version)) {
        return Err(code::VERSION);
    }
    Ok((|| {
        let runtimes = cursor.u32()?;
        let threads_max = cursor.u32()?;
        let reattach = cursor.u32()?;
        let _claim_count = cursor.u32()?;
        let _reserved = cursor.u32()?;
        let _claim_app = cursor.u64()?;
        let name = cursor.take(64)?;
        let mut claim = CpuSet::new();
        for word in 0..64_u32 {
            let bits = cursor.u64()?;
            claim.extend((0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 64 + bit));
        }
        let claim = (reattach == 1 && !claim.is_empty()).then_some(claim);
        Some(Greeting { runtimes, threads_max, name: printable(name), claim })
    })())
}

/// Up to the first NUL, with everything that could disturb a terminal replaced.
fn printable(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The answer to a `Hello`.
pub(crate) fn welcome(refusal: u32, app: u64, text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of::<Welcome>());
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend((Kind::Welcome as u16).to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(refusal.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(app.to_le_bytes());
    let mut end = text.len().min(TEXT_BYTES - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    bytes.extend(&text.as_bytes()[..end]);
    bytes.resize(size_of::<Welcome>(), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(1_u16.to_le_bytes());
        bytes.extend(VERSION.to_le_bytes());
        for word in [1_u32, 3, 8, 1, 2, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(5_u64.to_le_bytes());
        let mut name = *b"lulesh\x1b[2J\0garbage\0............................................";
        name[18] = 0;
        bytes.extend(&name[..]);
        bytes.resize(8 + 24 + 8 + 64, 0);
        bytes.extend(0b11_u64.to_le_bytes());
        bytes.resize(size_of::<Hello>(), 0);
        bytes
    }

    #[test]
    fn a_greeting_is_understood() {
        let Ok(Message::Hello(greeting)) = decode(&hello()) else { panic!("not understood") };
        assert_eq!(greeting.name, "lulesh?[2J");
        assert_eq!((greeting.runtimes, greeting.threads_max), (3, 8));
        assert_eq!(greeting.claim.unwrap().to_string(), "0-1");
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_survived() {
        let whole = hello();
        for length in 0..whole.len() {
            assert!(decode(&whole[..length]).is_err());
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0xff;
            let _ = decode(&changed);
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(decode(&longer), Err(code::MALFORMED));
        let mut newer = whole;
        newer[6] = 9;
        assert_eq!(decode(&newer), Err(code::VERSION));
    }

    #[test]
    fn notices_are_understood() {
        let notice = |kind: u16| {
            let mut bytes = Vec::new();
            bytes.extend(MAGIC.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(VERSION.to_le_bytes());
            bytes.extend(7_u64.to_le_bytes());
            bytes.extend(9_u32.to_le_bytes());
            bytes.extend(1900_u32.to_le_bytes());
            decode(&bytes)
        };
        assert_eq!(notice(3), Ok(Message::Adopted { app: 7, epoch: 9 }));
        assert_eq!(notice(4), Ok(Message::Busy { app: 7 }));
        assert_eq!(notice(5), Ok(Message::Request { app: 7, processors: 9 }));
        assert_eq!(notice(6), Ok(Message::Demand { app: 7, processors: 9 }));
        assert_eq!(notice(7), Ok(Message::Speedup { app: 7, processors: 9, speedup_milli: 1900 }));
        assert_eq!(notice(2), Err(code::MALFORMED));
    }

    #[test]
    fn a_welcome_has_its_size_whatever_the_text() {
        assert_eq!(welcome(0, 1, "").len(), 192);
        assert_eq!(welcome(4, 1, &"ü".repeat(300)).len(), 192);
    }
}
