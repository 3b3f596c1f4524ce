//! Finds the preload library, or puts it in its place: it travels inside this command, so that one
//! file is the whole installation.

use crate::say;
use anyhow::Context;
use numaestro_host::rundir::RuntimeDir;
use rustix::fs::StatVfsMountFlags;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The library as it was built together with this command.
static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libnumaestro_preload.so"));
/// Differs for every different library, so that an old file is never taken for a new one.
const CONTENT: &str = env!("NUMAESTRO_SHIM_CONTENT");
const NAME: &str = "libnumaestro_preload.so";

/// The library for `LD_PRELOAD`: `$NUMAESTRO_PRELOAD`, the installed one, else the embedded one
/// written into `runtime` or, where that is mounted noexec, into the cache directory.
pub fn locate(runtime: &Path) -> anyhow::Result<PathBuf> {
    if let Some(chosen) = std::env::var_os("NUMAESTRO_PRELOAD").filter(|v| !v.is_empty()) {
        let chosen =
            fs::canonicalize(&chosen).with_context(|| format!("NUMAESTRO_PRELOAD={}", chosen.to_string_lossy()))?;
        return usable(chosen);
    }
    if let Some(installed) = installed() {
        return usable(installed);
    }
    let mut refusals = Vec::new();
    // The system's directory is not for files of users, also not of root's; a user without a home
    // has a directory of their own.
    let shared = RuntimeDir::open(runtime).is_ok_and(|dir| dir.is_shared());
    let own = || RuntimeDir::open(RuntimeDir::default_path()).ok().map(|dir| dir.path().to_owned());
    let places = if shared { [cache(), own()] } else { [Some(runtime.to_owned()), cache()] };
    for directory in places.into_iter().flatten() {
        match write_into(&directory).and_then(usable) {
            Ok(path) => return Ok(path),
            Err(error) => refusals.push(format!("{}: {error:#}", directory.display())),
        }
    }
    Err(say::Failure::error(
        say::FAILED,
        format!("the shim can be put nowhere ({})", refusals.join("; ")),
        "set XDG_CACHE_HOME to a directory that is writable and not mounted noexec",
    ))
}

/// Says whether a file of `LD_PRELOAD` is the library, of any build.
pub fn is_one(file: &OsStr) -> bool {
    let name = Path::new(file).file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.strip_prefix("libnumaestro_preload").is_some_and(|rest| rest == ".so" || rest.starts_with('-'))
}

/// `<directory of this command>/../lib/numaestro/`.
fn installed() -> Option<PathBuf> {
    let me = std::env::current_exe().ok()?;
    let path = me.parent()?.parent()?.join("lib/numaestro").join(NAME);
    path.is_file().then_some(path)
}

/// This user's directory for what can be made again.
pub fn cache() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("numaestro"))
}

/// The dynamic loader splits `LD_PRELOAD` at blanks and colons and knows no quoting.
fn usable(path: PathBuf) -> anyhow::Result<PathBuf> {
    let text = path.to_str().unwrap_or(" ");
    anyhow::ensure!(
        !text.contains([' ', ':', '\t', '\n', '$']),
        "{text} has a blank, a colon or a dollar in it, which LD_PRELOAD cannot name"
    );
    Ok(path)
}

/// Writes the embedded library under a name made from its content; complete or not at all.
fn write_into(directory: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let mounted = rustix::fs::statvfs(directory)?;
    anyhow::ensure!(!mounted.f_flag.contains(StatVfsMountFlags::NOEXEC), "mounted noexec");
    let path = directory.join(format!("libnumaestro_preload-{CONTENT}.so"));
    if path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == EMBEDDED.len() as u64) {
        return Ok(path);
    }
    let draft = directory.join(format!(".preload-{}", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&draft)?;
        file.write_all(EMBEDDED)?;
        fs::rename(&draft, &path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_library_is_a_library_and_is_written_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = write_into(directory.path()).expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), EMBEDDED);
        assert_eq!(&EMBEDDED[..4], b"\x7fELF");
        let inode = |p: &Path| std::os::unix::fs::MetadataExt::ino(&p.metadata().expect("there"));
        let before = inode(&path);
        assert_eq!(write_into(directory.path()).expect("still there"), path);
        assert_eq!(inode(&path), before);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }

    #[test]
    fn a_path_the_loader_would_split_is_refused() {
        for bad in ["/a b/c.so", "/a:b/c.so", "/a$LIB/c.so"] {
            assert!(usable(PathBuf::from(bad)).is_err());
        }
        assert!(usable(PathBuf::from("/a/c.so")).is_ok());
    }
}
