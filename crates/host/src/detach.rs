//! Starting a program that outlives us and is nobody's child: not of the program that `run` becomes, which would find a stranger
//! among its children. It must not know which program.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::error::{self, HostError};

/// Starts `command` in a session of its own, child of init, its error output to `log`, its input from nowhere. Returns the reading end of a
/// pipe that is its standard output: a line on it is how it says that it is ready, and an end without one that it is not.
pub fn spawn_detached(mut command: Command, log: File) -> Result<std::io::PipeReader, HostError> {
    let (reader, writer) = std::io::pipe().map_err(error::call("make a pipe"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(log).current_dir("/");
    // SAFETY: between fork and exec the closure only makes system calls that are safe there (setsid, fork, _exit).
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            match libc::fork() {
                -1 => Err(std::io::Error::last_os_error()),
                0 => {
                    // Whoever called us may have had them blocked, and they would stay so over exec.
                    let mut none: libc::sigset_t = std::mem::zeroed();
                    libc::sigemptyset(&raw mut none);
                    libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                    Ok(())
                }
                _ => libc::_exit(0),
            }
        });
    }
    let mut intermediate = command.spawn().map_err(error::call("start the manager"))?;
    // It has ended already; without this it would remain as a zombie of the program to come.
    let _ = intermediate.wait();
    Ok(reader)
}

/// Points standard output where standard error goes, and so closes the pipe of [`spawn_detached`].
pub fn close_ready_pipe() {
    // Failure leaves the pipe open, which only keeps a waiting reader from seeing its end.
    let _ = rustix::stdio::dup2_stdout(rustix::stdio::stderr());
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn the_program_runs_and_is_not_our_child() {
        let dir = tempfile::tempdir().unwrap();
        let log = File::create(dir.path().join("log")).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.05; cut -d' ' -f4 /proc/$$/stat; echo oops >&2"]);
        let mut text = String::new();
        spawn_detached(command, log).unwrap().read_to_string(&mut text).unwrap();
        assert_ne!(text.trim().parse::<u32>().unwrap(), std::process::id());
        // The reader has seen the end of the pipe, so the program has ended or is about to write to its log no more.
        while std::fs::read_to_string(dir.path().join("log")).unwrap().is_empty() {
            std::thread::yield_now();
        }
    }
}
