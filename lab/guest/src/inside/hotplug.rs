//! Processors go and come back under load, or are taken from the manager and given back. The ledger
//! follows the kernel, and programs are where they belong afterwards.

use super::cgroups::{allowed, delegated};
use super::manager::{Line, Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario, kernel};
use anyhow::{Result, ensure};
use numaestro_topology::CpuSet;
use std::time::{Duration, Instant};

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "hotplug-processors-go-and-come-back-under-load", guests: &["four"], run: under_load },
    Scenario { name: "hotplug-with-cpusets", guests: &["four"], run: with_cpusets },
    Scenario { name: "hotplug-a-processor-that-was-not-there-at-the-start", guests: &["four"], run: new_processor },
    Scenario { name: "hotplug-the-managers-cpuset-is-changed-from-outside", guests: &["four"], run: cpuset_changes },
];

fn online(cpu: u32, value: &str) -> Result<()> {
    kernel::set(format!("/sys/devices/system/cpu/cpu{cpu}/online"), value)
}

/// Waits until the ledger's processors are exactly these and no program is told others. Returns the
/// time since the call, as an open connection sees it.
fn ledger_is(line: &mut Line, cpus: &CpuSet, what: &str) -> Result<Duration> {
    const PATIENCE: Duration = Duration::from_mins(2);
    let begun = Instant::now();
    loop {
        let status = line.status()?;
        let took = begun.elapsed();
        let gone = ["offline", "reserved"];
        let there: CpuSet = status.pus.iter().filter(|pu| !gone.contains(&pu.state.as_str())).map(|pu| pu.os).collect();
        let inside = |text: &str| text.parse::<CpuSet>().is_ok_and(|set| set.is_subset(cpus));
        if there == *cpus && status.apps.iter().all(|app| inside(&app.cpus)) {
            return Ok(took);
        }
        let told: Vec<&str> = status.apps.iter().map(|app| app.cpus.as_str()).collect();
        ensure!(took < PATIENCE, "{what}: {cpus} expected, at last {there} were there and programs were told {told:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Prints the latencies of all waits for the ledger together.
fn say_latency(what: &str, mut all: Vec<Duration>) {
    all.sort_unstable();
    let ms = |it: Option<&Duration>| it.map_or(0.0, |it| it.as_secs_f64() * 1e3);
    println!(
        "measured: {what}: ledger right after a change: median {:.1} ms, at most {:.1} ms, {} changes",
        ms(all.get(all.len() / 2)),
        ms(all.last()),
        all.len()
    );
}

fn apart_and_as_told(manager: &Manager, programs: &[&Program]) -> Result<()> {
    let pids: Vec<u32> = programs.iter().map(|program| program.pid()).collect();
    let look = || {
        let status = manager.status()?;
        let row = |pid: &u32| {
            let app = status.apps.iter().find(|app| app.pid == *pid);
            let said = app.map(|app| app.cpus.clone()).unwrap_or_default();
            // For a reader of a failure: the thread, and whether the program has answered.
            let epochs = app.map(|app| (app.epoch, app.class, app.team, app.folded));
            let threads =
                kernel::threads(*pid)?.into_iter().map(|it| format!("{} {} {}", it.name, it.allowed, it.state));
            Ok((said, allowed(*pid)?.to_string(), epochs, threads.collect::<Vec<_>>()))
        };
        pids.iter().map(row).collect::<Result<Vec<_>>>()
    };
    soon("everybody is where the manager says", look, |rows| {
        rows.iter().all(|(said, is, ..)| said == is && !said.is_empty())
    })
}

fn shake(what: &str, manager: &Manager, programs: &[&Program], cpus: &[u32]) -> Result<()> {
    let all = kernel::list("/sys/devices/system/cpu/online")?;
    let (mut now, mut took) = (all.clone(), Vec::new());
    let mut line = manager.line()?;
    ledger_is(&mut line, &all, "at first")?;
    for cpu in cpus {
        online(*cpu, "0")?;
        now.remove(*cpu);
        took.push(ledger_is(&mut line, &now, &format!("{cpu} offline"))?);
    }
    apart_and_as_told(manager, programs)?;
    for cpu in cpus {
        online(*cpu, "1")?;
        now.insert(*cpu);
        took.push(ledger_is(&mut line, &now, &format!("{cpu} back"))?);
    }
    apart_and_as_told(manager, programs)?;
    // A processor goes and is back before anybody looks.
    for _ in 0..3 {
        online(cpus[0], "0")?;
        online(cpus[0], "1")?;
    }
    ledger_is(&mut line, &all, "after a flicker")?;
    say_latency(what, took);
    apart_and_as_told(manager, programs)
}

fn under_load(_: &Guest) -> Result<()> {
    let manager = Manager::start("cgroups = \"off\"\n", &[])?;
    let enough = "/tmp/hotplug-enough";
    let load = ["guest-load", "--threads", "4", "--mb", "1", "--seconds", "600", "--stop-file", enough];
    let mut fold = manager.run(&[], &load)?;
    let omp = manager.run(&[], &["sor", "--size", "96", "--reps", "100000", "--json"])?;
    manager.app(fold.pid())?;
    manager.app(omp.pid())?;
    shake("by affinity", &manager, &[&fold, &omp], &[7, 5, 3, 2])?;
    std::fs::write(enough, "")?;
    let output = fold.finish()?;
    ensure!(output.contains("checksum"), "{output}");
    Ok(())
}

fn with_cpusets(_: &Guest) -> Result<()> {
    let group = delegated("numaestro")?;
    let manager = Manager::start_in(&group, "cgroups = \"require\"\n", &[])?;
    let load = ["guest-load", "--threads", "4", "--mb", "1", "--seconds", "600"];
    let programs = [manager.run(&[], &load)?, manager.run(&[], &load)?];
    for program in &programs {
        let look = || kernel::cgroup(program.pid());
        soon("it is in a group", look, |place| place.starts_with(&group))?;
    }
    shake("by cpusets", &manager, &[&programs[0], &programs[1]], &[7, 6, 1])
}

fn new_processor(_: &Guest) -> Result<()> {
    online(5, "0")?;
    online(6, "0")?;
    let journal = "/tmp/hotplug-journal";
    let manager = Manager::start(&format!("cgroups = \"off\"\njournal = \"{journal}\"\n"), &[])?;
    let load = ["guest-load", "--threads", "4", "--mb", "1", "--seconds", "600"];
    let programs = [manager.run(&[], &load)?, manager.run(&[], &load)?];
    let all = |text: &str| text.parse::<CpuSet>().unwrap_or_default();
    ledger_is(&mut manager.line()?, &all("0-4,7"), "two are not there")?;
    apart_and_as_told(&manager, &[&programs[0], &programs[1]])?;
    let before = allowed(programs[0].pid())?;
    online(5, "1")?;
    ledger_is(&mut manager.line()?, &all("0-5,7"), "a processor that had no place")?;
    ensure!(allowed(programs[0].pid())?.intersects(&before), "it has lost everything it had");
    online(6, "1")?;
    ledger_is(&mut manager.line()?, &all("0-7"), "another one")?;
    let count = || Ok(manager.status()?.apps.iter().map(|app| app.count).sum::<u32>());
    soon("all of them are used", count, |count| *count == 8)?;
    apart_and_as_told(&manager, &[&programs[0], &programs[1]])?;
    for file in [journal.to_owned(), format!("{journal}.2"), format!("{journal}.3")] {
        let replayed = manager.ask(&["sim", "replay", &file])?;
        println!("{file}: {}", replayed.trim());
    }
    Ok(())
}

fn cpuset_changes(_: &Guest) -> Result<()> {
    let slice = delegated("slice")?;
    kernel::set(slice.join("cgroup.subtree_control"), "+cpuset")?;
    let group = delegated("slice/numaestro")?;
    let manager = Manager::start_in(&group, "cgroups = \"off\"\n", &[])?;
    let load = ["guest-load", "--threads", "4", "--mb", "1", "--seconds", "600"];
    let programs = [manager.run(&[], &load)?, manager.run(&[], &load)?];
    for program in &programs {
        manager.app(program.pid())?;
    }
    let set = |text: &str| text.parse::<CpuSet>().unwrap_or_default();
    ledger_is(&mut manager.line()?, &set("0-7"), "everything at first")?;
    kernel::set(slice.join("cpuset.cpus"), "0-3")?;
    ledger_is(&mut manager.line()?, &set("0-3"), "the group above is narrowed")?;
    apart_and_as_told(&manager, &[&programs[0], &programs[1]])?;
    kernel::set(group.join("cpuset.cpus"), "2-3")?;
    ledger_is(&mut manager.line()?, &set("2-3"), "its own group is narrowed")?;
    kernel::set(group.join("cpuset.cpus"), "0-7")?;
    kernel::set(slice.join("cpuset.cpus"), "0-7")?;
    ledger_is(&mut manager.line()?, &set("0-7"), "both are wide again")?;
    apart_and_as_told(&manager, &[&programs[0], &programs[1]])
}
