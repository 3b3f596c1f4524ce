//! Policies of bandwidth on programs that run: what the manager did is repeated byte for byte from
//! its journal.
//!
//! No test knows how long anything takes.

mod support;

use std::process::Stdio;

use numaestro_skip::skip;
use numaestro_topology::CpuSet;
use support::eventually;
use support::manager::Manager;

const POLICIES: [&str; 4] = ["rr", "b2arr", "b2adss", "lqg"];
const BUSY: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

/// Four programs with declared rates on a bus that is said to be full with two of them.
fn replays(policy: &str) {
    let manager = Manager::new();
    let file = |name: &str| manager.dir().join(name).display().to_string();
    let (journal, rates) = (file("journal"), file("rates"));
    std::fs::write(&rates, "{\"bus\":0,\"saturation\":10000}\n").expect("writable");
    // At most two processors for the four of them, so that some must wait for their turn.
    let few: CpuSet = numaestro_host::affinity::get(0).expect("affinity").iter().take(2).collect();
    let few = few.to_string();
    let options =
        ["--ignore-unmanaged", "--cpus", &few, "--policy", policy, "--journal", &journal, "--inject-rates", &rates];
    let mut daemon =
        manager.command(["daemon"].into_iter().chain(options)).stderr(Stdio::null()).spawn().expect("runs");
    assert!(eventually(|| manager.status().is_some()), "{policy}: no manager");
    let start = |rate: &str| {
        let words = ["run", "--max", "1", "--btr", rate, "--", "sh", "-c", BUSY];
        manager.command(words).stdout(Stdio::null()).spawn().expect("runs")
    };
    let programs = ["9000", "9000", "10", "10"].map(start);
    for mut program in programs {
        assert!(program.wait().expect("it ends").success(), "{policy}: a program failed");
    }
    assert!(eventually(|| manager.status().is_some_and(|status| status.apps.is_empty())), "{policy}: they stay");
    let stopped = manager.command(["stop"]).output().expect("runs");
    assert!(stopped.status.success() && daemon.wait().expect("it ends").success(), "{policy}: it does not end");
    let text = std::fs::read_to_string(&journal).expect("readable");
    let says = |what: &str| text.contains(what);
    assert!(says("\"what\":\"arrive\""), "{policy}: nobody in a journal of {} lines", text.lines().count());
    // `rr` asks for no rates.
    assert_eq!(says("\"what\":\"saturation\""), policy != "rr", "{policy}");
    assert!(says("\"do\":\"stop\""), "{policy}: nobody was stopped");
    let replay = manager.command(["sim", "replay", &journal]).output().expect("runs");
    let said = String::from_utf8_lossy(&replay.stdout);
    assert!(replay.status.success() && said.contains("byte-equal"), "{policy}: {said}");
}

#[test]
fn what_the_manager_did_is_repeated_byte_for_byte() {
    let rung = numaestro_host::stop::rung();
    if !rung.works {
        skip!("programs cannot be stopped: {}", rung.detail);
    }
    for policy in POLICIES {
        replays(policy);
    }
}
