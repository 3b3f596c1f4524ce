//! The attach messages as bytes. Everything that comes in is checked here; nothing behind it sees a
//! length or a magic number.

use numaestro_abi::attach::{
    ADVISED_CPU_WORDS, ADVISED_NODE_WORDS, Advised, Hello, Kind, MAGIC, Notice, Query, VERSION, Welcome, advice, code,
};
use numaestro_engine::Advice;
use numaestro_topology::{CpuSet, Machine};

use crate::label::label;
use crate::machine::node_list;

/// Room for the largest message and one byte more, so that a longer one is seen to be longer.
pub(crate) const BUFFER_BYTES: usize = size_of::<Hello>() + 1;
const _: () = assert!(size_of::<Hello>() >= size_of::<Notice>());
/// Bytes of the text of [`Welcome`].
const TEXT_BYTES: usize = 168;
/// Bytes of the text of [`Advised`].
const ADVISED_TEXT_BYTES: usize = 208;
const _: () = assert!(size_of::<Hello>() >= size_of::<Query>());

/// A program asks for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) runtimes: u32,
    pub(crate) threads_max: u32,
    pub(crate) name: String,
    /// What it had from a former manager.
    pub(crate) claim: Option<CpuSet>,
}

/// A process asks what a program would get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Question {
    /// 0 = as many as there are.
    pub(crate) processors: u32,
    /// 0 = 1.
    pub(crate) min: u32,
    /// Bytes; 0 = not known.
    pub(crate) memory: u64,
}

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Hello(Greeting),
    Advise(Question),
    Adopted { app: u64, epoch: u32 },
    Busy { app: u64 },
    Request { app: u64, processors: u32 },
    Demand { app: u64, processors: u32 },
    Team { app: u64, threads: u32 },
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
    let (hello, advise) = (kind == Kind::Hello as u16, kind == Kind::Advise as u16);
    let length = match kind {
        _ if hello => size_of::<Hello>(),
        _ if advise => size_of::<Query>(),
        _ => size_of::<Notice>(),
    };
    if packet.len() != length {
        return Err(code::MALFORMED);
    }
    let message = match kind {
        _ if hello => greeting(&mut cursor)?.map(Message::Hello),
        _ if advise => question(&mut cursor).map(Message::Advise),
        _ => notice(kind, &mut cursor),
    };
    message.ok_or(code::MALFORMED)
}

fn question(cursor: &mut Cursor<'_>) -> Option<Question> {
    Some(Question { processors: cursor.u32()?, min: cursor.u32()?, memory: cursor.u64()? })
}

fn notice(kind: u16, cursor: &mut Cursor<'_>) -> Option<Message> {
    let (app, value, second) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
    match kind {
        kind if kind == Kind::Adopted as u16 => Some(Message::Adopted { app, epoch: value }),
        kind if kind == Kind::Busy as u16 => Some(Message::Busy { app }),
        kind if kind == Kind::Request as u16 => Some(Message::Request { app, processors: value }),
        kind if kind == Kind::Demand as u16 => Some(Message::Demand { app, processors: value }),
        kind if kind == Kind::Team as u16 => Some(Message::Team { app, threads: value }),
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
    label(&String::from_utf8_lossy(&bytes[..end]))
}

/// The answer to a `Hello`.
pub(crate) fn welcome(refusal: u32, app: u64, text: &str) -> Vec<u8> {
    let mut bytes = head(Kind::Welcome, refusal, size_of::<Welcome>());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(app.to_le_bytes());
    close(bytes, text, TEXT_BYTES, size_of::<Welcome>())
}

/// The answer to a question.
pub(crate) fn advised(found: &Advice, machine: &Machine) -> Vec<u8> {
    let waits = found.position.is_some() || found.turn_in > 0 || found.threads == 0;
    let flags = if found.shared { advice::SHARED } else { 0 } | if waits { advice::WAITS } else { 0 };
    let mut bytes = head(Kind::Advice, code::OK, size_of::<Advised>());
    for word in [flags, found.count, found.threads, found.position.unwrap_or(0), 0] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(found.memory_free.unwrap_or(u64::MAX).to_le_bytes());
    bytes.extend(0_u64.to_le_bytes());
    for pus in [&found.pus, &found.free] {
        words(&mut bytes, &machine.os_cpuset(pus), ADVISED_CPU_WORDS);
    }
    for nodes in [&found.nodes, &found.memory_nodes] {
        words(&mut bytes, &node_list(machine, nodes), ADVISED_NODE_WORDS);
    }
    close(bytes, &found.why, ADVISED_TEXT_BYTES, size_of::<Advised>())
}

/// The answer to a question that asks for what cannot be.
pub(crate) fn advised_against(refusal: u32, text: &str) -> Vec<u8> {
    let mut bytes = head(Kind::Advice, refusal, size_of::<Advised>());
    bytes.resize(size_of::<Advised>() - ADVISED_TEXT_BYTES, 0);
    close(bytes, text, ADVISED_TEXT_BYTES, size_of::<Advised>())
}

fn head(kind: Kind, code: u32, room: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(room);
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend((kind as u16).to_le_bytes());
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(code.to_le_bytes());
    bytes
}

/// A set as so many words; what is beyond is left out.
fn words(bytes: &mut Vec<u8>, set: &CpuSet, count: usize) {
    let known = set.words().iter().copied().chain(std::iter::repeat(0));
    known.take(count).for_each(|word| bytes.extend(word.to_le_bytes()));
}

/// Ends with a text and zeros: at least one, so that it is terminated.
fn close(mut bytes: Vec<u8>, text: &str, room: usize, length: usize) -> Vec<u8> {
    let mut end = text.len().min(room - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    bytes.extend(&text.as_bytes()[..end]);
    bytes.resize(length, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_topology::{NumaNodeId, PuId, PuSet, synthetic};

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
        for length in [8, 23, 24, 640] {
            let answer = decode(&newer[..length]);
            assert_eq!(answer, Err(code::VERSION), "messages of another version may have other sizes");
        }
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
        assert_eq!(notice(10), Ok(Message::Team { app: 7, threads: 9 }));
        assert_eq!(notice(7), Ok(Message::Speedup { app: 7, processors: 9, speedup_milli: 1900 }));
        assert_eq!(notice(2), Err(code::MALFORMED));
    }

    #[test]
    fn a_question_is_understood_and_an_answer_has_its_place_for_everything() {
        let mut bytes = head(Kind::Advise, 7, size_of::<Query>());
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend((3_u64 << 30).to_le_bytes());
        bytes.resize(size_of::<Query>(), 0);
        let Ok(Message::Advise(question)) = decode(&bytes) else { panic!("not understood") };
        assert_eq!(question, Question { processors: 7, min: 2, memory: 3 << 30 });
        assert_eq!(decode(&bytes[..size_of::<Notice>()]), Err(code::MALFORMED));

        let machine = synthetic::parse("numa:2 core:2 pu:1").unwrap();
        let found = Advice {
            count: 2,
            threads: 3,
            pus: PuSet::from_iter([PuId(1), PuId(2)]),
            free: PuSet::from_iter([PuId(2)]),
            shared: true,
            nodes: vec![NumaNodeId(0), NumaNodeId(1)],
            memory_nodes: vec![NumaNodeId(1)],
            memory_free: Some(5),
            why: "ü".repeat(300),
            ..Advice::default()
        };
        let bytes = advised(&found, &machine);
        let at = |offset: usize| u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap());
        assert_eq!(bytes.len(), size_of::<Advised>());
        let parts = [at(8), at(0xc), at(0x10), at(0x14), at(0x18), at(0x20)];
        assert_eq!(parts, [0, advice::SHARED, 2, 3, 0, 5]);
        assert_eq!([at(0x30), at(0x430), at(0x830), at(0x8b0)], [0b110, 0b100, 0b11, 0b10]);
        assert!(bytes.ends_with(&[0]) && bytes[0x930..].starts_with("ü".as_bytes()));
        let refused = advised_against(code::REFUSED, "no");
        assert_eq!((refused.len(), refused[8], &refused[0x930..0x933]), (2560, 6, &b"no\0"[..]));
    }

    #[test]
    fn a_welcome_has_its_size_whatever_the_text() {
        assert_eq!(welcome(0, 1, "").len(), 192);
        assert_eq!(welcome(4, 1, &"ü".repeat(300)).len(), 192);
    }
}
