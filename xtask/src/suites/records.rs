//! libomp's records of the processes in which it is, `/dev/shm/__KMP_REGISTERED_LIB_PID_UID`. One
//! outlives a process that is killed, or a child of a fork that ends by `_exit`. The next process
//! with that number ends: libomp takes itself for a second copy (its error 15), or reads a record
//! that is still empty (SIGBUS). A run of thousands of programs comes to every number again.

use std::path::Path;

const PLACE: &str = "/dev/shm";
const PREFIX: &str = "__KMP_REGISTERED_LIB_";

/// The process that a record is of.
fn owner(name: &str) -> Option<u32> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('_')?;
    pid.parse().ok()
}

/// Removes the records of processes that have ended.
pub fn forget_the_dead() {
    for entry in std::fs::read_dir(PLACE).into_iter().flatten().flatten() {
        let dead = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
        if entry.file_name().to_str().and_then(owner).is_some_and(dead) {
            // Another user's is that user's.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_records_of_the_dead_go() {
        assert_eq!(owner("__KMP_REGISTERED_LIB_4711_0"), Some(4711));
        for other in ["__KMP_REGISTERED_LIB_x_0", "__KMP_REGISTERED_LIB_4711", "sem.other"] {
            assert_eq!(owner(other), None, "{other}");
        }
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let record = |pid: u32| Path::new(PLACE).join(format!("{PREFIX}{pid}_test"));
        let (dead, living) = (record(child.id()), record(std::process::id()));
        child.wait().unwrap();
        for path in [&dead, &living] {
            std::fs::write(path, "").unwrap();
        }
        forget_the_dead();
        let left = [&dead, &living].map(|path| path.exists());
        std::fs::remove_file(living).unwrap();
        assert_eq!(left, [false, true]);
    }
}
