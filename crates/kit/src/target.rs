//! Finds the program that the user named, the way a shell does. It starts nothing.

use crate::say;
use rustix::fs::{Access, AtFlags, CWD, FileType};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The search path of a process without `PATH` (the C library's default).
const PATH_DEFAULT: &str = "/bin:/usr/bin";

/// The path of `command`, or a [`say::Failure`] with 127 (not found) or 126 (found, cannot be
/// executed).
pub fn find(command: &OsStr, search: Option<OsString>) -> anyhow::Result<PathBuf> {
    let shown = command.to_string_lossy();
    if shown.is_empty() {
        return Err(say::Failure::error(
            say::NOT_FOUND,
            "the name of the program is empty",
            "name a program: numaestro run -- ./app",
        ));
    }
    if shown.contains('/') {
        let path = PathBuf::from(command);
        return match check(&path) {
            Ok(()) | Err(Refusal::Unclear) => Ok(path),
            Err(why) => Err(why.failure(&shown)),
        };
    }
    let search = search.unwrap_or_else(|| PATH_DEFAULT.into());
    let (mut first_refused, mut first_unclear) = (None, None);
    for directory in std::env::split_paths(&search) {
        let place = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
        let path = place.join(command);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(Refusal::Missing) => {}
            Err(Refusal::Unclear) => first_unclear = first_unclear.or(Some(path)),
            Err(why) => first_refused = first_refused.or(Some(why)),
        }
    }
    first_unclear.ok_or_else(|| first_refused.unwrap_or(Refusal::Missing).failure(&shown))
}

/// The reason why a path cannot be executed.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    /// The look failed for another reason, for want of memory say: the execution itself will tell.
    Unclear,
    Missing,
    Directory,
    Forbidden,
}

impl Refusal {
    fn failure(self, shown: &str) -> anyhow::Error {
        match self {
            Self::Missing if shown.contains('/') => say::Failure::error(
                say::NOT_FOUND,
                format!("{shown}: no such file"),
                "check the path, or build the program first",
            ),
            Self::Missing if shown.starts_with('-') => say::Failure::error(
                say::NOT_FOUND,
                format!("there is no option {shown}, and no program of this name"),
                format!(
                    "options have long names and stand before the program: numaestro run --max 4 -- ./app; for a file \
                     of this directory write ./{shown}"
                ),
            ),
            Self::Missing | Self::Unclear => say::Failure::error(
                say::NOT_FOUND,
                format!("{shown}: command not found"),
                format!("it is in no directory of PATH; for a file of this directory write ./{shown}"),
            ),
            Self::Directory => {
                say::Failure::error(say::NOT_EXECUTABLE, format!("{shown}: is a directory"), "name a program in it")
            }
            Self::Forbidden => say::Failure::error(
                say::NOT_EXECUTABLE,
                format!("{shown}: permission denied"),
                format!("make it executable (chmod +x {shown}), or see whether its file system is mounted noexec"),
            ),
        }
    }
}

fn check(path: &Path) -> Result<(), Refusal> {
    let refusal = |errno| match errno {
        Errno::ACCESS | Errno::PERM => Refusal::Forbidden,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG => Refusal::Missing,
        _ => Refusal::Unclear,
    };
    match rustix::fs::stat(path) {
        Ok(found) if FileType::from_raw_mode(found.st_mode).is_dir() => return Err(Refusal::Directory),
        Ok(_) => {}
        Err(errno) => return Err(refusal(errno)),
    }
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).map_err(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(error: &anyhow::Error) -> u8 {
        error.downcast_ref::<say::Failure>().expect("a failure with a code").code
    }

    #[test]
    fn finds_as_a_shell_does() {
        assert_eq!(find(OsStr::new("sh"), Some("/nowhere:/bin".into())).expect("sh"), Path::new("/bin/sh"));
        assert_eq!(find(OsStr::new("sh"), None).expect("sh"), Path::new("/bin/sh"));
        assert_eq!(code(&find(OsStr::new("no-such-program"), None).expect_err("missing")), say::NOT_FOUND);
        let option = find(OsStr::new("-n"), None).expect_err("an option of another command");
        assert!(option.to_string().contains("no option -n"), "{option}");
        assert_eq!(code(&option), say::NOT_FOUND);
        assert_eq!(code(&find(OsStr::new("/"), None).expect_err("directory")), say::NOT_EXECUTABLE);
        assert_eq!(code(&find(OsStr::new("/etc/passwd"), None).expect_err("no x bit")), say::NOT_EXECUTABLE);
        assert_eq!(code(&find(OsStr::new(""), None).expect_err("empty")), say::NOT_FOUND);
        assert_eq!(code(&find(OsStr::new("passwd"), Some("/etc".into())).expect_err("no x bit")), say::NOT_EXECUTABLE);
    }
}
