//! Where memory is to be, and where it is, on whatever nodes this machine has. What needs several
//! is tested in guests.

use super::stage::{Stage, wait_for};
use numaestro_abi::control::{AppStatus, Options, Reply, Request, Status};
use numaestro_host::numa;
use numaestro_skip::skip;
use std::process::{Child, Command};

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn look(stage: &Stage) -> Status {
    match stage.connect().ask(&Request::Memory).unwrap() {
        Reply::Status(status) => *status,
        other => panic!("no status: {other:?}"),
    }
}

fn of(status: Status, app: u64) -> AppStatus {
    status.apps.into_iter().find(|entry| entry.app == app).unwrap()
}

#[test]
fn who_asks_is_told_where_everything_is_now() {
    let stage = Stage::new("unmanaged = false\n");
    let nodes = numa::node_memory().unwrap();
    let empty = look(&stage);
    assert_eq!(
        empty.nodes.iter().map(|node| node.total).sum::<u64>(),
        nodes.iter().map(|node| node.total).sum::<u64>()
    );
    assert!(empty.nodes.iter().all(|node| node.free <= node.total));
    assert!(stage.status().nodes.is_empty(), "the usual picture looks at nothing");
    let program = Program(Command::new("sleep").arg("1000").spawn().unwrap());
    let adopt = Request::Adopt { pid: program.0.id(), options: Options::default(), force: false };
    assert_eq!(stage.connect().ask(&adopt).unwrap(), Reply::Done);
    let app = stage.status().apps[0].app;
    let memory = of(look(&stage), app).memory.expect("it has been looked at");
    assert_eq!(memory.policy, "first-touch");
    assert!(memory.bytes.iter().map(|on| on.count).sum::<u64>() > 0 && !memory.moving, "{memory:?}");
    assert_eq!(memory.threads.iter().map(|on| on.count).sum::<u64>(), 1);
    // The latest look stays in the usual picture.
    assert!(stage.app(app).unwrap().memory.is_some_and(|seen| seen.bytes == memory.bytes));
}

#[test]
fn many_who_ask_at_once_are_all_answered() {
    let stage = Stage::new("unmanaged = false\n");
    let mut connections: Vec<_> = (0..8).map(|_| stage.connect()).collect();
    for connection in &mut connections[..4] {
        assert!(matches!(connection.ask(&Request::Memory).unwrap(), Reply::Status(_)));
    }
    // One that is gone before its answer harms nobody.
    drop(connections);
    assert!(!look(&stage).nodes.is_empty());
}

#[test]
fn a_run_is_told_its_home_and_keeps_it_when_the_manager_is_killed() {
    if let Err(why) = numa::memory_policy_permitted() {
        skip!("no memory policies: {why}");
    }
    let mut stage = Stage::new("unmanaged = false\npolicy = \"HB-Con\"\n");
    let mut client = stage.client();
    let answer = client.run(&Options { max: Some(1), ..Options::default() });
    let Reply::Run { app, memory: Some(told), .. } = answer else { panic!("{answer:?}") };
    let home: u32 = told.strip_prefix("prefer=static:").expect("a preference").parse().unwrap();
    assert_eq!(client.hello(1), app);
    let seen = of(look(&stage), app).memory.unwrap();
    assert_eq!((seen.policy.as_str(), seen.home, seen.wanted), ("home", Some(home), home.to_string()));
    let saved = stage.dir().join("state.json");
    wait_for("the home to be saved", || {
        let text = std::fs::read_to_string(&saved).ok()?;
        text.contains(&format!("\"home\":{home}")).then_some(())
    });
    stage.kill_manager();
    stage.start();
    let seen = wait_for("it to be at home again", || of(look(&stage), app).memory.filter(|seen| seen.home.is_some()));
    assert_eq!(seen.home, Some(home));
    // Without a policy that places pages nothing is said at the start, and what was said is taken
    // back.
    let set = Request::PolicySet { policy: "equi".to_owned() };
    assert_eq!(stage.connect().ask(&set).unwrap(), Reply::Done);
    let after = wait_for("first touch", || of(look(&stage), app).memory.filter(|seen| seen.policy == "first-touch"));
    assert!(!after.moving);
    let answer = stage.client().run(&Options { max: Some(1), ..Options::default() });
    assert!(matches!(answer, Reply::Run { memory: None, .. }), "{answer:?}");
}
