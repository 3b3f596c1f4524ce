//! The runtime directory: finds it, checks that it is ours alone or the system's, and lets only one
//! manager live in it.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::error::{self, HostError};

/// Longest path of a Unix socket, with its final zero.
const SUN_PATH_BYTES: usize = 108;
/// The longest name of a socket in the directory.
const SOCKET_NAME_LONGEST: &str = "control";

/// For a lock that keeps cleaners away and nobody else.
const SHARED: FlockOperation = FlockOperation::NonBlockingLockShared;
/// The file that the one manager of a directory has locked.
pub const LOCK: &str = "lock";
/// The file that says which manager has not answered.
pub const SILENT_FILE: &str = "silent";
/// The directory of the manager of all users.
const SYSTEM_PATH: &str = "/run/numaestro";

/// A checked runtime directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeDir {
    path: PathBuf,
    /// It is the system's: we may connect to the sockets in it, and start nothing there.
    shared: bool,
}

/// A lock in a directory, released by the kernel however its holder ends. Its file goes with it,
/// unless the holder is killed.
#[derive(Debug)]
pub struct DirLock {
    file: File,
    path: PathBuf,
    /// Cleaners of `/tmp` that go by systemd's rules (tmpfiles.d(5)) leave a directory alone that
    /// somebody has locked.
    _kept: Option<File>,
}

impl RuntimeDir {
    /// The directory where commands look for the manager: as [`Self::default_path`], but the
    /// system's manager goes before one of our own, if it is there. An error if its directory is
    /// not root's alone: then its owner could pretend to be the manager.
    pub fn usual_path() -> Result<PathBuf, HostError> {
        let chosen = env::var_os("NUMAESTRO_DIR").is_some_and(|path| !path.is_empty());
        if !chosen && is_of_system(Path::new(SYSTEM_PATH))? {
            return Ok(Self::system_path());
        }
        Ok(Self::default_path())
    }

    /// The directory of the system's manager.
    pub fn system_path() -> PathBuf {
        PathBuf::from(SYSTEM_PATH)
    }

    /// The directory of our own manager: `$NUMAESTRO_DIR`, else `$XDG_RUNTIME_DIR/numaestro`, else
    /// `/run/user/UID/numaestro`, else `${TMPDIR:-/tmp}/numaestro-UID`. A user directory counts
    /// where it is there and ours: a login that has ended leaves the name of one that is gone, and
    /// `su` that of somebody else's.
    pub fn default_path() -> PathBuf {
        if let Some(path) = env::var_os("NUMAESTRO_DIR").filter(|path| !path.is_empty()) {
            return PathBuf::from(path);
        }
        let mut places = Self::own_places();
        let last = places.pop().unwrap_or_default();
        places.into_iter().find(|place| place.parent().is_some_and(is_ours)).unwrap_or(last)
    }

    /// The directories that a manager of ours can have without being told one, the best first.
    pub fn own_places() -> Vec<PathBuf> {
        let uid = rustix::process::geteuid().as_raw();
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let temporary = absolute("TMPDIR").filter(|path| path.is_dir()).unwrap_or_else(|| PathBuf::from("/tmp"));
        let user = [absolute("XDG_RUNTIME_DIR"), Some(PathBuf::from(format!("/run/user/{uid}")))];
        let mut places: Vec<_> = user.into_iter().flatten().map(|path| path.join("numaestro")).collect();
        places.push(temporary.join(format!("numaestro-{uid}")));
        places
    }

    /// Makes the directory if it is missing (mode 0700), and checks that it is a directory of ours
    /// or of root's, that nobody else can write there, and that sockets in it can be named.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, HostError> {
        Self::open_with(path.into(), 0o700)
    }

    /// The same for the system's manager, which must be root: everybody may enter (mode 0755).
    pub fn open_for_all(path: impl Into<PathBuf>) -> Result<Self, HostError> {
        let dir = Self::open_with(path.into(), 0o755)?;
        if rustix::process::geteuid().as_raw() != 0 {
            let reason = "only root can be the manager of all users".to_owned();
            return Err(HostError::RuntimeDir { path: dir.path, reason });
        }
        // The mode holds for any umask, and for a directory that was there with another mode.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&dir.path, mode).map_err(error::file("open to everybody", &dir.path))?;
        // From now on only root may read new files; the sockets set their own modes.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        Ok(dir)
    }

    fn open_with(path: PathBuf, mode: u32) -> Result<Self, HostError> {
        let refuse = |reason: String| Err(HostError::RuntimeDir { path: path.clone(), reason });
        if !path.is_absolute() {
            return refuse("the path must be absolute".to_owned());
        }
        if path.as_os_str().as_bytes().len() + 1 + SOCKET_NAME_LONGEST.len() >= SUN_PATH_BYTES {
            return refuse(format!(
                "the path is too long for a socket ({SUN_PATH_BYTES} bytes); set NUMAESTRO_DIR to a shorter one"
            ));
        }
        match fs::DirBuilder::new().mode(mode).recursive(false).create(&path) {
            Ok(()) => {}
            Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(error::file("make the runtime directory", &path)(cause)),
        }
        let found = fs::symlink_metadata(&path).map_err(error::file("look at", &path))?;
        let uid = rustix::process::geteuid().as_raw();
        if found.is_symlink() {
            return refuse("it is a symbolic link".to_owned());
        }
        if !found.is_dir() {
            return refuse("it is not a directory".to_owned());
        }
        if found.uid() != uid && found.uid() != 0 {
            return refuse(format!("it belongs to user {}, not to user {uid}", found.uid()));
        }
        if found.mode() & 0o022 != 0 {
            return refuse(format!("others can write there (mode {:o}); make it 0700", found.mode() & 0o777));
        }
        let shared = found.uid() != uid || path == Path::new(SYSTEM_PATH);
        Ok(Self { path, shared })
    }

    /// It is the system's: we may connect to the sockets in it, and start no manager of our own
    /// there.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The socket of the binary attach messages.
    pub fn attach_socket(&self) -> PathBuf {
        self.file("attach")
    }

    /// The socket of the control lines.
    pub fn control_socket(&self) -> PathBuf {
        self.file("control")
    }

    /// The lock of the one manager of this directory; `None` if another one holds it.
    pub fn lock_manager(&self) -> Result<Option<DirLock>, HostError> {
        let kept = File::open(&self.path).ok().filter(|dir| rustix::fs::flock(dir, SHARED).is_ok());
        self.lock(LOCK, FlockOperation::NonBlockingLockExclusive, kept)
    }

    /// Takes the lock of the process that cleans up after a killed manager; waits for other
    /// cleaners.
    pub fn lock_cleaning(&self) -> Result<DirLock, HostError> {
        let held = self.lock("cleaning.lock", FlockOperation::LockExclusive, None)?;
        held.ok_or(rustix::io::Errno::AGAIN).map_err(error::file("lock", self.file("cleaning.lock")))
    }

    /// Takes the lock under which a manager is started; waits for other starters.
    pub fn lock_start(&self) -> Result<DirLock, HostError> {
        let held = self.lock("start.lock", FlockOperation::LockExclusive, None)?;
        held.ok_or(rustix::io::Errno::AGAIN).map_err(error::file("lock", self.file("start.lock")))
    }

    fn lock(&self, name: &str, operation: FlockOperation, kept: Option<File>) -> Result<Option<DirLock>, HostError> {
        let path = self.file(name);
        loop {
            let file = open_private(&path).map_err(error::file("open", &path))?;
            match rustix::fs::flock(&file, operation) {
                // The former holder may have removed the file that we waited for: then somebody
                // else can hold the next file of this name.
                Ok(()) if !is_same_file(&file, &path) => {}
                Ok(()) => return Ok(Some(DirLock { file, path, _kept: kept })),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(other) => return Err(error::file("lock", path)(other)),
            }
        }
    }

    /// Replaces a file in it at once: a reader sees the old text or the new one, whole.
    pub fn replace(&self, name: &str, text: &[u8]) -> Result<(), HostError> {
        let target = self.file(name);
        let fresh = self.file(&format!("{name}.new"));
        let _ = fs::remove_file(&fresh);
        let mut file = open_private(&fresh).map_err(error::file("write", &fresh))?;
        std::io::Write::write_all(&mut file, text).map_err(error::file("write", &fresh))?;
        fs::rename(&fresh, &target).map_err(error::file("replace", target))
    }

    /// A file to append to, mode 0600.
    pub fn log_file(&self, name: &str) -> Result<File, HostError> {
        let path = self.file(name);
        let options =
            OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(&path);
        options.map_err(error::file("open", path))
    }
}

impl DirLock {
    /// The lock is still the one of this name: nobody has removed its file, or the directory.
    pub fn holds(&self) -> bool {
        is_same_file(&self.file, &self.path)
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        // Under the lock: whoever waits for it looks whether the file is still there.
        if self.holds() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A directory that is there and belongs to us.
fn is_ours(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
}

fn is_same_file(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let named = fs::symlink_metadata(path).map(identity);
    file.metadata().map(identity).is_ok_and(|open| named.is_ok_and(|named| named == open))
}

/// Decides whether a manager for everybody has been set up in the directory: it is root's alone,
/// and so is the socket in it.
fn is_of_system(path: &Path) -> Result<bool, HostError> {
    let look = |path: &Path| match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(cause) if matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(cause) => Err(error::file("look at", path)(cause)),
    };
    let (Some(dir), Some(socket)) = (look(path)?, look(&path.join("control"))?) else { return Ok(false) };
    let reason = if !dir.is_dir() {
        "it is not a directory".to_owned()
    } else if dir.uid() != 0 || socket.uid() != 0 {
        format!("it belongs to user {} and the socket in it to user {}, not to root", dir.uid(), socket.uid())
    } else if dir.mode() & 0o022 != 0 {
        format!("others than root can write there (mode {:o})", dir.mode() & 0o777)
    } else {
        return Ok(true);
    };
    Err(HostError::RuntimeDir { path: path.to_owned(), reason })
}

fn open_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// The name of a program from its command: the last part of its path.
pub fn program_name(command: &OsStr) -> String {
    Path::new(command).file_name().unwrap_or(command).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_one_manager() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = RuntimeDir::open(dir.path().join("n")).unwrap();
        let first = runtime.lock_manager().unwrap();
        assert!(first.is_some());
        assert!(runtime.lock_manager().unwrap().is_none());
        assert!(first.as_ref().is_some_and(DirLock::holds));
        drop(first);
        assert!(fs::read_dir(runtime.path()).unwrap().next().is_none(), "the file goes with the lock");
        assert!(runtime.lock_manager().unwrap().is_some());
    }

    #[test]
    fn a_lock_of_a_removed_directory_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n");
        let runtime = RuntimeDir::open(&path).unwrap();
        let first = runtime.lock_manager().unwrap().unwrap();
        fs::remove_dir_all(&path).unwrap();
        assert!(!first.holds());
        let again = RuntimeDir::open(&path).unwrap();
        let second = again.lock_manager().unwrap().unwrap();
        drop(first);
        assert!(second.holds(), "the former holder leaves the file of the next one alone");
    }

    #[test]
    fn who_waits_for_a_lock_never_shares_it() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = RuntimeDir::open(dir.path().join("n")).unwrap();
        let inside = std::sync::atomic::AtomicU32::new(0);
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let lock = runtime.lock_start().unwrap();
                        assert_eq!(inside.fetch_add(1, order), 0, "alone");
                        std::thread::yield_now();
                        inside.fetch_sub(1, order);
                        drop(lock);
                    }
                });
            }
        });
    }

    #[test]
    fn directories_of_doubt_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("real");
        RuntimeDir::open(&real).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        assert!(RuntimeDir::open(dir.path().join("link")).unwrap_err().to_string().contains("symbolic"));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(RuntimeDir::open(&real).unwrap_err().to_string().contains("0700"));
        assert!(RuntimeDir::open("relative").is_err());
        assert!(RuntimeDir::open(dir.path().join("x".repeat(100))).unwrap_err().to_string().contains("too long"));
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(RuntimeDir::open(dir.path().join("file")).is_err());
    }

    #[test]
    fn only_roots_own_directory_is_the_systems() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n");
        assert!(!is_of_system(&path).unwrap(), "nothing is there");
        fs::create_dir(&path).unwrap();
        assert!(!is_of_system(&path).unwrap(), "no manager has been there");
        fs::write(path.join("control"), "").unwrap();
        if rustix::process::geteuid().as_raw() != 0 {
            assert!(is_of_system(&path).unwrap_err().to_string().contains("not to root"));
            return;
        }
        assert!(is_of_system(&path).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o775)).unwrap();
        assert!(is_of_system(&path).unwrap_err().to_string().contains("can write there"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        assert!(is_of_system(&path).unwrap_err().to_string().contains("belongs to user 12345"));
        // A client's view of the same.
        assert!(RuntimeDir::open(&path).unwrap_err().to_string().contains("belongs to user 12345"));
    }

    #[test]
    fn files_are_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = RuntimeDir::open(dir.path().join("n")).unwrap();
        runtime.replace("state", b"long text").unwrap();
        runtime.replace("state", b"short").unwrap();
        assert_eq!(fs::read(runtime.file("state")).unwrap(), b"short");
    }
}
