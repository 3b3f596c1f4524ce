//! Reads from an executable's first bytes how the kernel loads it: enough to know whether a preload
//! library fits.
//!
//! It reads only the bytes that it is given.

use std::io::{self, Read, Seek, SeekFrom};

/// The way in which the kernel starts a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// An ELF program.
    Elf {
        /// 64-bit little-endian for the processor this command was built for.
        native: bool,
        /// `PT_INTERP`: the dynamic loader; `None` for a static program.
        loader: Option<String>,
    },
    /// `#!` and this interpreter.
    Script {
        /// Its path.
        interpreter: String,
    },
    /// Neither.
    Other,
}

impl Image {
    /// Says whether glibc's dynamic loader of our own architecture starts it, so that `LD_PRELOAD`
    /// works; else why not.
    pub fn takes_preload(&self) -> Result<(), &'static str> {
        match self {
            Self::Elf { loader: None, .. } => Err("it is a static program"),
            Self::Elf { native: false, .. } => Err("it is built for another architecture or word size"),
            Self::Elf { loader: Some(loader), .. } => {
                let name = loader.rsplit('/').next().unwrap_or(loader);
                let glibc = name.starts_with("ld-linux") || name.starts_with("ld64.so") || name.starts_with("ld.so");
                if glibc { Ok(()) } else { Err("its C library is not glibc") }
            }
            Self::Script { .. } => Err("its interpreter is itself a script"),
            Self::Other => Err("it is not an ELF program"),
        }
    }
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(target_arch = "riscv64")]
const MACHINE: u16 = 243;
#[cfg(target_arch = "powerpc64")]
const MACHINE: u16 = 21;
const PT_INTERP: u32 = 3;
/// The kernel reads this much of a script's first line.
const LINE_MAX: usize = 256;

/// Reads the head of a file.
pub fn inspect(file: &mut (impl Read + Seek)) -> io::Result<Image> {
    let mut head = Vec::new();
    file.by_ref().take(LINE_MAX as u64).read_to_end(&mut head)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&b| b == b'\n').next().unwrap_or(line);
        let text = String::from_utf8_lossy(line);
        return Ok(text
            .split_whitespace()
            .next()
            .map_or(Image::Other, |word| Image::Script { interpreter: word.to_owned() }));
    }
    if !head.starts_with(b"\x7fELF") || head.len() < 52 {
        return Ok(Image::Other);
    }
    if head[4] != 2 || head[5] != 1 {
        // 32-bit or big-endian. A static program is no different: no library of ours fits.
        return Ok(Image::Elf { native: false, loader: Some(String::new()) });
    }
    let native = u16_at(&head, 18) == MACHINE;
    Ok(Image::Elf { native, loader: loader(file, &head)? })
}

/// The `PT_INTERP` string of a 64-bit little-endian file.
fn loader(file: &mut (impl Read + Seek), head: &[u8]) -> io::Result<Option<String>> {
    let (table, entry, count) = (u64_at(head, 32), u16_at(head, 54), u16_at(head, 56));
    if entry < 56 {
        return Ok(None);
    }
    for i in 0..u64::from(count.min(512)) {
        let mut header = [0; 56];
        file.seek(SeekFrom::Start(table.saturating_add(i * u64::from(entry))))?;
        file.read_exact(&mut header)?;
        if u32::from_le_bytes([header[0], header[1], header[2], header[3]]) == PT_INTERP {
            let mut path = Vec::new();
            file.seek(SeekFrom::Start(u64_at(&header, 8)))?;
            file.by_ref().take(u64_at(&header, 32).min(4096)).read_to_end(&mut path)?;
            path.retain(|&b| b != 0);
            return Ok(Some(String::from_utf8_lossy(&path).into_owned()));
        }
    }
    Ok(None)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn check(bytes: &[u8]) -> Image {
        inspect(&mut Cursor::new(bytes)).expect("a cursor does not fail")
    }

    /// A 64-bit file for `machine` with one program header of `kind` that holds `text`.
    fn image(machine: u16, kind: u32, text: &str) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes[72] = 120;
        bytes[96] = u8::try_from(text.len()).expect("short") + 1;
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_glibc_program_takes_a_preload() {
        let found = check(&image(MACHINE, PT_INTERP, "/lib64/ld-linux-x86-64.so.2"));
        assert_eq!(found, Image::Elf { native: true, loader: Some("/lib64/ld-linux-x86-64.so.2".into()) });
        assert_eq!(found.takes_preload(), Ok(()));
    }

    #[test]
    fn others_do_not() {
        for bytes in [
            image(MACHINE, PT_INTERP, "/lib/ld-musl-x86_64.so.1"),
            image(MACHINE, 1, ""),
            image(MACHINE + 1, PT_INTERP, "/lib64/ld-linux-x86-64.so.2"),
            b"\x7fELF\x01\x01".iter().copied().chain([0; 60]).collect(),
            b"plain text".to_vec(),
            Vec::new(),
        ] {
            assert!(check(&bytes).takes_preload().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_script_names_its_interpreter() {
        assert_eq!(check(b"#! /usr/bin/env -S python3\nx"), Image::Script { interpreter: "/usr/bin/env".into() });
        assert_eq!(check(b"#!\n"), Image::Other);
    }

    #[test]
    fn a_damaged_file_is_an_error_or_other_and_never_a_panic() {
        let whole = image(MACHINE, PT_INTERP, "/lib64/ld-linux-x86-64.so.2");
        for cut in 0..whole.len() {
            let _ = inspect(&mut Cursor::new(&whole[..cut]));
        }
    }

    #[test]
    fn this_test_is_itself_a_native_program() {
        let mut me = std::fs::File::open("/proc/self/exe").expect("our own executable");
        assert!(matches!(inspect(&mut me), Ok(Image::Elf { native: true, .. })));
    }
}
