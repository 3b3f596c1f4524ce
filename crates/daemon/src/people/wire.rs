//! The attach messages as bytes. Everything that comes in is checked here; nothing behind it sees a
//! length or a magic number.

use numaestro_abi::attach::{Advised, Head, Hello, Kind, MAGIC, Notice, Query, VERSION, Welcome, advice, code};
use numaestro_abi::page;
use numaestro_engine::Advice;
use numaestro_topology::{CpuSet, Machine};
use zerocopy::{FromBytes, FromZeros, IntoBytes, TryFromBytes};

use crate::senses::machine::node_list;
use numaestro_quantity::label::label;

/// Room for the largest message and one byte more, so that a longer one is seen to be longer.
pub(crate) const BUFFER_BYTES: usize = size_of::<Hello>() + 1;
const _: () = assert!(size_of::<Hello>() >= size_of::<Notice>());
const _: () = assert!(size_of::<Hello>() >= size_of::<Query>());

/// A program asks for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) runtimes: u32,
    pub(crate) threads_max: u32,
    pub(crate) name: String,
    /// The processors that it had from a former manager.
    pub(crate) claim: Option<CpuSet>,
}

/// A message of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Hello(Greeting),
    Advise(Query),
    Adopted {
        app: u64,
        epoch: u32,
    },
    Busy {
        app: u64,
    },
    Request {
        app: u64,
        processors: u32,
    },
    Demand {
        app: u64,
        processors: u32,
    },
    Team {
        app: u64,
        threads: u32,
    },
    /// The process id is that of the manager that it means.
    Alive {
        manager: u32,
    },
    /// The sender is about to become another program.
    Begins,
    Speedup {
        app: u64,
        processors: u32,
        speedup_milli: u32,
    },
}

/// Understands a packet, or says with which [`code`] to refuse it.
pub(crate) fn decode(packet: &[u8]) -> Result<Message, u32> {
    let (head, _) = Head::read_from_prefix(packet).map_err(|_| code::MALFORMED)?;
    if head.magic != MAGIC {
        return Err(code::MALFORMED);
    }
    if head.version != VERSION {
        return Err(code::VERSION);
    }
    let kind = Kind::try_read_from_bytes(head.kind.as_bytes()).map_err(|_| code::MALFORMED)?;
    let notice = || whole::<Notice>(packet);
    match kind {
        Kind::Hello => greeting(&whole(packet)?).map(Message::Hello),
        Kind::Advise => whole(packet).map(Message::Advise),
        Kind::Adopted => notice().map(|said| Message::Adopted { app: said.app, epoch: said.value }),
        Kind::Busy => notice().map(|said| Message::Busy { app: said.app }),
        Kind::Request => notice().map(|said| Message::Request { app: said.app, processors: said.value }),
        Kind::Demand => notice().map(|said| Message::Demand { app: said.app, processors: said.value }),
        Kind::Team => notice().map(|said| Message::Team { app: said.app, threads: said.value }),
        Kind::Alive => notice().map(|said| Message::Alive { manager: said.value }),
        Kind::Begins => notice().map(|_| Message::Begins),
        Kind::Speedup => notice().map(|said| {
            let (processors, speedup_milli) = (said.value, said.second);
            Message::Speedup { app: said.app, processors, speedup_milli }
        }),
        Kind::Welcome | Kind::Advice => Err(code::MALFORMED),
    }
}

/// A message of exactly the packet's length.
fn whole<T: FromBytes>(packet: &[u8]) -> Result<T, u32> {
    T::read_from_bytes(packet).map_err(|_| code::MALFORMED)
}

fn greeting(hello: &Hello) -> Result<Greeting, u32> {
    if !(page::VERSION_LOWEST..=page::VERSION).contains(&hello.page_version) {
        return Err(code::VERSION);
    }
    let indices =
        |(word, bits): (u32, u64)| (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit);
    let claim: CpuSet = (0..).zip(hello.claim_cpuset).flat_map(indices).collect();
    Ok(Greeting {
        runtimes: hello.runtimes,
        threads_max: hello.threads_max,
        name: printable(&hello.name),
        claim: (hello.reattach == 1 && !claim.is_empty()).then_some(claim),
    })
}

/// Up to the first NUL, with everything that could disturb a terminal replaced.
fn printable(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    label(&String::from_utf8_lossy(&bytes[..end]))
}

/// The answer to a `Hello`.
pub(crate) fn welcome(refusal: u32, app: u64, text: &str) -> Vec<u8> {
    let (kind, text) = (Kind::Welcome as u16, padded(text));
    Welcome { magic: MAGIC, kind, version: VERSION, code: refusal, reserved: 0, app, text }.as_bytes().to_vec()
}

/// The answer to a question.
pub(crate) fn advised(found: &Advice, machine: &Machine) -> Vec<u8> {
    let waits = found.position.is_some() || found.turn_in > 0 || found.threads == 0;
    let answer = Advised {
        flags: if found.shared { advice::SHARED } else { 0 } | if waits { advice::WAITS } else { 0 },
        count: found.count,
        threads: found.threads,
        position: found.position.unwrap_or(0),
        memory_free: found.memory_free.unwrap_or(u64::MAX),
        cpus: words(&machine.os_cpuset(&found.pus)),
        free: words(&machine.os_cpuset(&found.free)),
        nodes: words(&node_list(machine, &found.nodes)),
        memory_nodes: words(&node_list(machine, &found.memory_nodes)),
        ..advice_saying(code::OK, &found.why)
    };
    answer.as_bytes().to_vec()
}

/// The answer to a question that asks for what cannot be.
pub(crate) fn advised_against(refusal: u32, text: &str) -> Vec<u8> {
    advice_saying(refusal, text).as_bytes().to_vec()
}

fn advice_saying(code: u32, text: &str) -> Advised {
    let (kind, text) = (Kind::Advice as u16, padded(text));
    Advised { magic: MAGIC, kind, version: VERSION, code, text, ..Advised::new_zeroed() }
}

/// A set as so many words; what is beyond is left out.
fn words<const WORDS: usize>(set: &CpuSet) -> [u64; WORDS] {
    std::array::from_fn(|word| set.words().get(word).copied().unwrap_or(0))
}

/// The processors that a program may have, for its welcome; nothing if the list is too long.
pub(crate) fn list_text(cpus: &CpuSet) -> String {
    let list = cpus.to_string();
    if list.len() < size_of_val(&Welcome::new_zeroed().text) { list } else { String::new() }
}

/// A text and zeros: at least one, so that it is terminated.
fn padded<const BYTES: usize>(text: &str) -> [u8; BYTES] {
    let text = &text.as_bytes()[..text.floor_char_boundary(BYTES - 1)];
    std::array::from_fn(|place| text.get(place).copied().unwrap_or(0))
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
        assert_eq!(notice(11), Ok(Message::Alive { manager: 9 }));
        assert_eq!(notice(12), Ok(Message::Begins));
        assert_eq!(notice(7), Ok(Message::Speedup { app: 7, processors: 9, speedup_milli: 1900 }));
        assert_eq!(notice(2), Err(code::MALFORMED));
    }

    #[test]
    fn a_question_is_understood_and_an_answer_has_its_place_for_everything() {
        let mut bytes = hello()[..8].to_vec();
        bytes[4] = 8;
        bytes.extend(7_u32.to_le_bytes());
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend((3_u64 << 30).to_le_bytes());
        bytes.resize(size_of::<Query>(), 0);
        let Ok(Message::Advise(question)) = decode(&bytes) else { panic!("not understood") };
        assert_eq!((question.processors, question.min, question.memory), (7, 2, 3 << 30));
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
