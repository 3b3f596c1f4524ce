//! A process id that is used again. A connection of a process that has ended is kept by somebody
//! else, and the number is another program's by now: what is said there counts for nothing.

use std::process::Command;

use numaestro_abi::control::{Options, Reply};
use numaestro_host::own_uid;
use numaestro_skip::skip;

use crate::stage::{Client, Stage, example};
use crate::users::{ALICE, BOB, of, system, system_under};

/// Processes that end and leave their connections. Others on the machine take some of the numbers.
const KEPT: usize = 50;

/// Words that begin a command on a kernel without `SO_PEERPIDFD`, as those before Linux 6.5.
const OLD_KERNEL: &str = "
import ctypes, os, struct, sys
line = lambda code, jt, jf, k: struct.pack('HBBI', code, jt, jf, k)
getsockopt = {'x86_64': 55, 'aarch64': 209}[os.uname().machine]
filter = b''.join([
    line(0x20, 0, 0, 0), line(0x15, 0, 3, getsockopt),
    line(0x20, 0, 0, 32), line(0x15, 0, 1, 77), line(0x06, 0, 0, 0x00050000 | 92),
    line(0x06, 0, 0, 0x7fff0000)])
buffer = ctypes.create_string_buffer(filter)
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(filter) // 8, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
";

/// A manager on such a kernel; `None` where there is no Python.
fn on_an_old_kernel() -> Option<Stage> {
    let works = Command::new("python3").args(["-c", OLD_KERNEL, "/bin/true"]).status();
    works.ok().filter(std::process::ExitStatus::success)?;
    let mut manager = Command::new("python3");
    manager.args(["-c", OLD_KERNEL]).arg(example("manager"));
    system_under(manager, "")
}

/// A program of this user that has one of these numbers; `None` where nobody can choose it.
fn successor(stage: &Stage, user: u32, numbers: &mut Vec<u32>) -> Option<Client> {
    while let Some(number) = numbers.pop() {
        std::fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).ok()?;
        let mut client = of(stage, user);
        if client.pid() == number {
            return Some(client);
        }
        client.kill();
    }
    None
}

fn kept_connections_count_for_nothing(stage: &Stage) {
    let mut bob = of(stage, BOB);
    let mut numbers: Vec<u32> =
        bob.say(&format!("keep {KEPT}")).split(' ').map(|number| number.parse().unwrap()).collect();
    for user in [ALICE, BOB] {
        let Some(mut victim) = successor(stage, user, &mut numbers) else {
            skip!("nobody can choose the next process id here");
        };
        let app = victim.hello(8);
        let before = stage.app(app).unwrap();
        let answer = bob.say(&format!("hello-over {}", victim.pid()));
        assert!(answer.starts_with("refused"), "a page of another process: {answer}");
        let after = stage.app(app).unwrap();
        assert_eq!((after.pid, after.request), (before.pid, before.request));
    }
    // He is served in his own name.
    assert!(bob.hello(1) > 0);
}

#[test]
fn a_kept_connection_is_not_its_successors() {
    let Some(stage) = system("") else { skip!("only root can be several users") };
    kept_connections_count_for_nothing(&stage);
}

#[test]
fn a_kept_connection_is_not_its_successors_on_an_old_kernel() {
    if own_uid() != 0 {
        skip!("only root can be several users");
    }
    let Some(stage) = on_an_old_kernel() else { skip!("no Python, or no filter of system calls") };
    kept_connections_count_for_nothing(&stage);
    // Programs come, whether they have just begun or run for long, and say what they do.
    let mut alice = of(&stage, ALICE);
    let app = alice.hello(8);
    assert!(stage.adopts(&mut alice, app).epoch[1] > 0);
    assert!(matches!(of(&stage, BOB).run(&Options::default()), Reply::Run { .. }));
}
