//! Errors of requests to Linux. Each carries the attempted operation and its object, so that the
//! code that prints it can name the next step.

use std::io;
use std::path::PathBuf;

/// A failed request to Linux.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file or directory.
    #[error("{operation} {}: {source}", path.display())]
    File {
        /// The attempted operation.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A process or thread.
    #[error("{operation} of process {pid}: {source}")]
    Process {
        /// The attempted operation.
        operation: &'static str,
        /// The process or thread.
        pid: u32,
        /// The system's answer.
        source: io::Error,
    },
    /// Something without a name: a socket, a timer, a piece of memory.
    #[error("{operation}: {source}")]
    Call {
        /// The attempted operation.
        operation: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of the system does not read as documented.
    #[error("{} does not read as expected: `{text}`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The offending text.
        text: String,
    },
    /// The runtime directory cannot be used.
    #[error("{} cannot be the runtime directory: {reason}", path.display())]
    RuntimeDir {
        /// The directory.
        path: PathBuf,
        /// The reason, one clause.
        reason: String,
    },
}

impl HostError {
    /// The system's error number, where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::File { source, .. } | Self::Process { source, .. } | Self::Call { source, .. } => {
                source.raw_os_error()
            }
            Self::Malformed { .. } | Self::RuntimeDir { .. } => None,
        }
    }

    /// The process or thread is gone (`ESRCH`, or its `/proc` files are).
    pub fn is_gone(&self) -> bool {
        matches!(self.errno(), Some(libc::ESRCH | libc::ENOENT))
    }

    /// The system does not let us (`EPERM`, `EACCES`).
    pub fn is_denied(&self) -> bool {
        matches!(self.errno(), Some(libc::EPERM | libc::EACCES))
    }

    /// Descriptors have run out, ours or the system's.
    pub fn is_out_of_descriptors(&self) -> bool {
        matches!(self.errno(), Some(libc::EMFILE | libc::ENFILE))
    }
}

/// `map_err` for a call without a path.
pub(crate) fn call<E: Into<io::Error>>(operation: &'static str) -> impl FnOnce(E) -> HostError {
    move |source| HostError::Call { operation, source: source.into() }
}

/// `map_err` for a file.
pub(crate) fn file<E: Into<io::Error>>(
    operation: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> HostError {
    let path = path.into();
    move |source| HostError::File { operation, path, source: source.into() }
}

/// `map_err` for a process.
pub(crate) fn process<E: Into<io::Error>>(operation: &'static str, pid: u32) -> impl FnOnce(E) -> HostError {
    move |source| HostError::Process { operation, pid, source: source.into() }
}
