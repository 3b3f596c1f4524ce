//! Where the two commands are: the product's and the laboratory's. Each finds the other beside
//! itself, or else in the user's `PATH`.

use std::ffi::OsStr;
use std::path::PathBuf;

/// The product's command.
pub const PRODUCT: &str = "numaestro";
/// The laboratory's command.
pub const LABORATORY: &str = "numaestro-lab";

/// The command of this name.
///
/// # Errors
/// A [`say::Failure`](crate::say::Failure) if it is neither beside this program nor in `PATH`.
pub fn find(name: &str) -> anyhow::Result<PathBuf> {
    let beside = std::env::current_exe().ok().map(|me| me.with_file_name(name)).filter(|path| path.is_file());
    match beside {
        Some(path) => Ok(path),
        None => crate::target::find(OsStr::new(name), std::env::var_os("PATH")),
    }
}
