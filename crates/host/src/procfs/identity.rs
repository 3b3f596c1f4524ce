//! Who a process is: users, program, cgroup, namespace. It must not know who asks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::path_of;
use crate::error::{self, HostError};

/// The user ids of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uids {
    /// Who started it.
    pub real: u32,
    /// Whose rights it has now.
    pub effective: u32,
    /// Whose rights it can take back.
    pub saved: u32,
}

impl Uids {
    /// The only user it is; `None` for a program with somebody else's rights (setuid).
    pub fn only(&self) -> Option<u32> {
        (self.real == self.effective && self.real == self.saved).then_some(self.real)
    }
}

/// The user ids of `pid`.
pub fn uids(pid: u32) -> Result<Uids, HostError> {
    let path = path_of(pid, "status");
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    let text = String::from_utf8_lossy(&bytes);
    parse_uids(&text).ok_or_else(|| HostError::Malformed { path, text: text.trim_end().to_owned() })
}

fn parse_uids(text: &str) -> Option<Uids> {
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut words = line.split_ascii_whitespace().map(|word| word.parse().ok());
    Some(Uids { real: words.next()??, effective: words.next()??, saved: words.next()?? })
}

/// The file that `pid` executes, with the device and inode that name it; its path is the one it had when it was started.
pub fn program(pid: u32) -> Result<(PathBuf, (u64, u64)), HostError> {
    let link = path_of(pid, "exe");
    let path = fs::read_link(&link).map_err(error::file("read", &link))?;
    let file = fs::metadata(&link).map_err(error::file("look at", &link))?;
    let path = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map_or(path.clone(), PathBuf::from);
    Ok((path, (file.dev(), file.ino())))
}

/// Path of the cgroup of `pid` below the root of its hierarchy: the unified one, or systemd's own where that has none but the root.
pub fn cgroup(pid: u32) -> Result<String, HostError> {
    let path = path_of(pid, "cgroup");
    let bytes = fs::read(&path).map_err(error::file("read", &path))?;
    Ok(parse_cgroup(&String::from_utf8_lossy(&bytes)))
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

/// What names the process-id namespace of `pid`.
pub fn pid_namespace(pid: u32) -> Result<u64, HostError> {
    let path = path_of(pid, "ns/pid");
    Ok(fs::metadata(&path).map_err(error::file("look at", &path))?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_itself() {
        let me = std::process::id();
        let ids = uids(me).unwrap();
        assert_eq!(ids.only(), Some(rustix::process::getuid().as_raw()));
        let (path, _) = program(me).unwrap();
        assert_eq!(path, std::env::current_exe().unwrap());
        assert!(cgroup(me).unwrap().starts_with('/'));
        assert_eq!(pid_namespace(me).unwrap(), pid_namespace(std::os::unix::process::parent_id()).unwrap());
        assert!(uids(1 << 30).unwrap_err().is_gone());
    }

    #[test]
    fn setuid_programs_are_nobodys() {
        let ids = parse_uids("Name:\tsudo\nUid:\t1000\t0\t0\t0\n").unwrap();
        assert_eq!((ids.real, ids.effective, ids.only()), (1000, 0, None));
        assert_eq!(parse_uids("Name:\tx\n"), None);
        assert_eq!(parse_uids("Uid:\t1\t2\n"), None);
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
