//! Becoming the user's program: the C strings of the process, and the one call that replaces it.
//!
//! The only file of the command with `unsafe`: raw C strings in, raw C strings out. It must not decide anything.
#![allow(unsafe_code)]

#[cfg(not(test))]
use std::ffi::OsString;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
#[cfg(not(test))]
use std::os::unix::ffi::OsStringExt;

unsafe extern "C" {
    static environ: *const *const libc::c_char;
}

/// The arguments as the C runtime got them.
///
/// # Safety
/// `strings` must point to `count` valid C strings.
#[cfg(not(test))]
pub unsafe fn arguments(count: libc::c_int, strings: *const *const libc::c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: promised by the caller.
    (0..count).map(|i| OsString::from_vec(unsafe { CStr::from_ptr(*strings.add(i)) }.to_bytes().to_vec())).collect()
}

/// The environment exactly as it was given, entries without `=` and duplicates included.
pub fn environment() -> Vec<CString> {
    let mut all = Vec::new();
    // SAFETY: `environ` is null or a null-terminated array of C strings; this process has one thread here and changes
    // its own environment nowhere.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            all.push(CStr::from_ptr(*next).to_owned());
            next = next.add(1);
        }
    }
    all
}

/// Puts close-on-exec `/dev/null`s on those of the descriptors 0, 1, 2 that are closed, so that no socket of ours lands
/// there and no message is written into one; the program that is executed finds them closed again.
#[cfg_attr(test, allow(dead_code))]
pub fn fill_standard_descriptors() {
    while let Ok(file) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        if file.as_raw_fd() > 2 {
            break;
        }
        let _ = file.into_raw_fd();
    }
}

/// Replaces this process; returns only if that failed. Signal mask, dispositions and descriptors stay as they are.
pub fn execute(path: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings.iter().map(|s| s.as_ptr()).chain(std::iter::once(std::ptr::null())).collect()
    };
    let (argv, envp) = (pointers(arguments), pointers(environment));
    // SAFETY: both arrays are null-terminated and point to strings that outlive the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

/// Closes every descriptor beyond the standard ones. The manager outlives the command that starts it: with what it would
/// inherit, it would keep pipes open and locks held that are not its own.
pub fn close_inherited_descriptors() {
    // SAFETY: called before anything of ours is open. Kernels before 5.9 refuse, and then nothing is closed.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Sets `SIGPIPE` to ignored; for the manager, which must not die of a program that hung up.
pub fn ignore_broken_pipes() {
    // SAFETY: sets a disposition; no handler runs.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
