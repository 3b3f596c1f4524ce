//! Decides from `/proc/PID/task/TID/syscall` whether a thread may be stopped in its system call: a
//! program could see some calls interrupted (signal(7)).
//!
//! The kernel restarts most calls by itself, with the time that is left. The rest fails with
//! `EINTR`. Of these,
//! * a call without a time limit can be begun again without any difference ([`is_told`]);
//! * a call with one would wait the whole time again, after every turn: it is left asleep
//!   ([`Sleep::Leave`]).
//!
//! A call that moves much may have moved a part when it is interrupted; then it returns that part,
//! although nobody had a signal to handle. It is left asleep too ([`Sleep::LeaveUnlessDeep`]).
//!
//! If a call with a limit begins between the look and the stop, it is begun again, and waits a few
//! microseconds too long. If one that moves much falls asleep there, it returns a part.

/// `io_pgetevents` on x86-64; the C library's headers lack it.
#[cfg(target_arch = "x86_64")]
const IO_PGETEVENTS: i64 = 333;

/// The treatment of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleep {
    /// Stop it.
    Stop,
    /// Stop it unless this descriptor is a socket with a time limit for receiving.
    Unless(i32),
    /// It may have done a part of its work: leave it, unless its sleep is one that nothing
    /// interrupts; then it stops when it has done all.
    LeaveUnlessDeep,
    /// It sleeps with a time limit that would begin anew: leave it.
    Leave,
    /// It is becoming another program: taking it now could cost that one its set-user-ID rights.
    /// Look again.
    Becoming,
}

/// Decides by the line of `/proc/PID/task/TID/syscall`: `running`, or the number of the call and
/// its arguments. A thread with any other line is stopped: the kernel may one day say something
/// else there, and stopping a thread that does not sleep does no harm.
pub(super) fn decide(line: &str) -> Sleep {
    let mut words = line.split_ascii_whitespace();
    let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else { return Sleep::Stop };
    let mut arguments = [0_u64; 6];
    for (argument, word) in arguments.iter_mut().zip(words) {
        *argument = word.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
    }
    sleep_in(number, &arguments)
}

#[cfg(target_arch = "x86_64")]
fn sleep_in(number: i64, arguments: &[u64; 6]) -> Sleep {
    /// `IORING_ENTER_EXT_ARG`: the argument may hold a time limit.
    const RING_LIMIT: u64 = 1 << 3;
    /// `MSG_WAITALL`.
    const WHOLE: u64 = libc::MSG_WAITALL as u64;
    // A limit by number of milliseconds is negative if there is none; one by address is null.
    let by_number = |limit: u64| if (limit as u32).cast_signed() < 0 { Sleep::Stop } else { Sleep::Leave };
    let by_address = |limit: u64| if limit == 0 { Sleep::Stop } else { Sleep::Leave };
    let descriptor = (arguments[0] as u32).cast_signed();
    match number {
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => by_number(arguments[3]),
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => by_address(arguments[3]),
        libc::SYS_rt_sigtimedwait => by_address(arguments[2]),
        libc::SYS_io_getevents | IO_PGETEVENTS => by_address(arguments[4]),
        libc::SYS_io_uring_enter if arguments[3] & RING_LIMIT != 0 => Sleep::Leave,
        libc::SYS_recvfrom if arguments[3] & WHOLE != 0 => Sleep::LeaveUnlessDeep,
        libc::SYS_recvmsg if arguments[2] & WHOLE != 0 => Sleep::LeaveUnlessDeep,
        libc::SYS_execve | libc::SYS_execveat => Sleep::Becoming,
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_accept
        | libc::SYS_accept4 => Sleep::Unless(descriptor),
        // A time limit for sending does not matter then. `recvmmsg` waits for all messages.
        libc::SYS_recvmmsg
        | libc::SYS_write
        | libc::SYS_writev
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_sendmmsg
        | libc::SYS_connect => Sleep::LeaveUnlessDeep,
        _ => Sleep::Stop,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn sleep_in(_number: i64, _arguments: &[u64; 6]) -> Sleep {
    Sleep::Stop
}

/// A program would see this call fail with `EINTR`, and it may be begun again: it has done nothing
/// yet when it fails so. (Not `close`, for one.)
#[cfg(target_arch = "x86_64")]
pub(super) fn is_told(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_io_getevents
            | IO_PGETEVENTS
            | libc::SYS_io_uring_enter
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_ppoll
            | libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_recvmmsg
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendmmsg
            | libc::SYS_connect
    )
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn line(number: i64, arguments: [u64; 6]) -> String {
        let words: Vec<String> = arguments.iter().map(|word| format!("{word:#x}")).collect();
        format!("{number} {} 0x7ffd0 0x7f0\n", words.join(" "))
    }

    #[test]
    fn only_limits_that_would_begin_anew_are_left_asleep() {
        assert_eq!(decide("running\n"), Sleep::Stop);
        assert_eq!(decide("-1 0x7ffd0 0x7f0\n"), Sleep::Stop);
        assert_eq!(decide(""), Sleep::Stop);
        assert_eq!(decide(&line(libc::SYS_futex, [1, 0, 0, 9, 0, 0])), Sleep::Stop);
        assert_eq!(decide(&line(libc::SYS_poll, [1, 1, 100, 0, 0, 0])), Sleep::Stop);
        assert_eq!(decide(&line(libc::SYS_epoll_wait, [3, 1, 1, u64::from(u32::MAX), 0, 0])), Sleep::Stop);
        assert_eq!(decide(&line(libc::SYS_epoll_wait, [3, 1, 1, u64::MAX, 0, 0])), Sleep::Stop);
        assert_eq!(decide(&line(libc::SYS_epoll_wait, [3, 1, 1, 1000, 0, 0])), Sleep::Leave);
        assert_eq!(decide(&line(libc::SYS_semtimedop, [3, 1, 1, 0, 0, 0])), Sleep::Stop);
        assert_eq!(decide(&line(libc::SYS_semtimedop, [3, 1, 1, 0x7ff0, 0, 0])), Sleep::Leave);
        assert_eq!(decide(&line(libc::SYS_rt_sigtimedwait, [1, 1, 0x7ff0, 8, 0, 0])), Sleep::Leave);
    }

    #[test]
    fn sockets_are_asked_for_their_limits() {
        assert_eq!(decide(&line(libc::SYS_recvfrom, [7, 0, 0, 0, 0, 0])), Sleep::Unless(7));
        assert_eq!(decide(&line(libc::SYS_read, [7, 0, 0, 0, 0, 0])), Sleep::Unless(7));
    }

    #[test]
    fn what_may_have_been_moved_in_part_is_left_asleep() {
        for number in [libc::SYS_write, libc::SYS_writev, libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_recvmmsg] {
            assert_eq!(decide(&line(number, [8, 0x7ff0, 65536, 0, 0, 0])), Sleep::LeaveUnlessDeep, "call {number}");
        }
        assert_eq!(decide(&line(libc::SYS_recvfrom, [7, 0x7ff0, 100, 0x100, 0, 0])), Sleep::LeaveUnlessDeep);
        assert_eq!(decide(&line(libc::SYS_recvmsg, [7, 0x7ff0, 0x100, 0, 0, 0])), Sleep::LeaveUnlessDeep);
    }

    #[test]
    fn what_could_begin_anew_unseen_can_be_put_right() {
        // A call that is looked at before the stop must also be mended if it begins after the look.
        for number in 0..500 {
            let sleep = sleep_in(number, &[1; 6]);
            if !matches!(sleep, Sleep::Stop | Sleep::Becoming) {
                assert!(is_told(number), "call {number}");
            }
        }
        assert!(!is_told(libc::SYS_close) && !is_told(libc::SYS_nanosleep) && !is_told(-1));
    }
}
