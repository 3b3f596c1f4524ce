//! Reads the identity of a process: users, program, cgroup.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::path_of;
use crate::error::{self, HostError};

/// The user ids of a process, and whether it lives in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The user id that started it.
    pub real: u32,
    /// The user id whose rights it has now.
    pub effective: u32,
    /// The user id whose rights it can take back.
    pub saved: u32,
    /// It has another number besides the one it is known by here: its process-id namespace lies
    /// below ours.
    pub nested: bool,
}

impl Identity {
    /// The only user it is; `None` for a program with somebody else's rights (setuid).
    pub fn only(&self) -> Option<u32> {
        (self.real == self.effective && self.real == self.saved).then_some(self.real)
    }
}

/// Reads the user ids of process `pid`. The right to see the process is enough.
pub fn identity(pid: u32) -> Result<Identity, HostError> {
    let path = path_of(pid, "status");
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    let text = String::from_utf8_lossy(&bytes);
    parse_identity(&text).ok_or_else(|| HostError::Malformed { path, text: text.trim_end().to_owned() })
}

fn parse_identity(text: &str) -> Option<Identity> {
    // A name cannot add lines: the kernel writes its line ends as `\n`.
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let mut words = line("Uid:")?.split_ascii_whitespace().map(|word| word.parse().ok());
    let nested = line("NSpid:").is_some_and(|numbers| numbers.split_ascii_whitespace().count() > 1);
    Some(Identity { real: words.next()??, effective: words.next()??, saved: words.next()??, nested })
}

/// The file that `pid` executes, with the device and inode that name it; its path is the one it had
/// when it was started.
pub fn program(pid: u32) -> Result<(PathBuf, (u64, u64)), HostError> {
    let link = path_of(pid, "exe");
    let path = fs::read_link(&link).map_err(error::file("read", &link))?;
    let file = fs::metadata(&link).map_err(error::file("look at", &link))?;
    let path = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map_or(path.clone(), PathBuf::from);
    Ok((path, (file.dev(), file.ino())))
}

/// Path of the cgroup of `pid` below the root of its hierarchy: the unified one, or systemd's own
/// where that has none but the root.
pub fn cgroup(pid: u32) -> Result<String, HostError> {
    cgroups(pid).map(|text| parse_cgroup(&text))
}

/// The cgroups of `pid` in all hierarchies, as the kernel lists them.
pub fn cgroups(pid: u32) -> Result<String, HostError> {
    let path = path_of(pid, "cgroup");
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse_cgroup(text: &str) -> String {
    // `number:controllers:path`; the path may hold colons.
    let find = |hierarchy: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        lines.find(|(name, _)| *name == hierarchy).map(|(_, path)| path.to_owned())
    };
    match find("") {
        Some(path) if path != "/" => path,
        unified => find("name=systemd").or(unified).unwrap_or_else(|| "/".to_owned()),
    }
}

/// Values of these variables in the environment that `pid` was started with, by its parent. A
/// program may have written over it since, and in the middle of `exec` it is empty. It works for
/// processes whose memory we may read.
pub fn variables<const N: usize>(pid: u32, names: [&str; N]) -> Result<[Option<OsString>; N], HostError> {
    let path = path_of(pid, "environ");
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    Ok(names.map(|name| {
        let value = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
        bytes.split(|byte| *byte == 0).find_map(value).map(OsString::from_vec)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_a_child_is_read() {
        let mut child =
            std::process::Command::new("sleep").arg("100").env("MARK", "here").env_remove("HOME").spawn().unwrap();
        // The kernel shows it a moment after the program has been started.
        let mut found = [None, None, None];
        while found[0].is_none() {
            found = variables(child.id(), ["MARK", "HOME", "MAR"]).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, [Some("here".into()), None, None]);
        assert!(variables(1 << 30, ["MARK"]).unwrap_err().is_gone());
    }

    #[test]
    fn this_process_is_itself() {
        let me = std::process::id();
        let ids = identity(me).unwrap();
        assert_eq!((ids.only(), ids.nested), (Some(rustix::process::getuid().as_raw()), false));
        let (path, _) = program(me).unwrap();
        assert_eq!(path, std::env::current_exe().unwrap());
        assert!(cgroup(me).unwrap().starts_with('/'));
        assert!(identity(1 << 30).unwrap_err().is_gone());
    }

    #[test]
    fn setuid_programs_are_nobodys() {
        let ids = parse_identity("Name:\tsudo\nNSpid:\t7\nUid:\t1000\t0\t0\t0\n").unwrap();
        assert_eq!((ids.real, ids.effective, ids.only(), ids.nested), (1000, 0, None, false));
        assert_eq!(parse_identity("Name:\tx\n"), None);
        assert_eq!(parse_identity("Uid:\t1\t2\n"), None);
        assert!(parse_identity("Uid:\t1\t1\t1\t1\nNSpid:\t700\t5\n").unwrap().nested);
    }

    #[test]
    fn cgroups_of_all_hierarchies() {
        for (text, expected) in [
            ("0::/user.slice/user-1000.slice/session-3.scope\n", "/user.slice/user-1000.slice/session-3.scope"),
            ("9:name=systemd:/a:b\n3:cpuset:/x\n0::/\n", "/a:b"),
            ("3:cpuset:/x\n0::/\n", "/"),
            ("9:name=systemd:/old\n", "/old"),
            ("", "/"),
        ] {
            assert_eq!(parse_cgroup(text), expected, "{text}");
        }
    }
}
