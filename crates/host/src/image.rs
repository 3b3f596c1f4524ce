//! Looks at the file of a program: how the kernel starts it, and whether it has a runtime that the
//! shim serves. The code is that of the stub, which looks at what a managed program starts.

use std::ffi::{CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The way in which a file is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nobody can tell: it cannot be read, or it is no program.
    Unknown,
    /// By glibc's dynamic loader, for this architecture.
    Glibc,
    /// Without a loader.
    Static,
    /// It is a dynamic loader itself.
    Loader,
    /// By another C library's loader, or for another architecture or word size.
    Foreign,
    /// With other rights than its caller's.
    Rights,
}

/// What a look at a file has found; for a script, what is true of its interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image {
    /// The way in which it is started.
    pub kind: Kind,
    /// It, or a library that it needs, is a runtime that the shim serves.
    pub runtime: bool,
    /// It needs the shared runtime of `AddressSanitizer`.
    pub sanitizer: bool,
}

/// `struct nm_image` of `client/stub/look.h`.
#[repr(C)]
struct Found {
    kind: u8,
    runtime: u8,
    sanitizer: u8,
    script: u8,
    content: u8,
}

/// `struct nm_search`.
#[repr(C)]
struct Search {
    library_path: *const c_char,
    rules: *const c_char,
    is_loaded: *const c_void,
    answers: *const c_void,
}

unsafe extern "C" {
    fn nm_look_at_image(path: *const c_char, search: *const Search) -> Found;
}

/// Looks at the file that `execve` would start. `library_path` is the value of `LD_LIBRARY_PATH`;
/// `rules` name further runtimes (`PATTERN=VERB`, after commas).
pub fn look(path: &Path, library_path: Option<&OsStr>, rules: Option<&OsStr>) -> Image {
    let text = |value: &OsStr| CString::new(value.as_bytes()).ok();
    let (library_path, rules) = (library_path.and_then(text), rules.and_then(text));
    let pointer = |value: &Option<CString>| value.as_ref().map_or(std::ptr::null(), |value| value.as_ptr());
    let Some(path) = text(path.as_os_str()) else {
        return Image { kind: Kind::Unknown, runtime: false, sanitizer: false };
    };
    let (is_loaded, answers) = (std::ptr::null(), std::ptr::null());
    let search = Search { library_path: pointer(&library_path), rules: pointer(&rules), is_loaded, answers };
    // SAFETY: the texts end with a zero and live until the call returns; the function keeps none of
    // them, and a search may have neither `is_loaded` nor `answers`.
    let found = unsafe { nm_look_at_image(path.as_ptr(), &raw const search) };
    let kind = match found.kind {
        1 => Kind::Glibc,
        2 => Kind::Static,
        3 => Kind::Loader,
        4 => Kind::Foreign,
        5 => Kind::Rights,
        _ => Kind::Unknown,
    };
    Image { kind, runtime: found.runtime != 0, sanitizer: found.sanitizer != 0 }
}

impl Image {
    /// Says why no preloaded library reaches it, one clause; `Ok` if one does.
    pub fn takes_preload(&self) -> Result<(), &'static str> {
        match self.kind {
            Kind::Glibc | Kind::Loader => Ok(()),
            Kind::Static => Err("it is a static program"),
            Kind::Foreign => Err("its C library is not glibc, or it is built for another architecture or word size"),
            Kind::Rights => Err("it is setuid or setgid, or has file capabilities"),
            Kind::Unknown => Err("it cannot be read, or it is no program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[cfg(target_arch = "x86_64")]
    const MACHINE: u16 = 62;
    #[cfg(target_arch = "aarch64")]
    const MACHINE: u16 = 183;
    const PT_INTERP: u32 = 3;

    fn look_at(bytes: &[u8]) -> Image {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), bytes).expect("written");
        look(file.path(), None, None)
    }

    /// A 64-bit file for `machine` with one program header of `kind` that holds `text`.
    fn image(machine: u16, kind: u32, text: &str) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[16] = 2;
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
    fn a_file_is_known_by_its_head() {
        let glibc = "/lib64/ld-linux-x86-64.so.2";
        for (bytes, kind) in [
            (image(MACHINE, PT_INTERP, glibc), Kind::Glibc),
            (image(MACHINE, PT_INTERP, "/lib/ld-musl-x86_64.so.1"), Kind::Foreign),
            (image(MACHINE, 1, ""), Kind::Static),
            (image(MACHINE + 1, PT_INTERP, glibc), Kind::Foreign),
            (b"\x7fELF\x01\x01".iter().copied().chain([0; 60]).collect(), Kind::Foreign),
            (Vec::new(), Kind::Unknown),
        ] {
            assert_eq!(look_at(&bytes).kind, kind, "{bytes:?}");
        }
    }

    #[test]
    fn a_script_is_its_interpreter() {
        assert_eq!(look_at(b"#! /bin/sh\nx").kind, look(Path::new("/bin/sh"), None, None).kind);
        assert_eq!(look_at(b"echo without a first line\n").kind, look(Path::new("/bin/sh"), None, None).kind);
        assert_eq!(look_at(b"#!\n").kind, Kind::Unknown);
    }

    #[test]
    fn a_damaged_file_is_never_a_fault() {
        let whole = image(MACHINE, PT_INTERP, "/lib64/ld-linux-x86-64.so.2");
        for cut in 0..whole.len() {
            look_at(&whole[..cut]);
        }
        let me = fs::read("/proc/self/exe").expect("our own program");
        for at in (0..1024).chain((0..me.len()).step_by(me.len() / 64)) {
            let mut bytes = me[..me.len().min(1 << 20)].to_vec();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0xff;
            }
            if at % 16 == 0 || at > 1024 {
                look_at(&bytes);
            }
        }
    }

    #[test]
    fn this_test_takes_a_preload_and_has_no_runtime() {
        let me = look(Path::new("/proc/self/exe"), None, None);
        assert_eq!((me.kind, me.runtime, me.sanitizer), (Kind::Glibc, false, false));
        let named = look(Path::new("/proc/self/exe"), None, Some(OsStr::new("numaestro_host*=set")));
        assert!(!named.runtime, "the name of the file counts, and it is exe");
    }

    #[test]
    fn who_may_not_read_it_knows_nothing_of_it() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o4755)).expect("its owner");
        fs::write(file.path(), image(MACHINE, 1, "")).expect("written");
        let own = look(file.path(), None, None).kind;
        assert_eq!(own, Kind::Static, "rights of the caller's own are no other rights");
        assert_eq!(look(Path::new("/nowhere"), None, None).kind, Kind::Unknown);
    }
}
