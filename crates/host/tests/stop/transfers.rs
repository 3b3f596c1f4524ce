//! Calls that have done a part of their work when they sleep: after a stop they return the whole of
//! it, as they would have.

use std::io::{Read, Write};

use crate::manager::Manager;
use crate::roles::say;
use crate::support::{Actor, pause, stop, turn};

/// More than a pipe holds.
const MANY: usize = 1 << 18;
/// Bytes that one call waits for; the last one comes late.
const FEW: usize = 4;

/// Writes to a full pipe and receives from a socket that has less than all; when told to, lets both
/// go on, and says what they return.
pub fn play() -> ! {
    let (mut pipe, mut stream) = ([0; 2], [0; 2]);
    // SAFETY: the arrays have room for two descriptors each, and three bytes are sent of four.
    unsafe {
        libc::pipe(pipe.as_mut_ptr());
        libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, stream.as_mut_ptr());
        libc::send(stream[1], c"abc".as_ptr().cast(), FEW - 1, 0);
    }
    let writer = std::thread::spawn(move || {
        let source = vec![0_u8; MANY];
        // SAFETY: the buffer is that long.
        unsafe { libc::write(pipe[1], source.as_ptr().cast(), MANY) }
    });
    let receiver = std::thread::spawn(move || {
        let mut place = [0_u8; FEW];
        // SAFETY: the buffer is that long.
        unsafe { libc::recv(stream[0], place.as_mut_ptr().cast(), FEW, libc::MSG_WAITALL) }
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    say("ready");
    let _ = std::io::stdin().read(&mut [0]);
    std::thread::spawn(move || {
        let mut sink = [0_u8; 4096];
        // SAFETY: the buffer is that long; one byte is sent.
        unsafe {
            libc::send(stream[1], c"d".as_ptr().cast(), 1, 0);
            while libc::read(pipe[0], sink.as_mut_ptr().cast(), sink.len()) > 0 {}
        }
    });
    say(&format!("{} {}", writer.join().unwrap(), receiver.join().unwrap()));
    std::process::exit(0)
}

#[test]
fn what_has_been_done_in_part_is_done_as_a_whole() {
    let _turn = turn();
    let mut actor = Actor::ready("transfers", "");
    let manager = Manager::start();
    pause(20);
    for _ in 0..5 {
        let tally = stop(&manager, &actor.alone());
        assert_eq!(tally.asleep, 2, "{tally:?}");
        pause(10);
        manager.resume(1);
    }
    actor.input().write_all(b"\n").unwrap();
    assert_eq!(actor.says(), format!("{MANY} {FEW}"));
}
