//! Files to which lines are added, in places that an administrator names.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Adds a line to a file, in one write. What is no regular file is refused.
///
/// # Errors
/// As the system says.
pub fn append(file: &Path, line: &str) -> Result<(), Error> {
    // A pipe without a reader must not hold anybody up.
    let mut file = OpenOptions::new().create(true).append(true).custom_flags(libc::O_NONBLOCK).open(file)?;
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    file.write_all(format!("{line}\n").as_bytes())
}
