//! Finds the two preloaded libraries, or puts them in their place: they travel inside this command,
//! so that one file is the whole installation. `docs/preload.md` says what each is.

use crate::say;
use anyhow::Context;
use numaestro_host::image::{Image, Kind};
use numaestro_host::rundir::RuntimeDir;
use rustix::fs::StatVfsMountFlags;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The libraries as they were built together with this command.
static EMBEDDED: [(&str, &[u8]); 2] = [
    (STUB, include_bytes!(concat!(env!("OUT_DIR"), "/libnumaestro_preload.so"))),
    (SHIM, include_bytes!(concat!(env!("OUT_DIR"), "/libnumaestro_shim.so"))),
];
/// Differs for every different pair, so that an old file is never taken for a new one.
const CONTENT: &str = env!("NUMAESTRO_SHIM_CONTENT");
/// Beginnings of their names. The rest is the same for both: the stub finds the shim by that.
const STUB: &str = "libnumaestro_preload";
const SHIM: &str = "libnumaestro_shim";

/// Files for `LD_PRELOAD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preload {
    /// The file that every program gets.
    pub stub: PathBuf,
    /// The file that a program with a runtime gets after it.
    pub shim: PathBuf,
}

impl Preload {
    fn beside(stub: PathBuf) -> Self {
        let name = stub.file_name().unwrap_or_default().to_string_lossy().replacen(STUB, SHIM, 1);
        Self { shim: stub.with_file_name(name), stub }
    }

    /// The files that an image gets, in order. `None`: nobody knows what will be started. A static
    /// program hands them on to programs that nobody of ours looks at.
    pub fn files(&self, image: Option<&Image>) -> Vec<&Path> {
        match image {
            Some(Image { kind: Kind::Glibc, runtime: false, .. }) => vec![&self.stub],
            _ => vec![&self.stub, &self.shim],
        }
    }
}

/// The libraries: `$NUMAESTRO_PRELOAD`, the installed ones, else the embedded ones written into
/// `runtime` or, where that is mounted noexec, into the cache directory.
pub fn locate(runtime: &Path) -> anyhow::Result<Preload> {
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

/// Says whether a file of `LD_PRELOAD` is one of them, of any build.
pub fn is_one(file: &OsStr) -> bool {
    let name = Path::new(file).file_name().and_then(OsStr::to_str).unwrap_or_default();
    let rest = name.strip_prefix(STUB).or_else(|| name.strip_prefix(SHIM));
    rest.is_some_and(|rest| rest == ".so" || rest.starts_with('-'))
}

/// `<directory of this command>/../lib/numaestro/`.
fn installed() -> Option<PathBuf> {
    let me = std::env::current_exe().ok()?;
    let path = me.parent()?.parent()?.join("lib/numaestro").join(format!("{STUB}.so"));
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
fn usable(path: PathBuf) -> anyhow::Result<Preload> {
    let text = path.to_str().unwrap_or(" ");
    anyhow::ensure!(
        !text.contains([' ', ':', '\t', '\n', '$']),
        "{text} has a blank, a colon or a dollar in it, which LD_PRELOAD cannot name"
    );
    Ok(Preload::beside(path))
}

/// Writes the embedded libraries under names made from their content; each complete or not at all.
/// Gives the stub's, which comes last: whoever finds it finds the shim.
fn write_into(directory: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    let mounted = rustix::fs::statvfs(directory)?;
    anyhow::ensure!(!mounted.f_flag.contains(StatVfsMountFlags::NOEXEC), "mounted noexec");
    let [stub, shim] = EMBEDDED.map(|(name, bytes)| (directory.join(format!("{name}-{CONTENT}.so")), bytes));
    for (path, bytes) in [&shim, &stub] {
        write_once(path, bytes)?;
    }
    Ok(stub.0)
}

fn write_once(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == bytes.len() as u64) {
        return Ok(());
    }
    let draft = path.with_file_name(format!(".preload-{}", std::process::id()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&draft)?;
        file.write_all(bytes)?;
        fs::rename(&draft, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_libraries_are_libraries_and_are_written_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = write_into(directory.path()).expect("writable");
        let both = Preload::beside(path.clone());
        for (path, (_, bytes)) in [both.stub, both.shim].iter().zip(EMBEDDED) {
            assert_eq!(fs::read(path).expect("readable"), bytes);
            assert_eq!(&bytes[..4], b"\x7fELF");
        }
        let inode = |p: &Path| std::os::unix::fs::MetadataExt::ino(&p.metadata().expect("there"));
        let before = inode(&path);
        assert_eq!(write_into(directory.path()).expect("still there"), path);
        assert_eq!(inode(&path), before);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 2);
    }

    #[test]
    fn only_a_program_without_a_runtime_is_given_the_stub_alone() {
        let both = Preload::beside("/d/libnumaestro_preload-1.so".into());
        assert_eq!(both.shim, Path::new("/d/libnumaestro_shim-1.so"));
        let image = |kind, runtime| Image { kind, runtime, sanitizer: false };
        assert_eq!(both.files(Some(&image(Kind::Glibc, false))), [&both.stub]);
        for image in [Some(image(Kind::Glibc, true)), Some(image(Kind::Static, false)), None] {
            assert_eq!(both.files(image.as_ref()), [&both.stub, &both.shim], "{image:?}");
        }
        assert!(is_one(both.stub.as_os_str()) && is_one(both.shim.as_os_str()));
        assert!(!is_one(OsStr::new("/d/libnumaestro_preloaded.so")));
    }

    #[test]
    fn a_path_the_loader_would_split_is_refused() {
        for bad in ["/a b/c.so", "/a:b/c.so", "/a$LIB/c.so"] {
            assert!(usable(PathBuf::from(bad)).is_err());
        }
        assert!(usable(PathBuf::from("/a/c.so")).is_ok());
    }
}
