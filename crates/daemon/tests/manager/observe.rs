//! What the manager finds out by itself: how much a program without a page can use, and that others
//! run who never asked.

use std::process::{Child, Command, ExitStatus};

use numaestro_abi::control::{AppName, Class, Options, Reply, Request};
use numaestro_skip::skip;

use crate::stage::{Stage, turn, wait_for};

/// Ends with the test.
struct Program(Child);

impl Program {
    fn shell(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).spawn().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SPIN: &str = "while :; do :; done";

fn adopt(stage: &Stage, pid: u32, options: Options) -> u64 {
    assert_eq!(stage.connect().ask(&Request::Adopt { pid, options, force: false }).unwrap(), Reply::Done);
    stage.status().apps.iter().find(|entry| entry.pid == pid).unwrap().app
}

#[test]
fn a_sequential_program_does_not_hold_what_another_wants() {
    let stage = Stage::new("unmanaged = false\n");
    let all = stage.processors();
    if all < 2 {
        skip!("one processor only");
    }
    let spinner = Program::shell(SPIN);
    let app = adopt(&stage, spinner.0.id(), Options::default());
    let alone = stage.app(app).unwrap();
    assert_eq!((alone.class, alone.request, alone.count), (Class::Fold, all, all), "alone it has everything");
    let mut wants = stage.busy();
    wants.hello(64);
    wants.say("adopted");
    let beside = stage.wait_app(app, "the look at its threads", |seen| seen.count == 1);
    assert_eq!(beside.request, all, "it may have a pool that sleeps");
    wait_for("the other one's part", || (wants.page()[1] == all - 1).then_some(()));
    wants.kill();
    stage.wait_app(app, "everything back", |seen| seen.count == all);
}

#[test]
fn a_program_without_regions_lends_while_it_sleeps() {
    let stage = Stage::new("unmanaged = false\n");
    let all = stage.processors();
    if all < 2 {
        skip!("one processor only");
    }
    let (mut pool, mut other) = (stage.client(), stage.busy());
    let app = pool.hello(all);
    other.hello(all);
    stage.wait_app(app, "the look at its time", |seen| seen.state == "blocked");
    wait_for("what it lends", || (other.page()[1] == all).then_some(()));
    // Nobody lacks anything now, and yet the manager must notice what follows.
    std::thread::sleep(std::time::Duration::from_millis(100));
    pool.say("child");
    stage.wait_app(app, "the look at its processes", |seen| seen.state == "running");
    wait_for("its part", || (other.page()[1] < all).then_some(()));
    pool.say("childless");
    stage.wait_app(app, "their end", |seen| seen.state == "blocked");
    pool.say("spin");
    pool.say("spin");
    stage.wait_app(app, "its work", |seen| seen.state == "running");
    wait_for("its part again", || (other.page()[1] < all).then_some(()));
}

#[test]
fn a_pool_lends_while_one_of_its_threads_works_and_is_whole_when_two_do() {
    let stage = Stage::new("unmanaged = false\n");
    let all = stage.processors();
    if all < 4 {
        skip!("fewer than four processors: half of them is one");
    }
    let (mut pool, mut other) = (stage.client(), stage.busy());
    pool.say("spin");
    let app = adopt(&stage, pool.pid(), Options::default());
    let borrower = other.hello(all);
    stage.wait_app(app, "the look at its threads", |seen| seen.state == "sequential");
    stage.wait_app(borrower, "what it lends", |seen| seen.count == all - 1);
    let lent = numaestro_host::affinity::get(pool.pid()).unwrap();
    assert_eq!(lent.len(), 1);
    pool.say("spin");
    stage.wait_app(app, "the look at two threads", |seen| seen.state == "running" && seen.count >= 2);
    let back = numaestro_host::affinity::get(pool.pid()).unwrap();
    assert!(back.len() >= 2, "the other one has left, or was moved");
}

#[test]
fn a_tree_of_processes_counts_as_a_whole() {
    let stage = Stage::new("unmanaged = false\n");
    let all = stage.processors();
    if all < 2 {
        skip!("one processor only");
    }
    // The shell sleeps; two children of it work.
    let script = format!("({SPIN}) & ({SPIN}) & wait");
    let mut tree = Command::new("setsid").args(["sh", "-c", &script]).spawn().unwrap();
    let app = adopt(&stage, tree.id(), Options::default());
    let mut wants = stage.busy();
    wants.hello(64);
    stage.wait_app(app, "the look at the whole tree", |seen| seen.request == 2);
    let group = format!("-{}", tree.id());
    wait_for("its own group", || {
        Command::new("kill").args(["-9", "--", &group]).status().ok().filter(ExitStatus::success)
    });
    tree.wait().unwrap();
    wait_for("its end", || stage.app(app).is_none().then_some(()));
}

#[test]
fn what_is_adopted_moves_and_what_is_released_moves_back() {
    let stage = Stage::new("unmanaged = false\n");
    let program = Program(Command::new("sleep").arg("1000").spawn().unwrap());
    let pid = program.0.id();
    let before = numaestro_host::affinity::get(pid).unwrap();
    let app = adopt(&stage, pid, Options { max: Some(1), ..Options::default() });
    assert_eq!(numaestro_host::affinity::get(pid).unwrap().len(), 1);
    let answer = stage.connect().ask(&Request::Release { app: AppName::Number(app) }).unwrap();
    assert!(matches!(&answer, Reply::Released { whole, .. } if whole.left.is_empty()), "{answer:?}");
    assert_eq!(numaestro_host::affinity::get(pid).unwrap(), before);
    assert!(stage.app(app).is_none());
    let again = stage.connect().ask(&Request::Release { app: AppName::Number(app) }).unwrap();
    assert!(matches!(again, Reply::Refused { .. }));
}

#[test]
fn a_run_is_on_its_processors_before_it_is_answered() {
    let stage = Stage::new("unmanaged = false\n");
    let mut client = stage.client();
    let wish = Options { max: Some(1), name: "a\u{1b}[2Jb".to_owned(), ..Options::default() };
    let answer = client.run(&wish);
    let Reply::Run { app, cpus, count: 1, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(client.say("affinity"), cpus);
    let seen = stage.app(app).unwrap();
    assert_eq!((seen.pid, seen.name.as_str(), seen.class), (client.pid(), "a?[2Jb", Class::Fold));
    // The same process opens a region: the same application, steered from inside now.
    assert_eq!(client.hello(64), app);
    assert_eq!(stage.app(app).unwrap().class, Class::Whole);
}

#[test]
fn a_hog_that_never_asked_is_left_a_processor() {
    let _turn = turn();
    let stage = Stage::new("");
    let all = stage.processors();
    if all < 2 {
        skip!("one processor only");
    }
    let _hog = Program::shell(SPIN);
    let mut client = stage.client();
    client.hello(64);
    client.say("adopted");
    let seen = wait_for("the hog to be seen", || Some(stage.status()).filter(|status| status.unmanaged > 0));
    assert!(seen.pus.iter().any(|pu| pu.state == "unmanaged" || pu.state == "leaving"), "{:?}", seen.pus);
    wait_for("a processor less", || (client.page()[1] < all).then_some(()));
}

#[test]
fn the_policy_is_switched_live_and_nonsense_is_refused() {
    let stage = Stage::new("unmanaged = false\n");
    let mut client = stage.client();
    client.hello(64);
    let Reply::Policies(policies) = stage.connect().ask(&Request::PolicyList).unwrap() else { panic!("no list") };
    assert!(policies.available.iter().any(|entry| entry.name == "dss"));
    let set = |policy: &str| stage.connect().ask(&Request::PolicySet { policy: policy.to_owned() }).unwrap();
    assert_eq!(set("dss"), Reply::Done);
    assert_eq!(stage.status().policy, "dss");
    assert!(matches!(set("share=nonsense"), Reply::Refused { .. }));
    assert_eq!(stage.status().policy, "dss");
}

#[test]
fn the_journal_replays_to_the_same_actions() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("journal");
    let stage = Stage::new(&format!("unmanaged = false\njournal = {:?}\n", path.display().to_string()));
    // One that sleeps would lend what the test waits for.
    let (mut first, mut second) = (stage.busy(), stage.busy());
    first.hello(64);
    let other = second.hello(64);
    first.say("adopted");
    first.kill();
    stage.wait_app(other, "everything", |seen| seen.count == seen.request);
    let journal = std::fs::read_to_string(path).unwrap();
    // The head, two arrivals and an end; what the first one said may have been overtaken by its
    // death.
    assert!(journal.lines().count() >= 4);
    numaestro_engine::journal::Replay::run(&journal).unwrap();
}
