//! What the programs do that are stopped. `play` is no test, so the harness ignores it: started
//! with a role, it becomes that program and never returns to the harness.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The variables that hold role and argument.
pub const ROLE: &str = "STOP_TEST_ROLE";
pub const ARGUMENT: &str = "STOP_TEST_ARGUMENT";

#[test]
#[ignore = "a program that the other tests start"]
fn play() {
    let role = std::env::var(ROLE).expect("the role that it is started with");
    let argument = std::env::var(ARGUMENT).unwrap_or_default();
    let number = argument.parse().unwrap_or(0);
    match role.as_str() {
        "spin" => spin(number),
        "waits" => crate::waits::all(argument == "children"),
        "epoll" => epoll(number),
        "count" => count(),
        "threads" => threads(number),
        "forks" => forks(number),
        "execs" => execs(number),
        "family" => family(number),
        "vfork" => vfork(),
        "transfers" => crate::transfers::play(),
        "manager" => crate::manager::play(),
        "debugger" => debugger(number),
        other => panic!("{other}"),
    }
}

/// What the test is told.
pub fn say(what: &str) {
    println!("says: {what}");
}

fn forever() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn spin(threads: u32) -> ! {
    for _ in 0..threads {
        std::thread::spawn(|| forever());
    }
    say("ready");
    forever()
}

fn epoll(milliseconds: u32) -> ! {
    std::thread::spawn(std::thread::park);
    // SAFETY: an empty epoll instance, and room for one event.
    let found = unsafe {
        let instance = libc::epoll_create1(0);
        say("ready");
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        libc::epoll_wait(instance, &raw mut event, 1, milliseconds.cast_signed())
    };
    // Long enough to be caught, and not for ever.
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(5) {}
    say(&format!("{found} events"));
    forever()
}

static COUNTED: AtomicUsize = AtomicUsize::new(0);
static ENOUGH: AtomicBool = AtomicBool::new(false);

extern "C" fn counts(signal: libc::c_int) {
    if signal == libc::SIGTERM {
        ENOUGH.store(true, Ordering::SeqCst);
    } else {
        COUNTED.fetch_add(1, Ordering::SeqCst);
    }
}

fn count() -> ! {
    // SAFETY: the handler only touches atomics.
    unsafe {
        libc::signal(libc::SIGRTMIN(), counts as *const () as libc::sighandler_t);
        libc::signal(libc::SIGTERM, counts as *const () as libc::sighandler_t);
    }
    say("ready");
    while !ENOUGH.load(Ordering::SeqCst) {
        std::hint::spin_loop();
    }
    // Those that came before are handled by now, or within a moment by the harness's thread.
    std::thread::sleep(Duration::from_millis(50));
    say(&COUNTED.load(Ordering::SeqCst).to_string());
    std::process::exit(0)
}

fn threads(rounds: u32) -> ! {
    say("ready");
    let mut sum = 0_u64;
    for round in 0..rounds {
        let made: Vec<_> = (0..3_u64).map(|i| std::thread::spawn(move || (0..500).fold(i, |a, b| a ^ b))).collect();
        sum = sum.wrapping_add(made.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>() + u64::from(round));
    }
    std::process::exit(if sum > 0 { 3 } else { 1 })
}

/// A child that runs `then` and ends with its answer; it dies with its parent.
fn child(flags: libc::c_int, then: impl FnOnce() -> i32) -> i32 {
    // SAFETY: without shared memory this is fork, and the child only makes system calls and
    // computes.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) } as i32;
    assert!(pid >= 0);
    if pid == 0 {
        // SAFETY: system calls without memory.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::_exit(then())
        }
    }
    pid
}

fn exit_of(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: valid for writing.
    let got = unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(got, pid, "{}", std::io::Error::last_os_error());
    assert!(libc::WIFEXITED(status));
    libc::WEXITSTATUS(status)
}

fn forks(rounds: u32) -> ! {
    say("ready");
    for round in 0..rounds {
        let wanted = (round % 100).cast_signed();
        assert_eq!(exit_of(child(0, || wanted)), wanted);
    }
    std::process::exit(5)
}

/// Programs that one becomes after another.
const EXECS: u32 = 120;

fn execs(left: u32) -> ! {
    if left == EXECS {
        say("ready");
    }
    if left == 0 {
        std::process::exit(7);
    }
    for _ in 0..3 {
        std::thread::spawn(|| forever());
    }
    let next = (left - 1).to_string();
    // From another thread than the first: the kernel replaces that one too.
    let become_next = move || {
        use std::os::unix::process::CommandExt;
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let refused = command.args(std::env::args().skip(1)).env(ARGUMENT, next).exec();
        eprintln!("{refused}");
        std::process::exit(1)
    };
    if left.is_multiple_of(2) { std::thread::spawn(become_next).join().unwrap() } else { become_next() }
}

fn family(children: u32) -> ! {
    let pids: Vec<String> = (0..children).map(|_| child(0, || forever()).to_string()).collect();
    say("ready");
    say(&pids.join(" "));
    forever()
}

fn vfork() -> ! {
    say("ready");
    for round in 0..30 {
        let wait = || {
            std::thread::sleep(Duration::from_millis(10));
            round
        };
        assert_eq!(exit_of(child(libc::CLONE_VFORK, wait)), round);
    }
    std::process::exit(0)
}

fn debugger(tid: u32) -> ! {
    // SAFETY: numbers only.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, tid.cast_signed(), 0, 0) };
    say(if result == 0 { "ready" } else { "refused" });
    loop {
        std::thread::park();
    }
}
