//! Looks up names and groups of users: in the system's accounts (files, LDAP or another configured
//! source), or in a file in the form of `passwd` and `group`.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

/// Longest entry that is read: groups of thousands of members are that long.
const ENTRY_BYTES_MAX: usize = 4 << 20;
/// More groups than this a user has nowhere (`NGROUPS_MAX`).
const GROUPS_MAX: usize = 65_536;

/// The source in which accounts are looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Accounts {
    /// The system's.
    #[default]
    System,
    /// Lines of `passwd` (seven fields) and of `group` (four) in one file.
    File(PathBuf),
}

/// One user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name to log in with.
    pub name: String,
    /// Number.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
}

impl Accounts {
    /// The user with this number; `None` if there is no such account.
    pub fn user(&self, uid: u32) -> Option<User> {
        match self {
            Self::System => system_user(|entry, buffer, found| {
                // SAFETY: all pointers are valid for writing as long as the buffer's length says.
                unsafe { libc::getpwuid_r(uid, entry, buffer.as_mut_ptr().cast(), buffer.len(), found) }
            }),
            Self::File(path) => users_in(path).into_iter().find(|user| user.uid == uid),
        }
    }

    /// The user of this name.
    pub fn user_named(&self, name: &str) -> Option<User> {
        match self {
            Self::System => {
                let name = CString::new(name).ok()?;
                system_user(|entry, buffer, found| {
                    // SAFETY: as above, and `name` lives longer than the call.
                    unsafe { libc::getpwnam_r(name.as_ptr(), entry, buffer.as_mut_ptr().cast(), buffer.len(), found) }
                })
            }
            Self::File(path) => users_in(path).into_iter().find(|user| user.name == name),
        }
    }

    /// The number of the group of this name.
    pub fn group_named(&self, name: &str) -> Option<u32> {
        match self {
            Self::System => system_group(name),
            Self::File(path) => groups_in(path).into_iter().find(|group| group.name == name).map(|group| group.gid),
        }
    }

    /// Groups of a user: the primary one first, then the others in the order in which the accounts
    /// have them.
    pub fn groups_of(&self, user: &User) -> Vec<u32> {
        let mut groups = vec![user.gid];
        let others = match self {
            Self::System => system_groups_of(user),
            Self::File(path) => {
                let member = |group: &Group| group.members.contains(&user.name);
                groups_in(path).into_iter().filter(member).map(|group| group.gid).collect()
            }
        };
        groups.extend(others.into_iter().filter(|gid| *gid != user.gid));
        groups
    }
}

struct Group {
    name: String,
    gid: u32,
    members: Vec<String>,
}

fn fields_in(path: &Path, count: usize) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let fields = text.lines().map(|line| line.split(':').map(str::to_owned).collect::<Vec<_>>());
    fields.filter(|fields| fields.len() == count).collect()
}

fn users_in(path: &Path) -> Vec<User> {
    let user = |mut fields: Vec<String>| {
        let (uid, gid) = (fields[2].parse().ok()?, fields[3].parse().ok()?);
        Some(User { name: fields.swap_remove(0), uid, gid })
    };
    fields_in(path, 7).into_iter().filter_map(user).collect()
}

fn groups_in(path: &Path) -> Vec<Group> {
    let group = |mut fields: Vec<String>| {
        let members = fields[3].split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Some(Group { gid: fields[2].parse().ok()?, members, name: fields.swap_remove(0) })
    };
    fields_in(path, 4).into_iter().filter_map(group).collect()
}

/// Asks with larger and larger buffers.
fn with_buffer<T>(mut ask: impl FnMut(&mut [u8]) -> Result<T, i32>) -> Option<T> {
    let mut bytes = 4096;
    while bytes <= ENTRY_BYTES_MAX {
        match ask(&mut vec![0; bytes]) {
            Ok(answer) => return Some(answer),
            Err(libc::ERANGE) => bytes *= 4,
            Err(libc::EINTR) => {}
            Err(_) => return None,
        }
    }
    None
}

fn system_user(
    mut ask: impl FnMut(*mut libc::passwd, &mut [u8], *mut *mut libc::passwd) -> libc::c_int,
) -> Option<User> {
    with_buffer(|buffer| {
        let mut entry = std::mem::MaybeUninit::<libc::passwd>::zeroed();
        let mut found = std::ptr::null_mut();
        match ask(entry.as_mut_ptr(), buffer, &raw mut found) {
            0 if found.is_null() => Ok(None),
            0 => {
                // SAFETY: the call has filled the entry, whose name is in `buffer` and ends with a
                // zero.
                let entry = unsafe { entry.assume_init() };
                // SAFETY: as above.
                let name = unsafe { CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned();
                Ok(Some(User { name, uid: entry.pw_uid, gid: entry.pw_gid }))
            }
            error => Err(error),
        }
    })?
}

fn system_group(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    with_buffer(|buffer| {
        let mut entry = std::mem::MaybeUninit::<libc::group>::zeroed();
        let mut found = std::ptr::null_mut();
        // SAFETY: all pointers are valid for the length of the call, the buffer as long as is said.
        let error = unsafe {
            let (place, room) = (buffer.as_mut_ptr().cast(), buffer.len());
            libc::getgrnam_r(name.as_ptr(), entry.as_mut_ptr(), place, room, &raw mut found)
        };
        match error {
            0 if found.is_null() => Ok(None),
            // SAFETY: the call has filled the entry.
            0 => Ok(Some(unsafe { entry.assume_init() }.gr_gid)),
            error => Err(error),
        }
    })?
}

fn system_groups_of(user: &User) -> Vec<u32> {
    let Ok(name) = CString::new(user.name.as_str()) else { return Vec::new() };
    let mut room = 64;
    while room <= GROUPS_MAX {
        let mut groups = vec![0; room];
        let Ok(mut count) = libc::c_int::try_from(room) else { break };
        // SAFETY: `groups` has room for `count` numbers, and the name ends with a zero.
        let enough = unsafe { libc::getgrouplist(name.as_ptr(), user.gid, groups.as_mut_ptr(), &raw mut count) };
        if enough >= 0 {
            groups.truncate(usize::try_from(count).unwrap_or(0));
            return groups;
        }
        room = usize::try_from(count).unwrap_or(0).max(room * 2);
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_knows_root() {
        let root = Accounts::System.user(0).unwrap();
        assert_eq!((root.name.as_str(), root.uid), ("root", 0));
        assert_eq!(Accounts::System.user_named("root").unwrap(), root);
        assert_eq!(Accounts::System.groups_of(&root).first(), Some(&root.gid));
        assert!(Accounts::System.user_named("no such user here").is_none());
        assert!(Accounts::System.user_named("with\0zero").is_none());
        assert!(Accounts::System.group_named("no such group here").is_none());
        assert!(Accounts::System.user(4_000_000_001).is_none());
    }

    #[test]
    fn a_file_of_both_forms() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("accounts");
        let text = "alice:x:1001:1001:Alice,,,:/users/alice:/bin/sh\nlab:x:2000:alice,bob\nalice:x:1001:\n\
                    bob:x:1002:2000::/:/bin/sh\nbroken:x:many:1::/:\nops:x:3000:bob\n";
        std::fs::write(&path, text).unwrap();
        let accounts = Accounts::File(path);
        let alice = accounts.user(1001).unwrap();
        assert_eq!(accounts.groups_of(&alice), [1001, 2000]);
        let bob = accounts.user_named("bob").unwrap();
        assert_eq!(accounts.groups_of(&bob), [2000, 3000]);
        assert_eq!(accounts.group_named("ops"), Some(3000));
        assert!(accounts.user_named("broken").is_none());
    }
}
