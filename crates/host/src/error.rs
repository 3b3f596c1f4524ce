//! Errors of requests to Linux. Each carries the attempted operation and its object, so that the
//! code that prints it can name the next step.
//!
//! The system's answer is in the text. It is no `source()` beside: whoever prints a chain of errors
//! would say it twice.

use std::io;
use std::path::PathBuf;

/// A failed request to Linux.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file or directory.
    #[error("{operation} {}: {cause}", path.display())]
    File {
        /// The attempted operation.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// A process or thread.
    #[error("{operation} of process {pid}: {cause}")]
    Process {
        /// The attempted operation.
        operation: &'static str,
        /// The process or thread.
        pid: u32,
        /// The system's answer.
        cause: io::Error,
    },
    /// Something without a name: a socket, a timer, a piece of memory.
    #[error("{operation}: {cause}")]
    Call {
        /// The attempted operation.
        operation: &'static str,
        /// The system's answer.
        cause: io::Error,
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
            Self::File { cause, .. } | Self::Process { cause, .. } | Self::Call { cause, .. } => cause.raw_os_error(),
            Self::Malformed { .. } | Self::RuntimeDir { .. } => None,
        }
    }

    /// The kind of the system's answer, where there is one.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::File { cause, .. } | Self::Process { cause, .. } | Self::Call { cause, .. } => Some(cause.kind()),
            Self::Malformed { .. } | Self::RuntimeDir { .. } => None,
        }
    }

    /// The system's answer, for whoever says the rest in its own words.
    pub fn into_cause(self) -> io::Error {
        match self {
            Self::File { cause, .. } | Self::Process { cause, .. } | Self::Call { cause, .. } => cause,
            Self::Malformed { .. } | Self::RuntimeDir { .. } => io::Error::other(self.to_string()),
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
    move |cause| HostError::Call { operation, cause: cause.into() }
}

/// `map_err` for a file.
pub(crate) fn file<E: Into<io::Error>>(
    operation: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(E) -> HostError {
    let path = path.into();
    move |cause| HostError::File { operation, path, cause: cause.into() }
}

/// `map_err` for a process.
pub(crate) fn process<E: Into<io::Error>>(operation: &'static str, pid: u32) -> impl FnOnce(E) -> HostError {
    move |cause| HostError::Process { operation, pid, cause: cause.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_the_system_is_said_once() {
        let refused = file("open", "/x")(rustix::io::Errno::ACCESS);
        let chain = std::iter::successors(Some(&refused as &dyn std::error::Error), |cause| cause.source());
        let text = chain.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        assert_eq!(text, "open /x: Permission denied (os error 13)");
    }
}
