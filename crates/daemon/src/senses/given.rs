//! What `run` has told a process: the affinity that its user gave it. The process may have narrowed
//! itself since, and says so in the same place.

use std::path::Path;

use numaestro_host::procfs;
use numaestro_topology::CpuSet;

/// The variables of `run`.
pub(crate) const ATTACH: &str = "NUMAESTRO_ATTACH";
/// See [`ATTACH`].
pub(crate) const CPUS_ALL: &str = "NUMAESTRO_CPUS_ALL";
/// The share that a program left when it began on all processors that it may have.
pub(crate) const CPUS_NOW: &str = "NUMAESTRO_CPUS_NOW";

/// Reads the affinity that a process would have without us from its environment, if it was born
/// below a `run` of this manager, or of one whose directory has gone: nobody else pays for that.
pub(crate) fn given_by_user(pid: u32, attach: &Path) -> Option<CpuSet> {
    let [socket, all] = procfs::variables(pid, [ATTACH, CPUS_ALL]).ok()?;
    let (socket, all) = (socket?, all?);
    let socket = Path::new(&socket);
    let gone = || socket.parent().is_some_and(|dir| !dir.exists());
    let same = socket == attach || is_same_place(socket, attach) || gone();
    same.then(|| all.to_str()?.parse::<CpuSet>().ok().filter(|cpus| !cpus.is_empty()))?
}

/// The directory may have been named in another way.
fn is_same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.parent().and_then(|dir| dir.canonicalize().ok());
    one.file_name() == other.file_name() && real(one).is_some_and(|dir| real(other) == Some(dir))
}
