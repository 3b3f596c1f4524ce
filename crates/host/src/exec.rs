//! Becomes another program: hands on unchanged the C strings that this process was given, and makes
//! the one call that replaces it.

use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStringExt;

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The arguments as the C runtime passes them to `main`; a negative `count` means none.
///
/// # Safety
/// `strings` must point to `count` valid C strings.
pub unsafe fn arguments(count: c_int, strings: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: promised by the caller.
    (0..count).map(|i| OsString::from_vec(unsafe { CStr::from_ptr(*strings.add(i)) }.to_bytes().to_vec())).collect()
}

/// The environment exactly as it was given, entries without `=` and duplicates included.
pub fn environment() -> Vec<CString> {
    let mut all = Vec::new();
    // SAFETY: `environ` is null or a null-terminated array of C strings. Changing it is unsafe
    // (`set_var`), and code that does has promised that nobody reads it meanwhile.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            all.push(CStr::from_ptr(*next).to_owned());
            next = next.add(1);
        }
    }
    all
}

/// Replaces this process; returns only if that failed. Signal mask, dispositions and descriptors
/// stay as they are.
///
/// The bare answer of the system, because `ENOEXEC` is for the caller to act on, not to print.
pub fn execute(path: &CStr, arguments: &[CString], environment: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const c_char> {
        strings.iter().map(|s| s.as_ptr()).chain(std::iter::once(std::ptr::null())).collect()
    };
    let (argv, envp) = (pointers(arguments), pointers(environment));
    // SAFETY: both arrays are null-terminated and point to strings that outlive the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn arguments_are_taken_byte_by_byte() {
        let strings = [c"one".as_ptr(), c"".as_ptr(), c"\xff\xfe".as_ptr()];
        // SAFETY: as many valid strings as are announced.
        let taken = unsafe { arguments(3, strings.as_ptr()) };
        assert_eq!(taken.iter().map(|word| word.as_bytes()).collect::<Vec<_>>(), [b"one".as_slice(), b"", b"\xff\xfe"]);
        // SAFETY: no string is announced.
        assert!(unsafe { arguments(-1, std::ptr::null()) }.is_empty());
    }

    #[test]
    fn the_environment_holds_every_variable() {
        let all = environment();
        assert!(std::env::vars_os().count() > 0);
        for (name, value) in std::env::vars_os() {
            let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
            assert!(all.iter().any(|found| found.to_bytes() == entry), "{}", name.display());
        }
    }

    #[test]
    fn a_refusal_is_returned() {
        let refusal = execute(c"/proc/self/status", &[c"status".to_owned()], &[]);
        assert_eq!(refusal.raw_os_error(), Some(libc::EACCES));
        assert_eq!(execute(c"/proc/none", &[], &[]).raw_os_error(), Some(libc::ENOENT));
    }
}
