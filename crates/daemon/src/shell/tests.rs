//! Tests of the shell without the manager's loop: of the state it keeps when its policy fails, and
//! when the machine changes.

use std::process::{Child, Command};

use numaestro_abi::control::Options;
use numaestro_host::{PidFd, affinity};
use numaestro_topology::CpuSet;

use super::*;
use crate::programs::Owner;

/// A shell below a temporary directory.
fn shell(config: Config) -> (Shell, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    let config = Config { unmanaged: false, ..config };
    (Shell::new(Rc::new(config), root.path().join("attach"), None).unwrap(), root)
}

/// A program that has arrived, with this affinity.
fn sleeper(shell: &mut Shell, cpus: &CpuSet) -> (Child, u64) {
    let child = Command::new("sleep").arg("1000").spawn().unwrap();
    affinity::set(child.id(), cpus).unwrap();
    let process = PidFd::open(child.id()).unwrap();
    let options = Options::default();
    let app = shell.insert(Newcomer {
        process,
        owner: Owner { uid: 0, party: 0, job: None },
        name: "sleep".to_owned(),
        options,
        own: None,
    });
    shell.arrive(app, None).unwrap();
    (child, app)
}

fn cpus(shell: &Shell, app: u64) -> CpuSet {
    shell.programs.get(app).unwrap().allocation.target().unwrap().cpus.clone()
}

#[test]
fn a_failed_policy_is_followed_by_the_simplest_one_and_everybody_keeps_what_he_has() {
    let (mut shell, _root) = shell(Config { policy: "dss".to_owned(), ..Config::default() });
    let (mut child, app) = sleeper(&mut shell, &affinity::get(0).unwrap());
    let before = cpus(&shell, app);
    let page_epoch = |shell: &Shell| shell.programs.get(app).unwrap().allocation.latest_page_epoch();
    let epoch_before = page_epoch(&shell);
    shell.begin_anew(&Event::Timer, "a test");
    // As in the loop: the events that rebuild the ledger are waiting, and the next event brings
    // them in.
    shell.feed(Event::Timer);
    assert_eq!(shell.policy_text(), "equi");
    assert_eq!(cpus(&shell, app), before);
    assert!(page_epoch(&shell) > epoch_before, "decision numbers go on");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn who_came_when_there_were_few_processors_gets_more_when_there_are() {
    let before = affinity::get(0).unwrap();
    if before.len() < 2 {
        numaestro_skip::skip!("one processor only");
    }
    let few: CpuSet = before.iter().take(1).collect();
    let on = |cpus: &CpuSet| Config { unmanaged: false, cpus: cpus.to_string(), ..Config::default() };
    let (mut shell, _root) = shell(on(&few));
    // One is bound to the first processor by itself, the other is not.
    let (mut bound, bound_app) = sleeper(&mut shell, &few);
    let (mut child, app) = sleeper(&mut shell, &before);
    let had = cpus(&shell, app);
    shell.configure(Rc::new(on(&before)));
    shell.observe_machine();
    // A fresh engine gives all applications a moment to claim their processors.
    std::thread::sleep(std::time::Duration::from_millis(5));
    shell.feed(Event::Timer);
    let (has, bound_has) = (cpus(&shell, app), cpus(&shell, bound_app));
    shell.configure(Rc::new(on(&few)));
    shell.observe_machine();
    let last = cpus(&shell, app);
    for child in [&mut child, &mut bound] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!((had, has), (few.clone(), before.difference(&few)));
    assert_eq!(bound_has, few, "it has bound itself");
    assert_eq!(last, few, "and gives them back");
}
