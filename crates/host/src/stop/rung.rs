//! Finds out whether programs can be stopped on this machine, and if not, the reason and the
//! remedy.

use std::path::Path;

use super::{Group, Outcome, Stopper};

/// Says whether and how far programs can be stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// Programs can be stopped, at least if `numaestro run` starts them or they attach by
    /// themselves.
    pub works: bool,
    /// One sentence: how far, or the reason why not and the remedy.
    pub detail: String,
}

impl Rung {
    fn missing(detail: impl Into<String>) -> Self {
        Self { works: false, detail: detail.into() }
    }
}

/// Tries it on a process of our own, and reads the system's setting for others.
pub fn rung() -> Rung {
    if !cfg!(target_arch = "x86_64") {
        return Rung::missing(
            "stopping programs unseen is known for x86-64 only: there it is known which calls to begin again",
        );
    }
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    match try_it() {
        Ok(()) => Rung { works: true, detail: reach(scope.as_deref().map(str::trim)).to_owned() },
        Err(reason) => Rung::missing(format!("{reason}; {}", advice(scope.as_deref().map(str::trim)))),
    }
}

/// The programs that can be stopped, by the setting of Yama (the kernel's
/// Documentation/admin-guide/LSM/Yama.rst).
fn reach(scope: Option<&str>) -> &'static str {
    match scope {
        None | Some("0") => "every program of this user",
        Some("1") => "programs started by `numaestro run` or that attach by themselves (kernel.yama.ptrace_scope is 1)",
        Some(_) => "every program, with the rights of an administrator (kernel.yama.ptrace_scope)",
    }
}

/// Lets the manager stop this process, and the program it becomes (`execve` keeps it, `fork` does
/// not), where Yama would forbid it. Elsewhere nothing changes, and nothing has to.
pub fn permit(manager: u32) {
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(manager), 0, 0, 0) };
}

fn advice(scope: Option<&str>) -> &'static str {
    match scope {
        Some("2") => "set kernel.yama.ptrace_scope to 1 (sysctl), or give the manager CAP_SYS_PTRACE",
        Some("3") => "kernel.yama.ptrace_scope is 3, which holds until the next start of the machine; set it to 1",
        _ if Path::new("/.dockerenv").exists() => {
            "in a container, allow ptrace: `--cap-add SYS_PTRACE`, or a seccomp profile with it"
        }
        _ => "something on this machine forbids ptrace(2): a seccomp filter of a container, or a security module",
    }
}

fn try_it() -> Result<(), String> {
    let parent = std::process::id();
    // SAFETY: the child makes nothing but system calls.
    let child = match unsafe { libc::fork() } {
        -1 => return Err("no process could be made to try it on".to_owned()),
        0 => {
            // SAFETY: system calls without memory; the child ends with its parent's thread at the
            // latest, or when it is killed.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // It may have died before that: the child would keep its descriptors for ever, and
                // with them its lock.
                if libc::getppid().cast_unsigned() == parent {
                    libc::pause();
                }
                libc::_exit(0)
            }
        }
        child => child.cast_unsigned(),
    };
    let outcome = Stopper::start()
        .map_err(|cause| cause.to_string())
        .map(|stopper| stopper.stop(0, Group { root: child, tree: None }));
    // SAFETY: our own child, which nobody has waited for.
    unsafe {
        libc::kill(child.cast_signed(), libc::SIGKILL);
        libc::waitpid(child.cast_signed(), std::ptr::null_mut(), 0);
    }
    match outcome? {
        Outcome::Stopped(_) | Outcome::Pending => Ok(()),
        Outcome::Unstoppable(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_or_a_reach_is_given() {
        let rung = rung();
        assert!(!rung.detail.is_empty());
        // Only under the one setting that forbids it to everybody is it known in advance.
        let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
        if scope.as_deref().map(str::trim) == Some("3") {
            assert!(!rung.works);
        }
    }
}
