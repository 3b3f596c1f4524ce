//! Users start programs as they always do, under the system's manager: rules adopt the programs,
//! every program gets a part, and the kernel confirms it. No rule takes a program in a container, a
//! service or a storm of short programs.

use super::manager::{Manager, Program};
use super::neighbours::Picture;
use super::patience::{soon, until};
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use numaestro_abi::control::AppStatus;
use std::process::Command;
use std::time::{Duration, Instant};

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "rules-three-users-programs-are-adopted", guests: &["four"], run: three_users },
    Scenario { name: "rules-services-and-containers-are-left-alone", guests: &["two"], run: left_alone },
    Scenario { name: "rules-a-storm-of-programs-is-no-load", guests: &["two"], run: storm },
];

const ALICE: u32 = 1001;
const BOB: u32 = 1002;
const CAROL: u32 = 1003;
const PATIENCE: Duration = Duration::from_mins(2);

/// Load, started as anybody starts a program.
fn load(user: Option<u32>, threads: &str) -> Result<Program> {
    let mut command = Command::new("guest-load");
    command.args(["--threads", threads, "--mb", "1", "--seconds", "600"]);
    Program::start(command, user)
}

/// Every application of the manager. On a busy machine it may take several tries until the manager
/// answers.
fn apps(manager: &Manager) -> Result<Vec<AppStatus>> {
    Ok(until("the manager answers", PATIENCE, || manager.status(), |status| Some(status.clone()))?.apps)
}

fn app(manager: &Manager, pid: u32) -> Result<Option<AppStatus>> {
    Ok(apps(manager)?.into_iter().find(|app| app.pid == pid))
}

fn adopted(manager: &Manager, program: &Program) -> Result<AppStatus> {
    let what = format!("process {} is adopted", program.pid());
    until(&what, PATIENCE, || app(manager, program.pid()), Clone::clone)
}

/// Waits until the manager has looked at every program that was there before it: it has adopted a
/// program that was started after it, and its last look is over.
fn wait_until_looked(manager: &Manager) -> Result<()> {
    let mut marker = load(Some(CAROL), "2")?;
    adopted(manager, &marker)?;
    std::thread::sleep(Duration::from_secs(6));
    marker.kill();
    Ok(())
}

fn three_users(_: &Guest) -> Result<()> {
    let rules = "[[rules]]\nuser = \"carol\"\ncommand = \"sleep\"\nadopt = false\n\
                 [[rules]]\nuser = \"alice\"\n[[rules]]\nuser = \"bob\"\nmax = 2\n[[rules]]\nuser = \"carol\"\nname = \"carols\"\n";
    // One program runs before the manager does.
    let early = load(Some(ALICE), "4")?;
    let manager = Manager::start(rules, &["--system"])?;
    let (second, third) = (load(Some(BOB), "4")?, load(Some(CAROL), "4")?);
    let roots = load(None, "2")?;
    let programs = [&early, &second, &third];
    for program in programs {
        adopted(&manager, program)?;
    }
    let pids = programs.map(Program::pid);
    let look = || Picture::take(pids);
    soon("three users have the machine among them, and bob two processors", look, |picture| {
        let counts = pids.map(|pid| picture.programs[&pid].len());
        picture.expect_apart().is_ok() && counts[1] == 2 && counts[0] == 3 && counts[2] == 3
    })?;
    let seen = app(&manager, third.pid())?.context("it was there")?;
    ensure!(seen.name == "carols" && seen.user.as_deref() == Some("carol"), "{seen:?}");
    ensure!(app(&manager, roots.pid())?.is_none(), "no rule is about root's program");
    // An application that is let go gives its processors back, and the looks that follow do not
    // take it again.
    let bobs = apps(&manager)?;
    let bobs = bobs.iter().find(|app| app.pid == second.pid()).context("bob's")?.app.to_string();
    manager.ask(&["release", &bobs])?;
    soon("the others have everything", look, |picture| {
        picture.programs[&pids[0]].len() == 4 && picture.programs[&pids[2]].len() == 4
    })?;
    std::thread::sleep(Duration::from_secs(2));
    ensure!(app(&manager, second.pid())?.is_none(), "a rule has taken back what was let go");
    println!(
        "measured: one of three adopted programs was found at the start, two by their exec; 3, 2 and 3 of 8 processors"
    );
    Ok(())
}

fn left_alone(_: &Guest) -> Result<()> {
    let service = std::path::Path::new(kernel::CGROUPS).join("system.slice/solver.service");
    std::fs::create_dir_all(&service)?;
    let rules = "[[rules]]\ncommand = \"guest-load\"\n[[rules]]\ncgroup = \"/system.slice/wanted*\"\n";
    let manager = Manager::start(rules, &["--system"])?;
    let mut command = Command::new("unshare");
    command.args(["-p", "-f", "guest-load", "--threads", "2", "--mb", "1", "--seconds", "600"]);
    let mut contained = Program::start(command, None)?;
    contained.says("round 1")?;
    let daemon = load(Some(ALICE), "2")?;
    kernel::set(service.join("cgroup.procs"), &daemon.pid().to_string())?;
    let wanted = service.with_file_name("wanted.service");
    std::fs::create_dir_all(&wanted)?;
    let named = load(Some(BOB), "2")?;
    kernel::set(wanted.join("cgroup.procs"), &named.pid().to_string())?;
    adopted(&manager, &named).context("a rule names its service")?;
    wait_until_looked(&manager)?;
    let apps = apps(&manager)?;
    ensure!(apps.iter().all(|app| app.pid == named.pid()), "only the one that was named: {apps:?}");
    ensure!(contained.ended()?.is_none(), "{}", contained.output());
    Ok(())
}

fn storm(_: &Guest) -> Result<()> {
    let manager = Manager::start("[[rules]]\nuser = \"alice\"\n[[rules]]\nuser = \"carol\"\n", &["--system"])?;
    let used = |pid: u32| -> Result<u64> {
        let text = kernel::text(format!("/proc/{pid}/schedstat"))?;
        text.split(' ').next().and_then(|word| word.parse().ok()).context("no time")
    };
    let (before, begun) = (used(manager.pid())?, Instant::now());
    let mut command = Command::new("sh");
    command.args(["-c", "i=0; while [ $i -lt 600 ]; do /bin/true; i=$((i+1)); done; echo done"]);
    let mut script = Program::start(command, Some(ALICE))?;
    script.finish()?;
    let wall = begun.elapsed();
    wait_until_looked(&manager)?;
    ensure!(apps(&manager)?.is_empty(), "a short program was adopted");
    let cost = used(manager.pid())? - before;
    println!(
        "measured: 600 programs in {} ms, the manager used {} ms for them and all else",
        wall.as_millis(),
        cost / 1_000_000
    );
    Ok(())
}
