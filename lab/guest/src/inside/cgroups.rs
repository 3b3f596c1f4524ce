//! Cpusets of cgroup v2. Programs are in groups of their own and cannot leave their processors. The
//! manager leaves nothing behind, and finds the groups of a killed manager again. It respects the
//! settings of others (quotas, cpusets) and says so.

use super::manager::{Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use numaestro_topology::CpuSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "cgroups-programs-cannot-leave-their-processors", guests: &["four"], run: no_escape },
    Scenario { name: "cgroups-nothing-is-left-behind", guests: &["four"], run: nothing_left },
    Scenario { name: "cgroups-a-killed-manager-is-followed", guests: &["four"], run: killed },
    Scenario { name: "cgroups-strangers-are-not-touched", guests: &["four"], run: strangers },
    Scenario { name: "cgroups-limits-keep-a-program-where-it-is", guests: &["four"], run: limits },
    Scenario { name: "cgroups-a-quota-limits-what-is-told", guests: &["four"], run: quota },
    Scenario { name: "cgroups-confined-by-others", guests: &["four"], run: confined },
];

const LOAD: [&str; 7] = ["guest-load", "--threads", "4", "--mb", "1", "--seconds", "600"];

/// A group like the one that a system delegates to a service.
pub(super) fn delegated(name: &str) -> Result<PathBuf> {
    let group = Path::new(kernel::CGROUPS).join(name);
    std::fs::create_dir_all(&group)?;
    Ok(group)
}

/// Runs `act` in a group, so that the processes it starts are born there.
pub(super) fn inside<T>(group: &Path, act: impl FnOnce() -> Result<T>) -> Result<T> {
    let me = std::process::id().to_string();
    let before = kernel::cgroup(std::process::id())?;
    kernel::set(group.join("cgroup.procs"), &me)?;
    let outcome = act();
    kernel::set(before.join("cgroup.procs"), &me)?;
    outcome
}

/// The processors on which any thread of a process may run.
pub(super) fn allowed(pid: u32) -> Result<CpuSet> {
    let mut all = CpuSet::new();
    for thread in kernel::threads(pid)? {
        all.or_with(&thread.allowed);
    }
    ensure!(!all.is_empty(), "process {pid} has no threads");
    Ok(all)
}

/// The group of a program, once it is in one of the manager's.
fn group_of(program: &Program, subtree: &Path) -> Result<PathBuf> {
    let look = || kernel::cgroup(program.pid());
    soon("the program is in a group of its own", look, |group| {
        group.parent() == Some(subtree)
            && group.file_name().is_some_and(|name| name.to_string_lossy().starts_with("app-"))
    })?;
    kernel::cgroup(program.pid())
}

/// Waits until each program has the processors that the manager says, nobody shares, and the groups
/// say the same.
fn settled(manager: &Manager, programs: &[&Program]) -> Result<()> {
    let pids: Vec<u32> = programs.iter().map(|program| program.pid()).collect();
    let look = || {
        let status = manager.status()?;
        let said =
            |pid: &u32| status.apps.iter().find(|app| app.pid == *pid).map(|app| app.cpus.clone()).unwrap_or_default();
        let row = |pid: &u32| Ok((said(pid), allowed(*pid)?.to_string()));
        pids.iter().map(row).collect::<Result<Vec<_>>>()
    };
    soon("everybody is where the manager says, and alone there", look, |rows| {
        let sets: Vec<CpuSet> = rows.iter().filter_map(|(_, is)| is.parse().ok()).collect();
        let apart = sets.iter().enumerate().all(|(at, set)| sets[at + 1..].iter().all(|other| !set.intersects(other)));
        apart && rows.iter().all(|(said, is)| said == is)
    })
}

fn no_escape(guest: &Guest) -> Result<()> {
    let group = delegated("numaestro")?;
    let manager = Manager::start_in(&group, "cgroups = \"require\"\n", &[])?;
    ensure!(
        kernel::cgroup(manager.pid())? == group.join("manager"),
        "the manager is in {}",
        kernel::cgroup(manager.pid())?.display()
    );
    let first = manager.run(&[], &LOAD)?;
    let second = manager.run(&[], &LOAD)?;
    for program in [&first, &second] {
        group_of(program, &group)?;
    }
    // Shares may change until both have all their threads.
    let half = guest.shape.pu_count() as usize / 2;
    let look = || Ok((allowed(first.pid())?, allowed(second.pid())?));
    soon("each has half of the machine", look, |(a, b)| a.len() == half && b.len() == half)?;
    settled(&manager, &[&first, &second])?;
    let own = group_of(&first, &group)?;
    let confined = kernel::list(own.join("cpuset.cpus.effective"))?;
    ensure!(confined == allowed(first.pid())?, "{confined} in the group");
    ensure!(confined.len() < guest.shape.pu_count() as usize);
    // The program asks for the whole machine, for every thread, as a program may that knows better.
    let all = kernel::list("/sys/devices/system/cpu/online")?;
    let asked = Command::new("taskset").args(["-a", "-p", "ff", &first.pid().to_string()]).output()?;
    ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    ensure!(allowed(first.pid())? == confined, "it has escaped from {confined} to {}", allowed(first.pid())?);
    let outside = all.difference(&confined).first().context("some are others'")?;
    let asked = Command::new("taskset")
        .args(["-a", "-p", &format!("{:x}", 1_u32 << outside), &first.pid().to_string()])
        .output()?;
    ensure!(!asked.status.success(), "it could go to processor {outside}");
    ensure!(allowed(first.pid())? == confined, "it has escaped from {confined} to {}", allowed(first.pid())?);
    // The cpuset does not stay narrow: a program that is alone has the machine again.
    drop(second);
    soon("the one that is left has everything", || allowed(first.pid()), |set| *set == all)
}

fn nothing_left(_: &Guest) -> Result<()> {
    let group = delegated("numaestro")?;
    let mut manager = Manager::start_in(&group, "", &[])?;
    let all = kernel::list("/sys/devices/system/cpu/online")?;
    let home = delegated("users")?;
    // A shell around it, and a child that outlives it.
    let script = "guest-load --threads 2 --mb 1 --seconds 600 & guest-load --threads 1 --mb 1 --seconds 600; true";
    let tree = inside(&home, || manager.run(&[], &["sh", "-c", script]))?;
    let mut other = manager.run(&[], &LOAD)?;
    let own = group_of(&tree, &group)?;
    let members = || kernel::text(own.join("cgroup.procs")).map(|text| text.lines().count());
    soon("the whole tree is in it", members, |count| *count >= 3)?;
    let pids: Vec<u32> = kernel::text(own.join("cgroup.procs"))?.lines().filter_map(|line| line.parse().ok()).collect();
    settled(&manager, &[&tree, &other])?;
    let at_first = group_of(&other, &group)?;
    other.kill();
    soon("the group of the one that has ended is removed", || Ok(at_first.exists()), |there| !there)?;
    manager.stop()?;
    for pid in pids {
        ensure!(
            kernel::cgroup(pid)? == home,
            "process {pid} is in {}, and came from {}",
            kernel::cgroup(pid)?.display(),
            home.display()
        );
        ensure!(allowed(pid)? == all, "process {pid} may only run on {}", allowed(pid)?);
    }
    let left: Vec<PathBuf> =
        std::fs::read_dir(&group)?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    ensure!(left.is_empty(), "left behind: {left:?}");
    ensure!(kernel::text(group.join("cgroup.subtree_control"))?.is_empty(), "controllers are still on");
    Ok(())
}

fn killed(_: &Guest) -> Result<()> {
    let group = delegated("numaestro")?;
    let mut manager = Manager::start_in(&group, "cgroups = \"require\"\n", &[])?;
    let home = delegated("users")?;
    let first = inside(&home, || manager.run(&[], &LOAD))?;
    let mut second = inside(&home, || manager.run(&[], &LOAD))?;
    let (one, two) = (group_of(&first, &group)?, group_of(&second, &group)?);
    settled(&manager, &[&first, &second])?;
    let before = allowed(first.pid())?;
    manager.kill()?;
    second.kill();
    ensure!(allowed(first.pid())? == before, "it goes on with what it has");
    let own = group.join("manager");
    let settings = "cgroups = \"require\"\n";
    let mut next = Manager::again_in(Some(&own), manager.directory().to_owned(), settings, &[])?;
    ensure!(group_of(&first, &group)? == one, "it is in another group");
    soon("the dead one's group is removed", || Ok(two.exists()), |there| !there)?;
    let all = kernel::list("/sys/devices/system/cpu/online")?;
    soon("the one that is left has everything", || allowed(first.pid()), |set| *set == all)?;
    next.stop()?;
    ensure!(kernel::cgroup(first.pid())? == home, "it is in {}", kernel::cgroup(first.pid())?.display());
    ensure!(!one.exists(), "its group is left");
    Ok(())
}

fn strangers(_: &Guest) -> Result<()> {
    let group = delegated("numaestro")?;
    let mut manager = Manager::start_in(&group, "", &[])?;
    let theirs = group.join("theirs");
    std::fs::create_dir(&theirs)?;
    let mut program = Command::new("guest-load");
    program.args(&LOAD[1..]);
    let stranger = inside(&theirs, || Program::start(program, None))?;
    manager.run(&[], &["true"])?.finish()?;
    manager.stop()?;
    ensure!(theirs.exists() && kernel::cgroup(stranger.pid())? == theirs, "a stranger's group was touched");
    Ok(())
}

fn limits(_: &Guest) -> Result<()> {
    let group = delegated("numaestro")?;
    let manager = Manager::start_in(&group, "", &[])?;
    let limited = delegated("limited")?;
    kernel::set(limited.join("memory.max"), "134217728")?;
    let program = inside(&limited, || manager.run(&[], &LOAD))?;
    let other = manager.run(&[], &LOAD)?;
    group_of(&other, &group)?;
    settled(&manager, &[&program, &other])?;
    ensure!(kernel::cgroup(program.pid())? == limited, "it was taken out of its limits");
    let why = manager.app(program.pid())?.why;
    ensure!(why.contains("memory.max of its cgroup /limited"), "why: {why}");
    Ok(())
}

fn quota(_: &Guest) -> Result<()> {
    let manager = Manager::start("cgroups = \"off\"\n", &[])?;
    let limited = delegated("limited")?;
    kernel::set(limited.join("cpu.max"), "150000 100000")?;
    let program = inside(&limited, || manager.run(&[], &LOAD))?;
    let look = || manager.app(program.pid());
    soon("one and a half processors are two", look, |app| app.count == 2 && app.why.contains("cpu.max"))?;
    // Others write these settings while it runs; nothing else happens.
    kernel::set(limited.join("cpu.max"), "350000 100000")?;
    soon("three and a half are four", look, |app| app.count == 4)?;
    kernel::set(limited.join("cpu.max"), "max 100000")?;
    soon("without a quota it has the machine", look, |app| app.count == 8)
}

fn confined(_: &Guest) -> Result<()> {
    let manager = Manager::start("cgroups = \"off\"\n", &[])?;
    let narrow = delegated("narrow")?;
    kernel::set(narrow.join("cpuset.cpus"), "2-3")?;
    let program = inside(&narrow, || manager.run(&[], &LOAD))?;
    let look = || manager.app(program.pid());
    soon("it is told no more than it may use", look, |app| app.count <= 2 && app.why.contains("2-3"))?;
    ensure!(
        allowed(program.pid())?.is_subset(&"2-3".parse().unwrap_or_default()),
        "it is on {}",
        allowed(program.pid())?
    );
    kernel::set(narrow.join("cpuset.cpus"), "0-7")?;
    soon("let go by the others, it has the machine", look, |app| app.count == 8)
}
