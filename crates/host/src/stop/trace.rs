//! The system's calls for taking, stopping and letting go of one thread.

use std::io;

/// `PTRACE_EVENT_STOP` in the upper byte of a stop's status: a stop we asked for, or one of the
/// whole process.
const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

/// The state of a thread that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It still runs, or is in the kernel.
    Running,
    /// It is stopped; this signal (0: none) was about to be delivered and has to be given back when
    /// it is let go.
    Stopped(i32),
    /// It has died and is to be buried.
    Dead,
    /// It is none of ours (any more).
    Gone,
}

fn request(request: libc::c_uint, tid: u32, data: usize) -> io::Result<()> {
    let pid = tid.cast_signed();
    // SAFETY: none of the requests used here reads or writes memory of ours: address 0, and a
    // number as data.
    let result = unsafe { libc::ptrace(request, pid, std::ptr::null_mut::<libc::c_void>(), data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes thread `tid` without stopping it. No option is set: above all not `PTRACE_O_EXITKILL`,
/// which would end it with us.
pub(super) fn seize(tid: u32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0)
}

/// Lets it stop before its next instruction outside of the kernel.
pub(super) fn interrupt(tid: u32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0)
}

/// Lets go of a stopped thread, with the signal it was about to get.
pub(super) fn detach(tid: u32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, usize::try_from(signal).unwrap_or(0))
}

/// Asks without consuming: a signal that a thread was about to get is lost if its tracer dies after
/// the stop was consumed, and only then.
pub(super) fn look(tid: u32) -> Seen {
    let options = libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all bits zero is a valid siginfo, and it is valid for writing.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        (libc::waitid(libc::P_PID, tid, &raw mut info, options), info)
    };
    if result != 0 {
        return Seen::Gone;
    }
    // SAFETY: waitid fills in the fields of a child's change, or leaves zeros.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    match info.si_code {
        _ if pid == 0 => Seen::Running,
        libc::CLD_TRAPPED | libc::CLD_STOPPED if status >> 8 == EVENT_STOP => Seen::Stopped(0),
        libc::CLD_TRAPPED if status >> 8 == 0 => Seen::Stopped(status & 0x7f),
        libc::CLD_TRAPPED | libc::CLD_STOPPED => Seen::Stopped(0),
        _ => Seen::Dead,
    }
}

/// Buries the thread if it has died; its real parent gets it then. Says whether nothing is left of
/// it for us.
pub(super) fn bury(tid: u32) -> bool {
    match look(tid) {
        Seen::Running | Seen::Stopped(_) => false,
        Seen::Gone => true,
        Seen::Dead => {
            let options = libc::WEXITED | libc::__WALL | libc::WNOHANG;
            // SAFETY: all bits zero is a valid siginfo, and it is valid for writing.
            unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, tid, &raw mut info, options);
            }
            true
        }
    }
}

/// Sleeps until a stop or a death is reported to the calling thread, or for `ns`. The report is a
/// `SIGCHLD`, which must be blocked; where another thread of this process has not blocked it, it
/// may be lost, and the time has to pass.
pub(super) fn sleep_until_reported(ns: u64) {
    let limit =
        libc::timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() };
    // SAFETY: set and time are valid for the call; no information about the signal is asked for.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const limit);
    }
}

/// Registers of a stopped thread could not be put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It runs a 32-bit program; such programs' calls have other numbers.
    Narrow,
    /// It is gone.
    Gone,
}

/// If the stop has interrupted one of the calls that would tell the program, lets the kernel begin
/// that call again instead.
#[cfg(target_arch = "x86_64")]
pub(super) fn put_right(tid: u32) -> Result<(), Wrong> {
    /// `ERESTARTNOHAND` of the kernel: begin again, unless a handler is about to run; then it is
    /// `EINTR` after all, as without us.
    const BEGIN_AGAIN: i64 = -514;
    /// The code segment of 64-bit programs.
    const WIDE: u64 = 0x33;
    let pid = tid.cast_signed();
    // SAFETY: all bits zero is a valid set of registers, and it is valid for writing.
    let (result, registers) = unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        let result = libc::ptrace(libc::PTRACE_GETREGS, pid, std::ptr::null_mut::<libc::c_void>(), &raw mut registers);
        (result, registers)
    };
    if result == -1 {
        return Err(Wrong::Gone);
    }
    if registers.cs != WIDE {
        return Err(Wrong::Narrow);
    }
    let interrupted = registers.rax.cast_signed() == -i64::from(libc::EINTR);
    if interrupted && super::calls::is_told(registers.orig_rax.cast_signed()) {
        let offset = std::mem::offset_of!(libc::user_regs_struct, rax);
        // SAFETY: address and data are numbers for this request: the place among the registers, and
        // the value.
        unsafe { libc::ptrace(libc::PTRACE_POKEUSER, pid, offset, BEGIN_AGAIN) };
    }
    Ok(())
}

/// Never reached: [`super::rung`] refuses other architectures.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn put_right(_tid: u32) -> Result<(), Wrong> {
    Err(Wrong::Narrow)
}
