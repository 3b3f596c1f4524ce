//! The manager without its loop: what it keeps when its policy fails.

use numaestro_engine::Class;
use numaestro_host::PidFd;

use super::*;

#[test]
fn a_failed_policy_is_followed_by_the_simplest_one_and_everybody_keeps_what_he_has() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("n");
    let config = Config { dir: dir.clone(), policy: "dss".to_owned(), unmanaged: false, ..Config::default() };
    let mut manager = Manager::new(config).unwrap().unwrap();
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let process = PidFd::open(child.id()).unwrap();
    let app = manager.insert(process, "sleep".to_owned(), numaestro_abi::control::Options::default(), Class::Fold);
    manager.arrive(app, None);
    let before = manager.apps[&app].target.clone().unwrap();
    let page_epoch = manager.apps[&app].page_epoch();
    manager.begin_anew(&Event::Timer, "a test");
    // As in the loop: the events that rebuild the ledger are waiting, and the next event brings them in.
    manager.feed(Event::Timer);
    let after = manager.apps[&app].target.clone().unwrap();
    assert_eq!(manager.brain.policy_text(), "equi");
    assert_eq!(after.cpus, before.cpus);
    assert!(manager.apps[&app].page_epoch() > page_epoch, "decision numbers go on");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn who_came_when_there_were_few_processors_gets_more_when_there_are() {
    // The affinity of the thread that is the manager here says what it may give out.
    let before = numaestro_host::affinity::get(0).unwrap();
    if before.len() < 2 {
        numaestro_skip::skip!("one processor only");
    }
    let few: CpuSet = before.iter().take(1).collect();
    numaestro_host::affinity::set(0, &few).unwrap();
    let root = tempfile::tempdir().unwrap();
    let config = Config { dir: root.path().join("n"), unmanaged: false, ..Config::default() };
    let mut manager = Manager::new(config).unwrap().unwrap();
    let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let process = PidFd::open(child.id()).unwrap();
    let app = manager.insert(process, "sleep".to_owned(), numaestro_abi::control::Options::default(), Class::Fold);
    manager.arrive(app, None);
    let had = manager.apps[&app].target.clone().unwrap().cpus;
    numaestro_host::affinity::set(0, &before).unwrap();
    manager.look_at_machine();
    // A fresh engine gives everybody a moment to claim what they have.
    std::thread::sleep(std::time::Duration::from_millis(5));
    manager.feed(Event::Timer);
    let has = manager.apps[&app].target.clone().unwrap().cpus;
    numaestro_host::affinity::set(0, &few).unwrap();
    manager.look_at_machine();
    let last = manager.apps[&app].target.clone().unwrap().cpus;
    numaestro_host::affinity::set(0, &before).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((had, has), (few.clone(), before));
    assert_eq!(last, few, "and gives them back");
}
