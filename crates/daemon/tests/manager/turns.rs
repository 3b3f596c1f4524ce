//! Turns: real programs are stopped and go on, and nothing stays stopped, whatever becomes of the
//! manager.

use std::process::{Child, Command};

use numaestro_abi::control::{AppName, Options, Reply, Request};
use numaestro_host::procfs;
use numaestro_host::stop::{Group, Outcome, Stopper};

use crate::stage::{Stage, wait_for};

const TURNS: &str = "unmanaged = false\npolicy = \"round-robin\"\n";

/// A program that computes for ever and asks for the whole machine; it knows nothing of being
/// managed.
pub struct Busy {
    child: Child,
    app: u64,
}

impl Busy {
    fn start() -> Child {
        Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()
    }

    fn under(stage: &Stage) -> Self {
        let child = Self::start();
        let reply = stage
            .connect()
            .ask(&Request::Adopt { pid: child.id(), options: Options::default(), force: false })
            .unwrap();
        assert_eq!(reply, Reply::Done);
        let app = stage.status().apps.iter().find(|app| app.pid == child.id()).unwrap().app;
        Self { child, app }
    }

    fn time(&self) -> u64 {
        procfs::cpu_time_ns(self.child.id()).unwrap()
    }

    fn state(&self) -> char {
        procfs::stat(self.child.id()).unwrap().state
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn crowd(stage: &Stage, programs: u32) -> Vec<Busy> {
    (0..programs).map(|_| Busy::under(stage)).collect()
}

/// Everybody gets on: uses processor time from now on.
fn everybody_gets_on(busy: &[Busy]) {
    let before: Vec<u64> = busy.iter().map(Busy::time).collect();
    wait_for("everybody to get on", || {
        busy.iter().zip(&before).all(|(busy, before)| busy.time() > *before).then_some(())
    });
}

fn somebody_is_stopped(busy: &[Busy]) {
    wait_for("somebody to be stopped", || busy.iter().any(|busy| busy.state() == 't').then_some(()));
}

/// Nobody is stopped, and it stays so.
fn nobody_is_stopped(busy: &[Busy]) {
    wait_for("everybody to run", || busy.iter().all(|busy| busy.state() != 't').then_some(()));
    for _ in 0..60 {
        assert!(busy.iter().all(|busy| busy.state() != 't'));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn set(stage: &Stage, policy: &str) {
    let reply = stage.connect().ask(&Request::PolicySet { policy: policy.to_owned() }).unwrap();
    assert_eq!(reply, Reply::Done);
}

#[test]
fn everybody_has_turns_and_is_stopped_outside_them() {
    let stage = Stage::new(TURNS);
    let busy = crowd(&stage, 4);
    for _ in 0..3 {
        somebody_is_stopped(&busy);
        everybody_gets_on(&busy);
    }
    for busy in &busy {
        let stopped = stage.wait_app(busy.app, "its rest", |app| app.state == "stopped");
        assert_eq!((stopped.count, stopped.cpus.as_str()), (0, ""));
        assert!(stopped.why.contains("turn"), "{}", stopped.why);
        stage.wait_app(busy.app, "its turn", |app| app.state == "running" && app.count > 0);
    }
}

#[test]
fn a_killed_manager_leaves_nobody_stopped_and_the_next_one_goes_on() {
    let mut stage = Stage::new(TURNS);
    let busy = crowd(&stage, 4);
    wait_for("the state file", || {
        let text = std::fs::read_to_string(stage.dir().join("state.json")).ok()?;
        text.contains(&format!("\"app\":{}", busy[3].app)).then_some(())
    });
    for _ in 0..3 {
        somebody_is_stopped(&busy);
        stage.kill_manager();
        nobody_is_stopped(&busy);
        everybody_gets_on(&busy);
        stage.start();
        somebody_is_stopped(&busy);
        everybody_gets_on(&busy);
    }
}

#[test]
fn an_orderly_end_leaves_nobody_stopped() {
    let stage = Stage::new(TURNS);
    let busy = crowd(&stage, 3);
    somebody_is_stopped(&busy);
    let answer = stage.connect().ask(&Request::Stop).unwrap();
    assert!(matches!(&answer, Reply::Whole(whole) if whole.left.is_empty()), "{answer:?}");
    nobody_is_stopped(&busy);
    everybody_gets_on(&busy);
}

#[test]
fn policies_with_turns_and_without_follow_each_other() {
    let stage = Stage::new(TURNS);
    let busy = crowd(&stage, 3);
    for policy in ["sw-dss", "ssw-dss", "round-robin"] {
        set(&stage, policy);
        somebody_is_stopped(&busy);
        everybody_gets_on(&busy);
        set(&stage, "equi");
        nobody_is_stopped(&busy);
        everybody_gets_on(&busy);
    }
}

#[test]
fn who_is_let_go_or_killed_outside_his_turn_is_free_at_once() {
    let stage = Stage::new(TURNS);
    let mut busy = crowd(&stage, 3);
    let app = busy[0].app;
    stage.wait_app(app, "its rest", |app| app.state == "stopped");
    let answer = stage.connect().ask(&Request::Release { app: AppName::Number(app) }).unwrap();
    assert!(matches!(&answer, Reply::Released { whole, .. } if whole.left.is_empty()), "{answer:?}");
    nobody_is_stopped(&busy[..1]);
    everybody_gets_on(&busy[..1]);
    let app = busy[1].app;
    stage.wait_app(app, "its rest", |app| app.state == "stopped");
    busy[1].child.kill().unwrap();
    assert!(!busy[1].child.wait().unwrap().success());
    wait_for("it to be forgotten", || stage.app(app).is_none().then_some(()));
    // The last one is alone: it always has its turn.
    nobody_is_stopped(&busy[2..]);
}

#[test]
fn who_is_traced_by_somebody_else_runs_as_a_guest_until_that_is_over() {
    let stage = Stage::new(TURNS);
    let traced = Busy::start();
    let debugger = Stopper::start().unwrap();
    let stopped = debugger.stop(1, Group { root: traced.id(), tree: None });
    assert!(matches!(stopped, Outcome::Stopped(_)), "{stopped:?}");
    let reply =
        stage.connect().ask(&Request::Adopt { pid: traced.id(), options: Options::default(), force: false }).unwrap();
    assert_eq!(reply, Reply::Done);
    let app = stage.status().apps[0].app;
    let traced = Busy { child: traced, app };
    let others = crowd(&stage, 2);
    wait_for("the refusal", || {
        // Whoever stops others is believed to be dead if nothing is heard of it, and that may take
        // longer than this on a busy machine.
        debugger.renew();
        if traced.state() != 't' {
            debugger.stop(1, Group { root: traced.child.id(), tree: None });
        }
        stage.app(app).filter(|app| app.why.contains("is traced by"))
    });
    everybody_gets_on(&others);
    debugger.resume(1);
    drop(debugger);
    everybody_gets_on(&[traced]);
}
