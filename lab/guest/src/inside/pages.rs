//! Homes and pages: programs and their memory stay on one node, pages follow their programs, and
//! the manager says which pages do not fit.

use super::manager::{Manager, Program};
use super::patience::soon;
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, bail, ensure};
use numaestro_abi::control::{MemoryStatus, Status};
use numaestro_topology::CpuSet;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

const FOUR: &[&str] = &["four"];

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "pages-at-home-under-hs-con", guests: FOUR, run: |_| at_home("HS-Con") },
    Scenario { name: "pages-at-home-under-hb-con", guests: FOUR, run: |_| at_home("HB-Con") },
    Scenario { name: "pages-beside-their-threads-under-worst-fit", guests: FOUR, run: |_| at_home("worst-fit") },
    Scenario { name: "pages-follow-a-program-that-is-driven-away", guests: FOUR, run: follow },
    Scenario { name: "pages-that-do-not-fit-spill-and-it-is-said", guests: FOUR, run: spill },
    Scenario { name: "pages-interleaved-over-own-nodes", guests: FOUR, run: interleave },
    Scenario { name: "pages-the-shim-follows-another-policy", guests: FOUR, run: shim_follows },
    Scenario { name: "pages-a-home-survives-the-manager", guests: FOUR, run: home_survives },
    Scenario { name: "pages-the-kernels-balancing-leaves-homes-alone", guests: FOUR, run: balancing },
];

const MB: u64 = 1 << 20;

/// Thousandths of a process's own bytes that are on these nodes.
fn permille_on(pid: u32, nodes: &CpuSet) -> Result<u64> {
    let bytes = kernel::bytes_by_node(pid, true)?;
    let there: u64 = bytes.iter().filter(|(node, _)| nodes.contains(**node)).map(|(_, bytes)| bytes).sum();
    Ok(there * 1000 / bytes.values().sum::<u64>().max(1))
}

/// The nodes that all threads of a process are kept on.
fn nodes_of(guest_nodes: &BTreeMap<u32, CpuSet>, pid: u32) -> Result<CpuSet> {
    let mut allowed = CpuSet::new();
    for thread in kernel::threads(pid)? {
        allowed.or_with(&thread.allowed);
    }
    Ok(guest_nodes.iter().filter(|(_, cpus)| cpus.intersects(&allowed)).map(|(node, _)| *node).collect())
}

/// The answer of `status --memory`, and the part of one program in it.
fn memory(manager: &Manager, pid: u32) -> Result<(Status, MemoryStatus)> {
    let text = manager.ask(&["status", "--memory", "--json"])?;
    let status: Status = serde_json::from_str(&text).with_context(|| text.clone())?;
    let app = status.apps.iter().find(|app| app.pid == pid).with_context(|| format!("no process {pid}: {text}"))?;
    let memory = app.memory.clone().with_context(|| format!("nothing is said of its memory: {text}"))?;
    Ok((status, memory))
}

fn load(mb: &str) -> Vec<&str> {
    vec!["guest-load", "--threads", "2", "--mb", mb, "--seconds", "600", "--stop-file", "/tmp/enough"]
}

/// Ends a program in order; its checksum must be the same as without numaestro.
fn same_result(mut program: Program, mb: &str) -> Result<()> {
    std::fs::write("/tmp/enough", "")?;
    let output = program.finish()?;
    std::fs::remove_file("/tmp/enough")?;
    let mut command = Command::new("guest-load");
    command.args(["--threads", "2", "--mb", mb, "--rounds", "1"]);
    let alone = Program::start(command, None)?.finish()?;
    let last = |text: &str| text.lines().last().map(str::to_owned);
    ensure!(last(&output) == last(&alone), "{output}\nis not what it is without numaestro:\n{alone}");
    Ok(())
}

/// Programs that fit a node have all their threads on one, and nearly all their pages there, at
/// every look.
fn at_home(policy: &str) -> Result<()> {
    let nodes = super::neighbours::nodes()?;
    let manager = Manager::start("", &["--policy", policy])?;
    let mut programs = Vec::new();
    for _ in 0..2 {
        let mut program = manager.run(&["--max", "2"], &load("24"))?;
        program.says("round 1")?;
        programs.push(program);
    }
    let mut least = 1000;
    for _ in 0..12 {
        for program in &programs {
            let home = nodes_of(&nodes, program.pid())?;
            ensure!(home.len() == 1, "{policy}: process {} is on the nodes {home}", program.pid());
            let there = permille_on(program.pid(), &home)?;
            least = least.min(there);
            ensure!(there >= 990, "{policy}: {there} thousandths are on node {home}");
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    let mut homes = CpuSet::new();
    for program in &programs {
        let (status, memory) = memory(&manager, program.pid())?;
        let home = nodes_of(&nodes, program.pid())?;
        ensure!(memory.wanted == home.to_string() && memory.at_home_permille >= 990, "{memory:?}");
        ensure!(memory.bytes.iter().map(|on| on.count).sum::<u64>() >= 48 * MB, "{memory:?}");
        ensure!(status.nodes.len() == 4 && status.nodes.iter().all(|node| node.total > 0), "{:?}", status.nodes);
        homes.or_with(&home);
    }
    ensure!(homes.len() == 2, "{policy}: both programs are on {homes}");
    println!("measured: {policy}: at least {least} thousandths of the pages at home at {} looks", 12 * programs.len());
    same_result(programs.remove(0), "24")
}

/// The processors of a program's node go offline: it goes elsewhere, and its pages after it.
fn follow(_: &Guest) -> Result<()> {
    // Without the kernel's balancing, only the manager moves pages.
    kernel::set("/proc/sys/kernel/numa_balancing", "0")?;
    let nodes = super::neighbours::nodes()?;
    let manager = Manager::start("[memory]\nmoves_mib_per_s = 64\n", &["--policy", "worst-fit", "-v"])?;
    let mut programs = Vec::new();
    for _ in 0..2 {
        let mut program = manager.run(&["--max", "2"], &load("24"))?;
        program.says("round 1")?;
        programs.push(program);
    }
    // Processor 0 cannot go.
    let movable = |program: &Program| Ok::<_, anyhow::Error>(!nodes_of(&nodes, program.pid())?.contains(0));
    let at = usize::from(!movable(&programs[0])?);
    let program = programs.swap_remove(at);
    let home = nodes_of(&nodes, program.pid())?;
    ensure!(permille_on(program.pid(), &home)? >= 990, "its pages are not on node {home} at the beginning");
    let Some(node) = home.iter().next() else { bail!("it is on no node") };
    for cpu in &nodes[&node] {
        kernel::set(format!("/sys/devices/system/cpu/cpu{cpu}/online"), "0")?;
    }
    let look = || {
        let now = nodes_of(&nodes, program.pid())?;
        Ok((now.to_string(), permille_on(program.pid(), &now)?, kernel::bytes_by_node(program.pid(), true)?))
    };
    soon("its pages are where it is now", look, |(now, there, _)| *now != home.to_string() && *there >= 990)?;
    soon(
        "the manager knows",
        || memory(&manager, program.pid()),
        |(_, memory)| memory.moved >= 40 * MB && memory.at_home_permille >= 990,
    )?;
    println!(
        "measured: 48 MB followed from node {home} at 64 MiB/s; log: {}",
        line_of(&manager, "pages have followed")
    );
    same_result(program, "24")
}

fn line_of(manager: &Manager, text: &str) -> String {
    manager.log().lines().find(|line| line.contains(text)).unwrap_or("nothing").to_owned()
}

fn spill(_: &Guest) -> Result<()> {
    let manager = Manager::start("", &["--policy", "HB-Con", "-v"])?;
    // A node has 320 MB.
    let mut program = manager.run(&["--max", "2"], &load("200"))?;
    program.says("round 1")?;
    let said = |(_, memory): &(Status, MemoryStatus)| memory.spilled >= 16 * MB && memory.note.contains("full");
    soon("the spill is said", || memory(&manager, program.pid()), said)?;
    let (_, memory) = memory(&manager, program.pid())?;
    let why = manager.app(program.pid())?.why;
    ensure!(why.contains("outside its home"), "{why}");
    let home = memory.home.context("it has no home")?;
    let bytes = kernel::bytes_by_node(program.pid(), true)?;
    ensure!(bytes.get(&home).is_some_and(|bytes| *bytes >= 100 * MB), "{bytes:?}");
    let log = manager.log();
    ensure!(log.matches("has spilled").count() == 1, "said once:\n{log}");
    println!("measured: of 400 MB {} MB spilled from node {home}: {bytes:?}", memory.spilled / MB);
    same_result(program, "200")
}

fn interleave(_: &Guest) -> Result<()> {
    let nodes = super::neighbours::nodes()?;
    let manager = Manager::start("", &["--policy", "share=equi pages=interleave"])?;
    let mut program =
        manager.run(&["--max", "4"], &["guest-load", "--threads", "4", "--mb", "16", "--seconds", "600"])?;
    program.says("round 1")?;
    let own = nodes_of(&nodes, program.pid())?;
    ensure!(own.len() == 2, "four processors are on the nodes {own}");
    // Each thread begins its turn by itself, and with huge pages there are few turns.
    for node in &own {
        let one: CpuSet = [node].into_iter().collect();
        let there = permille_on(program.pid(), &one)?;
        ensure!((400..=600).contains(&there), "{there} thousandths are on node {node} of {own}");
    }
    ensure!(permille_on(program.pid(), &own)? >= 990, "pages are on other nodes than {own}");
    Ok(())
}

/// The policies of a process's own areas, as the kernel has them.
fn policies(pid: u32) -> Result<Vec<String>> {
    let mut found: Vec<String> = kernel::mappings(pid)?
        .into_iter()
        .filter(|it| it.what == "heap" || it.what == "stack")
        .map(|it| it.policy)
        .collect();
    found.dedup();
    Ok(found)
}

/// The manager tells an OpenMP program in its page that its pages go elsewhere, and the program's
/// root thread carries that out.
fn shim_follows(_: &Guest) -> Result<()> {
    let manager = Manager::start("", &["--policy", "HS-Con"])?;
    let program = manager.run(&["--max", "2"], &["sor", "--size", "96", "--reps", "100000000"])?;
    let attached =
        |status: &Status| status.apps.iter().any(|app| app.pid == program.pid() && app.regions > 0 && app.count > 0);
    soon("it has attached", || manager.status(), attached)?;
    let (_, before) = memory(&manager, program.pid())?;
    let home = before.home.context("it has no home")?;
    let wanted = vec![format!("prefer=static:{home}")];
    soon("its pages go home", || policies(program.pid()), |found| *found == wanted)?;
    manager.ask(&["policy", "set", "worst-fit"])?;
    soon("they go to who touches them", || policies(program.pid()), |found| found == &["default"])?;
    manager.ask(&["policy", "set", "share=equi", "pages=interleave"])?;
    let interleaved = |found: &Vec<String>| found.iter().all(|it| it.starts_with("interleave=static:"));
    soon("they go to its nodes in turn", || policies(program.pid()), interleaved)?;
    manager.ask(&["stop"])?;
    soon("nothing of ours is left", || policies(program.pid()), |found| found == &["default"])
}

fn home_survives(_: &Guest) -> Result<()> {
    let mut manager = Manager::start("", &["--policy", "HB-Con"])?;
    let mut programs = Vec::new();
    for _ in 0..2 {
        let mut program = manager.run(&["--max", "2"], &load("8"))?;
        program.says("round 1")?;
        programs.push(program);
    }
    let homes = |manager: &Manager| -> Result<Vec<Option<u32>>> {
        programs.iter().map(|program| Ok(memory(manager, program.pid())?.1.home)).collect()
    };
    let before = homes(&manager)?;
    ensure!(before.iter().all(Option::is_some) && before[0] != before[1], "{before:?}");
    // The state file follows changes.
    std::thread::sleep(Duration::from_secs(1));
    manager.kill()?;
    let next = Manager::again(manager.directory().to_owned(), "", &["--policy", "HB-Con"])?;
    soon("both are at home where they were", || homes(&next), |after| *after == before)
}

/// With the kernel's balancing on, threads that are far from their pages pull them over; not so
/// where the pages have been sent home.
fn balancing(_: &Guest) -> Result<()> {
    kernel::set("/proc/sys/kernel/numa_balancing", "1")?;
    let nodes = super::neighbours::nodes()?;
    let (mut left, mut took) = (Vec::new(), Duration::ZERO);
    for policy in ["worst-fit", "HB-Con"] {
        let mut manager = Manager::start("[memory]\nmoves_mib_per_s = 0\n", &["--policy", policy])?;
        let mut program = manager.run(&["--max", "2"], &load("8"))?;
        program.says("round 1")?;
        let home = nodes_of(&nodes, program.pid())?;
        manager.kill()?;
        let far = nodes.iter().filter(|(node, _)| !home.contains(**node)).map(|(_, cpus)| cpus).next_back();
        let mask = far.context("no other node")?.iter().fold(0_u64, |mask, cpu| mask | 1 << cpu);
        for thread in kernel::threads(program.pid())? {
            let moved = Command::new("busybox")
                .args(["taskset", "-p", &format!("{mask:x}"), &thread.tid.to_string()])
                .output()?;
            ensure!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
        }
        if policy == "worst-fit" {
            let look = || permille_on(program.pid(), &home);
            let begun = Instant::now();
            soon("the kernel moves pages of first touch", look, |there| *there < 500)?;
            took = begun.elapsed();
        } else {
            // Three times as long as the kernel needed where it was allowed to.
            std::thread::sleep((took * 3).max(Duration::from_secs(3)));
        }
        left.push(permille_on(program.pid(), &home)?);
    }
    println!("measured: at home after balancing: {} thousandths under first touch, {} with a home", left[0], left[1]);
    ensure!(left[1] >= 990, "{left:?}");
    Ok(())
}
