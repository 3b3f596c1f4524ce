//! Writes files that are there whole or not at all.

use crate::say::Failure;
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes a file, or nothing of it. A pipe or a device is written to as it is.
pub fn write<E: Into<anyhow::Error>>(
    path: PathBuf,
    contents: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> anyhow::Result<PathBuf> {
    let place = || format!("cannot write {}", path.display());
    if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        let mut out = BufWriter::new(File::options().write(true).open(&path).with_context(place)?);
        contents(&mut out).map_err(|error| placed(error.into(), &path))?;
        out.flush().with_context(place)?;
        return Ok(path);
    }
    // A temporary file is its owner's only; one that stays is as the user's mask has it.
    let usual = std::fs::Permissions::from_mode(0o666);
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file =
        tempfile::Builder::new().prefix(".numaestro").permissions(usual).tempfile_in(directory).with_context(place)?;
    let mut out = BufWriter::new(file);
    contents(&mut out).map_err(|error| placed(error.into(), &path))?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(place)?;
    file.persist(&path).map_err(|error| error.error).with_context(place)?;
    Ok(path)
}

/// Why contents are not written. A failure of what they are made from says so itself: the place is
/// not to blame.
fn placed(error: anyhow::Error, place: &Path) -> anyhow::Error {
    if error.is::<Failure>() { error } else { error.context(format!("cannot write {}", place.display())) }
}
