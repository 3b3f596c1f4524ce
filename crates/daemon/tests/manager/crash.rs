//! Deaths: of programs, of the manager, of those who wait; and starts after them.

use std::process::Command;

use crate::stage::{Stage, example, wait_for};
use numaestro_abi::control::{Options, Reply, Request};

const QUIET: &str = "unmanaged = false\n";

#[test]
fn a_killed_manager_is_followed_by_one_that_knows_the_programs() {
    let mut stage = Stage::new(QUIET);
    let (mut first, mut second) = (stage.client(), stage.client());
    let (one, two) = (first.hello(64), second.hello(64));
    first.say("adopted");
    second.say("adopted");
    let before = first.page();
    wait_for("the state file", || {
        let text = std::fs::read_to_string(stage.dir().join("state.json")).ok()?;
        text.contains(&format!("\"app\":{two}")).then_some(())
    });
    stage.kill_manager();
    second.kill();
    stage.start();
    let seen = stage.app(one).expect("the living one is known");
    assert_eq!(seen.pid, first.pid());
    assert!(stage.app(two).is_none(), "the dead one is not");
    // It attaches again: same application, and decision numbers go on.
    let again = first.say(&format!("reattach 64 {}", before[3]));
    assert_eq!(again, format!("app {one}"));
    assert!(first.page()[0] > before[0]);
    let mut third = stage.client();
    assert!(third.hello(1) > two, "application numbers go on");
}

#[test]
fn whatever_is_left_in_the_directory_does_not_stop_the_start() {
    for (name, text) in [
        ("state.json", "{\"version\":1,\"app_next\":18446744073709551615,\"policy\":\"equi\",\"apps\":[]}"),
        ("state.json", "garbage \u{0}"),
        ("state.json", "{\"version\":99}"),
        ("attach", "a file where the socket was"),
        ("control", ""),
        ("lock", "old"),
        ("state.json.new", "half"),
    ] {
        let mut stage = Stage::empty(QUIET);
        std::fs::write(stage.dir().join(name), text).unwrap();
        stage.start();
        assert!(stage.client().hello(2) > 0);
    }
}

#[test]
fn a_program_that_dies_at_once_leaves_nothing() {
    let stage = Stage::new(QUIET);
    for _ in 0..20 {
        let mut client = stage.client();
        client.hello(64);
        client.kill();
    }
    wait_for("all to be forgotten", || stage.status().apps.is_empty().then_some(()));
    assert!(stage.status().pus.iter().all(|pu| pu.owner.is_none()));
}

#[test]
fn a_command_that_goes_away_leaves_the_queue() {
    let stage = Stage::new("unmanaged = false\npolicy = \"admission=fifo\"\n");
    let mut holder = stage.client();
    holder.hello(64);
    holder.say("adopted");
    let all = stage.processors();
    // Asks for more than is free, so it waits.
    let mut asking = stage.client();
    let answer = asking.run(&Options { min: Some(all), wait: Some(true), ..Options::default() });
    let Reply::Waiting { app, position: 1 } = answer else { panic!("expected to wait: {answer:?}") };
    assert_eq!(stage.status().queue, [app]);
    asking.say("hangup");
    wait_for("an empty queue", || stage.status().queue.is_empty().then_some(()));
    assert!(stage.app(app).is_none());
}

#[test]
fn who_waits_starts_when_there_is_room() {
    let stage = Stage::new("unmanaged = false\npolicy = \"admission=fifo\"\n");
    let mut holder = stage.client();
    holder.hello(64);
    holder.say("adopted");
    let wish = Options { min: Some(stage.processors()), wait: Some(true), ..Options::default() };
    let mut asking = stage.client();
    assert!(matches!(asking.run(&wish), Reply::Waiting { .. }));
    holder.kill();
    let answer: Reply = serde_json::from_str(&asking.say("next")).unwrap();
    assert!(matches!(answer, Reply::Run { count, .. } if count == stage.processors()), "{answer:?}");
}

#[test]
fn a_hundred_commands_start_one_manager() {
    let stage = Stage::empty(QUIET);
    let (dir, exe) = (stage.dir(), example("manager"));
    let handles: Vec<_> = (0..100)
        .map(|_| {
            let (dir, exe) = (dir.clone(), exe.clone());
            std::thread::spawn(move || {
                let mut connection = numaestro_daemon::ensure_running(&dir, &exe).unwrap();
                match connection.ask(&Request::Status).unwrap() {
                    Reply::Status(status) => status.pid,
                    other => panic!("no status: {other:?}"),
                }
            })
        })
        .collect();
    let pids: std::collections::BTreeSet<u32> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    assert_eq!(pids.len(), 1);
    let answer = stage.connect().ask(&Request::Stop).unwrap();
    assert!(matches!(&answer, Reply::Whole(whole) if whole.left.is_empty()), "{answer:?}");
    wait_for("its end", || (!dir.join("control").exists()).then_some(()));
}

#[test]
fn it_ends_by_itself_when_nobody_needs_it() {
    let mut stage = Stage::new("unmanaged = false\nidle_exit_s = 1\n");
    let mut client = stage.client();
    client.hello(2);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(stage.status().apps.len(), 1, "it lives while an application does");
    client.kill();
    let mut manager = stage.manager.take().unwrap();
    assert!(manager.wait().unwrap().success());
    assert!(!stage.dir().join("control").exists());
}

#[test]
fn a_second_manager_leaves_the_first_alone() {
    let stage = Stage::new(QUIET);
    let second = Command::new(example("manager")).arg("daemon").arg("--dir").arg(stage.dir()).output().unwrap();
    assert!(second.status.success());
    assert_eq!(stage.status().pid, stage.manager.as_ref().unwrap().id());
}
