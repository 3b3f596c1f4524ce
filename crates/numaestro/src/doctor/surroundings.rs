//! The checks of what a manager finds here: its directory, the settings, the manager that runs, and
//! the processors.

use super::{Check, Outcome};
use crate::manager::{self, Manager};
use crate::say;
use numaestro_abi::control::Status;
use numaestro_daemon::{Config, Source};
use numaestro_host::rundir::RuntimeDir;
use numaestro_host::{affinity, reach};
use numaestro_topology::CpuSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// In the order in which a command comes to them.
pub fn checks(dir: &Path) -> Vec<Check> {
    vec![runtime_dir(dir), settings(dir), running(dir), own_affinity()]
}

fn runtime_dir(dir: &Path) -> Check {
    let name = "runtime directory";
    let found = match RuntimeDir::open(dir) {
        Ok(found) => found.path().display().to_string(),
        Err(error) => {
            let next = "set NUMAESTRO_DIR to a short path of a directory of your own, mode 0700";
            return Check::lacking(1, name, Outcome::No, error.to_string(), next);
        }
    };
    match of_nobody(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)) {
        Some(odd) => {
            let next = "commands of another session look elsewhere for a manager: set XDG_RUNTIME_DIR to the \
                session's, or NUMAESTRO_DIR";
            Check::lacking(1, name, Outcome::Partly, format!("{found}, because {odd}"), next)
        }
        None => Check::good(1, name, found),
    }
}

/// The reason why a session's directory is of no use; `None`: it is, or nobody names one.
fn of_nobody(session: Option<PathBuf>) -> Option<String> {
    let session = session.filter(|path| !path.as_os_str().is_empty())?;
    let shown = session.display();
    match std::fs::metadata(&session) {
        Err(error) => Some(format!("XDG_RUNTIME_DIR is {shown}: {error}")),
        Ok(found) if found.uid() != numaestro_host::own_uid() => {
            Some(format!("XDG_RUNTIME_DIR is {shown}, which belongs to user {}", found.uid()))
        }
        Ok(_) => None,
    }
}

/// The settings of the manager, as one that starts now would read them.
fn settings(dir: &Path) -> Check {
    let name = "settings";
    let source = if manager::is_of_system(dir) { Source::of_system() } else { Source::of_user() };
    match Config::load(&source) {
        Err(error) => {
            let next = "no manager starts before this is put right: `numaestro daemon --check-config` tries it again";
            Check::lacking(1, name, Outcome::No, error.to_string(), next)
        }
        Ok(loaded) if !loaded.warnings.is_empty() => {
            let next =
                "HOME or XDG_CONFIG_HOME may be another user's (`su` without `-`, `sudo -E`): set it to your own";
            Check::lacking(1, name, Outcome::Partly, loaded.warnings.join("; "), next)
        }
        Ok(loaded) if loaded.files.is_empty() && source == Source::default() => {
            Check::good(1, name, "the usual ones; neither HOME nor XDG_CONFIG_HOME names a place for others")
        }
        Ok(loaded) if loaded.files.is_empty() => Check::good(1, name, "the usual ones"),
        Ok(loaded) => {
            let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
            Check::good(1, name, files.join(", "))
        }
    }
}

fn running(dir: &Path) -> Check {
    let name = "manager";
    match Manager::reach(dir) {
        Ok(mut manager) => match manager.status() {
            Ok(status) => of_status(name, &status),
            Err(error) => {
                Check::lacking(1, name, Outcome::Partly, format!("{error:#}"), "`numaestro stop`, then try again")
            }
        },
        Err(error) if manager::is_absent(&error) && manager::is_of_system(dir) => {
            let next = "`systemctl start numaestro` starts it, for administrators; --user uses one of your own";
            Check::lacking(1, name, Outcome::No, "the system's manager does not run".to_owned(), next)
        }
        Err(error) if manager::is_absent(&error) => {
            Check::good(1, name, "not running; starts by itself with `numaestro run`")
        }
        Err(error) => Check::lacking(1, name, Outcome::Partly, error.to_string(), "see who owns the runtime directory"),
    }
}

fn of_status(name: &'static str, status: &Status) -> Check {
    let Status { pid, policy, cpus, confined, .. } = status;
    let found = format!("running: pid {pid}, policy {policy}, {}", say::counted(status.apps.len(), "application"));
    if confined.is_empty() {
        return Check::good(1, name, found);
    }
    let found = format!("{found}; it lives in a cgroup that allows processors {confined} only, and manages {cpus}");
    let next = "programs that are started outside of that cgroup tell it of their processors; to start it outside, \
        `numaestro stop` and then `numaestro run` from another login or job, or \
        `systemd-run --user numaestro daemon`";
    Check::lacking(1, name, Outcome::Partly, found, next)
}

/// Sets the affinity this process has already, and compares it with what the kernel would allow.
fn own_affinity() -> Check {
    let name = "affinity";
    let tried = affinity::get(0).and_then(|set| affinity::set(0, &set).map(|()| set));
    let own = match tried {
        Ok(own) => own,
        Err(error) => {
            let next = "a seccomp filter forbids it; allow sched_setaffinity";
            return Check::lacking(1, name, Outcome::No, error.to_string(), next);
        }
    };
    let all = reach::look().unwrap_or_else(|_| own.clone());
    if own.len() == 1 {
        let next = "programs from here can only take turns on it; start them with more processors (taskset, cpuset, \
            container limits)";
        let found = format!("may be set, but there is one processor only ({own}){}", wider(&own, &all));
        return Check::lacking(1, name, Outcome::Partly, found, next);
    }
    Check::good(1, name, format!("may be set within {own}{}", wider(&own, &all)))
}

/// The mask of this shell is no limit of the user's.
fn wider(own: &CpuSet, all: &CpuSet) -> String {
    if all.is_subset(own) {
        return String::new();
    }
    format!(
        "; that is the mask of whoever started this command: programs from here stay within it, others may have {all}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_gone_or_somebody_elses_is_named() {
        let place = tempfile::tempdir().expect("a directory");
        assert_eq!(of_nobody(None), None);
        assert_eq!(of_nobody(Some(PathBuf::new())), None);
        assert_eq!(of_nobody(Some(place.path().to_owned())), None);
        let gone = of_nobody(Some(place.path().join("gone"))).expect("odd");
        assert!(gone.contains("No such file"), "{gone}");
        if numaestro_host::own_uid() != 0 {
            let roots = of_nobody(Some(PathBuf::from("/"))).expect("odd");
            assert!(roots.contains("belongs to user 0"), "{roots}");
        }
    }

    #[test]
    fn a_narrow_mask_is_said_to_be_the_callers() {
        let set = |list: &str| list.parse::<CpuSet>().expect("a list");
        assert_eq!(wider(&set("0-3"), &set("0-3")), "");
        assert!(wider(&set("0"), &set("0-3")).ends_with("others may have 0-3"));
    }
}
