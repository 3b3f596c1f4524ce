//! Peers that do not behave: garbage, floods, slow readers, no descriptors.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Command;

use crate::stage::{Stage, example, wait_for};
use numaestro_abi::control::{Reply, Request};

const QUIET: &str = "unmanaged = false\n";

#[test]
fn garbage_on_both_sockets_costs_only_the_sender() {
    let stage = Stage::new(QUIET);
    let mut client = stage.client();
    for packets in [1, 2, 700] {
        client.say(&format!("garbage {packets}"));
    }
    for line in ["", "{}", "{\"ask\":\"run\"}", "[[[[", "\u{0}\u{1}", "{\"ask\":\"adopt\",\"pid\":-1}"] {
        let mut stream = UnixStream::connect(stage.dir().join("control")).unwrap();
        writeln!(stream, "{line}").unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        assert!(answer.contains("refused"), "{line}: {answer}");
    }
    assert!(client.hello(2) > 0);
}

#[test]
fn an_endless_line_is_cut_off() {
    let stage = Stage::new(QUIET);
    let mut stream = UnixStream::connect(stage.dir().join("control")).unwrap();
    let block = [b'x'; 4096];
    let mut sent = 0;
    // The manager closes; until that arrives here some more fits into the socket.
    while stream.write_all(&block).is_ok() {
        sent += block.len();
        assert!(sent < 64 << 20, "it reads for ever");
    }
    assert_eq!(stage.status().apps.len(), 0);
}

#[test]
fn a_flood_does_not_keep_others_out() {
    let stage = Stage::new(QUIET);
    let mut floods: Vec<_> = (0..4)
        .map(|_| {
            Command::new("sh")
                .args(["-c", "while :; do echo garbage 600; done | \"$0\" >/dev/null"])
                .arg(example("client"))
                .env("NUMAESTRO_DIR", stage.dir())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut client = stage.client();
    let app = client.hello(2);
    stage.adopts(&mut client, app);
    for flood in &mut floods {
        let pid = flood.id().to_string();
        // The shell's children end with their pipe.
        let _ = Command::new("sh")
            .args(["-c", &format!("for c in $(ps -o pid= --ppid {pid}); do kill -9 $c; done")])
            .status();
        let _ = flood.kill();
        let _ = flood.wait();
    }
}

#[test]
fn a_watcher_that_never_reads_is_no_burden() {
    let stage = Stage::new(QUIET);
    let mut deaf = stage.connect();
    deaf.send(&Request::Watch).unwrap();
    let mut keen = stage.connect();
    assert!(matches!(keen.ask(&Request::Watch).unwrap(), Reply::Status(_)));
    let mut client = stage.client();
    for _ in 0..300 {
        client.hello(2);
    }
    let told = wait_for("news", || match keen.receive().unwrap() {
        Some(Reply::Status(status)) if !status.apps.is_empty() => Some(status.apps.len()),
        _ => None,
    });
    assert_eq!(told, 1);
}

#[test]
fn without_descriptors_it_refuses_and_recovers() {
    let mut stage = Stage::empty(QUIET);
    let script = "ulimit -n 40; exec \"$0\" \"$@\"";
    stage.start_under(Command::new("sh").args(["-c", script]).arg(example("manager")));
    let crowd: Vec<UnixStream> =
        (0..200).filter_map(|_| UnixStream::connect(stage.dir().join("control")).ok()).collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(stage.manager.as_mut().unwrap().try_wait().unwrap().is_none(), "it died");
    drop(crowd);
    wait_for("its recovery", || {
        let mut client = stage.client();
        client.say("hello 2").starts_with("app ").then_some(())
    });
}

#[test]
fn nothing_wakes_it_when_nothing_happens() {
    // Without the watch over other load, which other tests and other users of the machine would set
    // off.
    let stage = Stage::new("unmanaged = false\nidle_exit_s = 600\n");
    let mut client = stage.client();
    client.hello(64);
    client.say("adopted");
    let pid = stage.manager.as_ref().unwrap().id();
    let switches = || -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        text.lines()
            .filter(|line| line.contains("ctxt_switches"))
            .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
            .sum()
    };
    // What has just happened is still being written down, so: some second without any wake-up.
    wait_for("a second without a wake-up", || {
        let before = switches();
        std::thread::sleep(std::time::Duration::from_secs(1));
        (switches() == before).then_some(())
    });
}
