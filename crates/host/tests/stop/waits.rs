//! A program that waits in every way there is and says what came out differently than it should.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::roles::say;

/// What every wait with a limit waits for.
const LIMIT: Duration = Duration::from_millis(30);
const LIMIT_MS: i32 = 30;
const ROUNDS: u32 = 10;

fn limit() -> libc::timespec {
    libc::timespec { tv_sec: 0, tv_nsec: LIMIT.subsec_nanos().into() }
}

fn limit_as_timeval() -> libc::timeval {
    libc::timeval { tv_sec: 0, tv_usec: LIMIT.subsec_micros().into() }
}

/// One way to wait: its name, whether it waits for the limit, what the call returns, and which
/// error it gives then.
struct Way {
    name: &'static str,
    limited: bool,
    returns: i64,
    error: i32,
    call: Box<dyn FnMut() -> i64 + Send>,
}

fn way(name: &'static str, returns: i64, error: i32, call: impl FnMut() -> i64 + Send + 'static) -> Way {
    Way { name, limited: true, returns, error, call: Box::new(call) }
}

fn partner(name: &'static str, returns: i64, call: impl FnMut() -> i64 + Send + 'static) -> Way {
    Way { name, limited: false, returns, error: 0, call: Box::new(call) }
}

/// Waits in all ways at once, and ends the program.
pub fn all(with_children: bool) -> ! {
    block_signals();
    let mut ways = descriptors();
    ways.extend(clocks());
    ways.extend(sockets());
    ways.extend(semaphores_and_signals());
    if with_children {
        // A thread that is left asleep may be woken by a signal that is ignored, such as that of
        // the end of a child: these can be left asleep.
        let asleep = ["epoll_wait", "recv with", "read with", "accept with", "send with", "semtimedop", "sigtimedwait"];
        ways.retain(|way| !way.limited || !asleep.iter().any(|name| way.name.starts_with(name)));
        ways.push(children());
    }
    let threads: Vec<_> = ways.into_iter().map(|way| std::thread::spawn(move || try_it(way))).collect();
    say("ready");
    for thread in threads {
        thread.join().unwrap();
    }
    say("done");
    std::process::exit(0)
}

fn try_it(mut way: Way) {
    for round in 0..ROUNDS {
        let begun = Instant::now();
        let result = (way.call)();
        let error = if result < 0 { std::io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 };
        if (result, error) != (way.returns, way.error) {
            say(&format!("{} in round {round}: {result} with error {error}", way.name));
        }
        if way.limited && begun.elapsed() + Duration::from_millis(2) < LIMIT {
            say(&format!("{} in round {round}: too early, after {:?}", way.name, begun.elapsed()));
        }
    }
}

/// `SIGUSR1` never comes, `SIGUSR2` is waited for, `SIGALRM` is for one thread that lets it
/// through.
fn block_signals() {
    // SAFETY: a signal set on the stack.
    unsafe {
        let set = set_of(&[libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM]);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: a signal set is plain memory that `sigemptyset` initialises.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Does something again and again until the program ends.
fn tick(mut what: impl FnMut() + Send + 'static) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(7));
            what();
        }
    });
}

static ALARMS: AtomicU32 = AtomicU32::new(0);

extern "C" fn alarm(_: i32) {
    ALARMS.fetch_add(1, Ordering::SeqCst);
}

// SAFETY of all the calls below: they get numbers and places on the stack that are valid for the
// length of the call.

fn clocks() -> Vec<Way> {
    vec![
        way("nanosleep", 0, 0, || unsafe { libc::nanosleep(&limit(), std::ptr::null_mut()).into() }),
        way("clock_nanosleep", 0, 0, || unsafe {
            let mut at = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at);
            at.tv_nsec += limit().tv_nsec;
            if at.tv_nsec >= 1_000_000_000 {
                (at.tv_sec, at.tv_nsec) = (at.tv_sec + 1, at.tv_nsec - 1_000_000_000);
            }
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut())
                .into()
        }),
        way("timerfd", 8, 0, || unsafe {
            let timer = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
            let mut setting: libc::itimerspec = std::mem::zeroed();
            setting.it_value = limit();
            libc::timerfd_settime(timer, 0, &raw const setting, std::ptr::null_mut());
            let mut expirations = 0_u64;
            let result = libc::read(timer, (&raw mut expirations).cast(), 8);
            libc::close(timer);
            if expirations == 1 { result as i64 } else { -7 }
        }),
        way("timer and sigsuspend", 1, 0, || unsafe {
            libc::signal(libc::SIGALRM, alarm as *const () as libc::sighandler_t);
            let before = ALARMS.load(Ordering::SeqCst);
            // To this thread, because others may not have blocked it.
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGALRM;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = std::mem::zeroed();
            libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
            let mut setting: libc::itimerspec = std::mem::zeroed();
            setting.it_value = limit();
            libc::timer_settime(timer, 0, &raw const setting, std::ptr::null_mut());
            // Lets the alarm through only while it waits, so that it cannot come before.
            let mut others: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(0, std::ptr::null(), &raw mut others);
            libc::sigdelset(&raw mut others, libc::SIGALRM);
            // It always ends with EINTR, but only by the alarm.
            libc::sigsuspend(&raw const others);
            libc::timer_delete(timer);
            i64::from(ALARMS.load(Ordering::SeqCst) - before)
        }),
    ]
}

fn descriptors() -> Vec<Way> {
    let none = unsafe { libc::eventfd(0, 0) };
    let counter = unsafe { libc::eventfd(0, libc::EFD_SEMAPHORE) };
    let mut pipe = [0; 2];
    unsafe {
        libc::pipe(pipe.as_mut_ptr());
        libc::fcntl(pipe[1], libc::F_SETFL, libc::O_NONBLOCK);
    }
    tick(move || unsafe {
        libc::write(counter, std::ptr::from_ref(&1_u64).cast(), 8);
        libc::write(pipe[1], c"x".as_ptr().cast(), 1);
    });
    let entry = move || libc::pollfd { fd: none, events: libc::POLLIN, revents: 0 };
    let watch = |fd: i32| unsafe {
        let instance = libc::epoll_create1(0);
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        libc::epoll_ctl(instance, libc::EPOLL_CTL_ADD, fd, &raw mut event);
        instance
    };
    let wait = |instance: i32, limit: i32| unsafe {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        i64::from(libc::epoll_wait(instance, &raw mut event, 1, limit))
    };
    let (silent, ticking) = (watch(none), watch(counter));
    vec![
        way("poll", 0, 0, move || unsafe { libc::poll(&mut entry(), 1, LIMIT_MS).into() }),
        way("ppoll", 0, 0, move || unsafe { libc::ppoll(&mut entry(), 1, &limit(), std::ptr::null()).into() }),
        way("select", 0, 0, || unsafe {
            let none = std::ptr::null_mut();
            libc::select(0, none, none, none, &mut limit_as_timeval()).into()
        }),
        way("pselect", 0, 0, || unsafe {
            let none = std::ptr::null_mut();
            libc::pselect(0, none, none, none, &limit(), std::ptr::null()).into()
        }),
        way("epoll_wait", 0, 0, move || wait(silent, LIMIT_MS)),
        partner("epoll_wait without limit", 1, move || {
            let found = wait(ticking, -1);
            let mut one = 0_u64;
            unsafe { libc::read(counter, (&raw mut one).cast(), 8) };
            found
        }),
        partner("read of a pipe", 1, move || unsafe {
            libc::read(pipe[0], std::ptr::from_mut(&mut 0_u8).cast(), 1) as i64
        }),
    ]
}

fn children() -> Way {
    partner("wait for a child", 1, || {
        let child = std::process::Command::new("sleep").arg("0.02").spawn();
        i64::from(child.unwrap().wait().is_ok_and(|status| status.success()))
    })
}

fn sockets() -> Vec<Way> {
    let pair = || unsafe {
        let mut ends = [0; 2];
        libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, ends.as_mut_ptr());
        ends
    };
    let limited = |fd: i32, option: i32| unsafe {
        let size = size_of::<libc::timeval>() as u32;
        libc::setsockopt(fd, libc::SOL_SOCKET, option, std::ptr::from_ref(&limit_as_timeval()).cast(), size);
        fd
    };
    let (silent, chatty, full) = (pair(), pair(), pair());
    limited(silent[0], libc::SO_RCVTIMEO);
    limited(full[0], libc::SO_SNDTIMEO);
    let listener = unsafe {
        let listener = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
        let mut nowhere: libc::sockaddr_un = std::mem::zeroed();
        nowhere.sun_family = libc::AF_UNIX as u16;
        // Two bytes of an address: the kernel finds a name of its own.
        libc::bind(listener, (&raw const nowhere).cast(), 2);
        libc::listen(listener, 1);
        limited(listener, libc::SO_RCVTIMEO)
    };
    unsafe { while libc::send(full[0], [0_u8; 4096].as_ptr().cast(), 4096, libc::MSG_DONTWAIT) > 0 {} }
    tick(move || unsafe {
        libc::send(chatty[1], c"x".as_ptr().cast(), 1, libc::MSG_DONTWAIT);
    });
    let byte = || (&raw mut *Box::leak(Box::new(0_u8))).cast::<libc::c_void>() as usize;
    let place = byte();
    vec![
        way("recv with a limit", -1, libc::EAGAIN, move || unsafe {
            libc::recv(silent[0], place as *mut libc::c_void, 1, 0) as i64
        }),
        way("read with a limit", -1, libc::EAGAIN, move || unsafe {
            libc::read(silent[0], place as *mut libc::c_void, 1) as i64
        }),
        way("accept with a limit", -1, libc::EAGAIN, move || unsafe {
            libc::accept(listener, std::ptr::null_mut(), std::ptr::null_mut()).into()
        }),
        way("send with a limit", -1, libc::EAGAIN, move || unsafe {
            libc::send(full[0], place as *const libc::c_void, 1, 0) as i64
        }),
        partner("recv without limit", 1, move || unsafe {
            libc::recv(chatty[0], place as *mut libc::c_void, 1, 0) as i64
        }),
    ]
}

fn semaphores_and_signals() -> Vec<Way> {
    let (silent, ticking) = unsafe {
        let make = || libc::semget(libc::IPC_PRIVATE, 1, libc::IPC_CREAT | 0o600);
        (make(), make())
    };
    let change = |semaphore: i32, by: i16| unsafe {
        libc::semop(semaphore, &mut libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 }, 1)
    };
    let receiver = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let known = receiver.clone();
    tick(move || {
        change(ticking, 1);
        let thread = known.load(Ordering::SeqCst);
        if thread != 0 {
            unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
        }
    });
    // The kernel keeps them until they are removed, and who uses them then is told: after the last
    // use here.
    let users = std::sync::Arc::new(AtomicU32::new(2 * ROUNDS));
    let done = move |users: &AtomicU32| {
        if users.fetch_sub(1, Ordering::SeqCst) == 1 {
            unsafe {
                libc::semctl(silent, 0, libc::IPC_RMID);
                libc::semctl(ticking, 0, libc::IPC_RMID);
            }
        }
    };
    let (first, second) = (users.clone(), users);
    vec![
        way("semtimedop", -1, libc::EAGAIN, move || unsafe {
            let mut down = libc::sembuf { sem_num: 0, sem_op: -1, sem_flg: 0 };
            let result = libc::syscall(libc::SYS_semtimedop, silent, &raw mut down, 1, std::ptr::from_ref(&limit()));
            let error = *libc::__errno_location();
            done(&first);
            *libc::__errno_location() = error;
            result
        }),
        partner("semop", 0, move || {
            let result = change(ticking, -1).into();
            let error = unsafe { *libc::__errno_location() };
            done(&second);
            unsafe { *libc::__errno_location() = error };
            result
        }),
        way("sigtimedwait", -1, libc::EAGAIN, || unsafe {
            libc::sigtimedwait(&set_of(&[libc::SIGUSR1]), std::ptr::null_mut(), &limit()).into()
        }),
        partner("sigwaitinfo", libc::SIGUSR2.into(), move || unsafe {
            receiver.store(libc::pthread_self(), Ordering::SeqCst);
            libc::sigwaitinfo(&set_of(&[libc::SIGUSR2]), std::ptr::null_mut()).into()
        }),
        way("sem_timedwait", -1, libc::ETIMEDOUT, || unsafe {
            let mut semaphore: libc::sem_t = std::mem::zeroed();
            libc::sem_init(&raw mut semaphore, 0, 0);
            let mut at = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut at);
            at.tv_nsec += limit().tv_nsec;
            if at.tv_nsec >= 1_000_000_000 {
                (at.tv_sec, at.tv_nsec) = (at.tv_sec + 1, at.tv_nsec - 1_000_000_000);
            }
            libc::sem_timedwait(&raw mut semaphore, &raw const at).into()
        }),
    ]
}
