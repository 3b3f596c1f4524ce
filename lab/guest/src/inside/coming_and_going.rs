//! Programs of unequal widths come and go, under pools and under homes. After every step the
//! scenario asks the kernel for each program's processors and for the nodes of its pages. In
//! between it asks all the time whether two programs have a processor in common.
//!
//! The invariants of Brecht that can be seen from outside: I1 and I3 for a program that comes (its
//! processors are the ones that worst fit gives), I5 (from an empty machine everybody has a node
//! alone), I6 (no program that stays loses or changes a processor), I7 (a program that waits could
//! not have had the processors it needs). I2 and I4 belong to other rules. Of Koita's: K1
//! (everybody has a node alone), K5 (slide: outside only if the home is full), K6 (all pages at
//! home), K7 (basic home: nobody moves, except out of another program's new home). K2 to K4 and K8
//! are about idle processors and single grants, which only the engine sees: its own tests look at
//! them.

use super::manager::{Manager, Program};
use super::neighbours::{Picture, is_worst_fit, nodes};
use super::patience::until;
use super::{Guest, Scenario, kernel};
use anyhow::{Context, Result, ensure};
use numaestro_topology::CpuSet;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "going-worst-fit-keeps-programs-apart", guests: &["four"], run: worst_fit },
    Scenario { name: "going-basic-home-everybody-has-a-node", guests: &["four"], run: basic_home },
    Scenario { name: "going-slide-home-everybody-has-a-node", guests: &["two", "odd"], run: slide_home },
];

/// Programs that come or go, one after the other: a number and no time, so that the same happens on
/// every machine.
const STEPS: usize = 24;
const WIDTHS: [usize; 6] = [1, 2, 3, 1, 2, 4];
const PATIENCE: Duration = Duration::from_mins(2);
/// Megabytes of each thread.
const MB: u64 = 4;

/// Programs below one manager, and a thread that looks at the kernel all the time.
pub(super) struct Stage {
    manager: Manager,
    /// Processors of every node that has some.
    pub nodes: BTreeMap<u32, CpuSet>,
    programs: BTreeMap<u32, (Program, usize)>,
    watched: Arc<Watched>,
    watcher: Option<std::thread::JoinHandle<()>>,
    dice: u64,
}

/// The programs that the watching thread looks at, and the fault that it has seen.
#[derive(Default)]
struct Watched {
    pids: Mutex<Vec<u32>>,
    looks: AtomicU64,
    fault: Mutex<Option<String>>,
    enough: AtomicBool,
}

impl Watched {
    fn look(&self) {
        let pids = self.pids.lock().map(|pids| pids.clone()).unwrap_or_default();
        let sets: Vec<(u32, CpuSet)> = pids.into_iter().filter_map(|pid| Some((pid, allowed(pid)?))).collect();
        self.looks.fetch_add(1, Ordering::Relaxed);
        for (index, (a, of_a)) in sets.iter().enumerate() {
            for (b, of_b) in &sets[index + 1..] {
                let both = of_a.intersection(of_b);
                // The sets were not read at one moment, so two programs share only the processors
                // that the first one still has.
                let still = allowed(*a).is_some_and(|now| now.intersects(&both));
                if !both.is_empty() && still && allowed(*b).is_some_and(|now| now.intersects(&both)) {
                    let text = format!("processes {a} and {b} both have {both}");
                    self.fault.lock().map(|mut fault| fault.get_or_insert(text).clone()).ok();
                }
            }
        }
    }
}

/// All processors that a thread of the process may use; `None` if it is gone.
fn allowed(pid: u32) -> Option<CpuSet> {
    let mut all = CpuSet::new();
    kernel::threads(pid).ok()?.iter().for_each(|thread| all.or_with(&thread.allowed));
    (!all.is_empty()).then_some(all)
}

impl Stage {
    /// A stage with this policy, and no program on it.
    pub fn new(policy: &str) -> Result<Self> {
        let manager = Manager::start(&format!("policy = \"{policy}\"\ncgroups = \"off\""), &[])?;
        let watched = Arc::new(Watched::default());
        let thread = std::thread::spawn({
            let watched = watched.clone();
            move || {
                while !watched.enough.load(Ordering::Relaxed) {
                    watched.look();
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        });
        let programs = BTreeMap::new();
        Ok(Self { manager, nodes: nodes()?, programs, watched, watcher: Some(thread), dice: 20_261_122 })
    }

    /// A number below `sides`, the same in every run.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice >> 20) as usize % sides
    }

    /// Number of processors.
    pub fn all(&self) -> usize {
        self.nodes.values().map(CpuSet::len).sum()
    }

    /// Starts a program of this width; with `rigid` it runs with all its processors or waits.
    pub fn start(&mut self, width: usize, rigid: bool) -> Result<u32> {
        let (width_text, megabytes) = (width.to_string(), MB.to_string());
        let mut options = vec!["--max", width_text.as_str()];
        if rigid {
            options.extend(["--min", width_text.as_str()]);
        }
        let load = ["guest-load", "--threads", &width_text, "--mb", &megabytes, "--seconds", "600"];
        let program = self.manager.run(&options, &load)?;
        let pid = program.pid();
        self.manager.app(pid)?;
        self.programs.insert(pid, (program, width));
        Ok(pid)
    }

    /// All programs, also the waiting ones.
    pub fn pids(&self) -> Vec<u32> {
        self.programs.keys().copied().collect()
    }

    /// Kills one program.
    pub fn end(&mut self, pid: u32) {
        if let Ok(mut pids) = self.watched.pids.lock() {
            pids.retain(|watched| *watched != pid);
        }
        self.programs.remove(&pid);
    }

    /// Waits until everything has come to rest, and takes a picture of the programs that run. It
    /// asks the manager only which programs run and whether it is at rest.
    pub fn settle(&mut self) -> Result<Picture> {
        let (manager, programs) = (&self.manager, &mut self.programs);
        let known: Vec<u32> = programs.keys().copied().collect();
        let look = || {
            let status = manager.status()?;
            let mut running = Vec::new();
            for pid in &known {
                let app = status.apps.iter().find(|app| app.pid == *pid).context("it is not known")?;
                if app.state != "waiting" {
                    ensure!(app.count > 0 && app.epoch[0] == app.epoch[1], "{pid} is on its way");
                    ensure!(programs[pid].0.output().contains("round"), "{pid} has not begun");
                    running.push(*pid);
                }
            }
            ensure!(status.apps.len() == known.len(), "one that has ended is still known");
            Picture::take(running)
        };
        let mut before = None;
        // The same picture twice, because the work that one look begins is over at the next.
        let picture = until("everything comes to rest", PATIENCE, look, |seen| {
            let same = before.as_ref() == Some(seen);
            before = Some(seen.clone());
            same.then(|| seen.clone())
        })?;
        if let Ok(mut pids) = self.watched.pids.lock() {
            *pids = picture.programs.keys().copied().collect();
        }
        let fault = self.watched.fault.lock().map(|fault| fault.clone()).unwrap_or_default();
        ensure!(fault.is_none(), "{}", fault.unwrap_or_default());
        picture.expect_apart()?;
        Ok(picture)
    }

    fn width(&self, pid: u32) -> usize {
        self.programs.get(&pid).map_or(0, |entry| entry.1)
    }

    /// Programs come and go; `check` sees each step: the pictures before and after, the program
    /// that came, the program that went.
    fn come_and_go(
        &mut self,
        rigid: bool,
        check: impl Fn(&Self, &Picture, &Picture, Option<u32>, Option<u32>) -> Result<()>,
    ) -> Result<String> {
        let (mut most, mut sharing, mut waited) = (0, 0, 0);
        let mut before = self.settle()?;
        for step in 0..STEPS {
            let present = self.pids();
            let leave = present.len() == WIDTHS.len() || (!present.is_empty() && self.roll(5) < 2);
            let (came, went) = if leave {
                let pid = present[self.roll(present.len())];
                self.end(pid);
                (None, Some(pid))
            } else {
                (Some(self.start(WIDTHS[step % WIDTHS.len()], rigid)?), None)
            };
            let after = self.settle()?;
            check(self, &before, &after, came, went).with_context(|| {
                format!("step {step}: came {came:?}, went {went:?}; before {before:?}; after {after:?}")
            })?;
            most = most.max(after.programs.len());
            sharing += usize::from(self.nodes.values().any(|cpus| after.within(cpus).len() > 1));
            waited += usize::from(after.programs.len() < self.programs.len());
            before = after;
        }
        let looks = self.watched.looks.load(Ordering::Relaxed);
        Ok(format!(
            "{STEPS} steps, {looks} looks in between; at most {most} programs at once; a node was shared after {sharing} steps, somebody waited after {waited}"
        ))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.watched.enough.store(true, Ordering::Relaxed);
        if let Some(watcher) = self.watcher.take() {
            let _ = watcher.join();
        }
    }
}

fn worst_fit(_: &Guest) -> Result<()> {
    let mut stage = Stage::new("worst-fit")?;
    // I5: pools of one size, no program wider than a pool, a pool for each program.
    let size = stage.nodes.values().map(CpuSet::len).max().unwrap_or(1);
    for index in 0..stage.nodes.len() {
        stage.start(1 + index % size, true)?;
    }
    let picture = stage.settle()?;
    ensure!(picture.programs.len() == stage.nodes.len(), "I5: somebody waits: {picture:?}");
    for cpus in stage.nodes.values() {
        ensure!(picture.within(cpus).len() == 1, "I5: not everybody has a node alone: {picture:?}");
    }
    for pid in picture.programs.keys() {
        stage.end(*pid);
    }
    let said = stage.come_and_go(true, |stage, before, after, came, went| {
        let free: Vec<CpuSet> = stage.nodes.values().map(|node| node.difference(&before.used())).collect();
        for (pid, cpus) in &after.programs {
            ensure!(cpus.len() == stage.width(*pid), "process {pid} has {cpus} and needs {}", stage.width(*pid));
            if let Some(then) = before.programs.get(pid) {
                ensure!(then == cpus, "I6: process {pid} was moved from {then} to {cpus}");
            }
        }
        let unused = stage.all() - after.used().len();
        let waiting: Vec<u32> =
            stage.programs.keys().copied().filter(|pid| !after.programs.contains_key(pid)).collect();
        if let Some(pid) = came {
            match after.programs.get(&pid) {
                Some(found) => {
                    ensure!(is_worst_fit(found, &free), "I1, I3: process {pid} was given {found}, free were {free:?}");
                }
                // First come, first served: the program may wait for another waiting one.
                None => ensure!(stage.width(pid) > unused || waiting.len() > 1, "I7: process {pid} waits"),
            }
        }
        if went.is_some() && !waiting.is_empty() {
            ensure!(waiting.iter().any(|pid| stage.width(*pid) > unused), "I7: {waiting:?} wait, {unused} are free");
        }
        after.expect_no_needless_sharing(before, &stage.nodes)
    })?;
    println!("measured: worst-fit: {said}");
    Ok(())
}

/// The node that holds the pages of a program's own memory, if nearly all of them lie in one.
pub(super) fn node_of_pages(pid: u32) -> Result<u32> {
    let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
    // The memory it works on: mappings larger than the ones that a stack or a library touches.
    for mapping in kernel::mappings(pid)?.iter().filter(|mapping| !mapping.what.starts_with('/')) {
        if mapping.bytes.values().sum::<u64>() >= 1 << 20 {
            mapping.bytes.iter().for_each(|(node, more)| *bytes.entry(*node).or_insert(0) += more);
        }
    }
    let (node, most) = bytes.iter().max_by_key(|(_, bytes)| **bytes).context("it has no memory")?;
    let sum: u64 = bytes.values().sum();
    ensure!(most * 100 >= sum * 98, "K6: the memory of process {pid} is not in one node: {bytes:?}");
    Ok(*node)
}

/// Checks K1, K5 and K6 at one moment.
fn expect_homes(stage: &Stage, picture: &Picture, slide: bool) -> Result<()> {
    ensure!(picture.programs.len() <= stage.nodes.len(), "K1: more programs than nodes run: {picture:?}");
    for (pid, cpus) in &picture.programs {
        let alone = |node: &&u32| picture.within(&stage.nodes[node]) == [*pid];
        let mine: Vec<u32> = stage.nodes.keys().filter(alone).copied().collect();
        ensure!(!mine.is_empty(), "K1: process {pid} ({cpus}) has no node for itself: {picture:?}");
        let home = node_of_pages(*pid)?;
        let with_memory = kernel::list("/sys/devices/system/node/has_memory")?;
        // The memory of a home without memory lies elsewhere.
        if mine.iter().all(|node| with_memory.contains(*node)) {
            ensure!(mine.contains(&home), "K6: process {pid} is alone in {mine:?}, and its memory is in node {home}");
            if slide && !cpus.is_subset(&stage.nodes[&home]) {
                ensure!(
                    stage.nodes[&home].is_subset(cpus),
                    "K5: process {pid} ({cpus}) is outside, and its home {home} is not full"
                );
            }
        }
        ensure!(cpus.len() <= stage.width(*pid), "process {pid} has {cpus} and wants {}", stage.width(*pid));
    }
    Ok(())
}

fn basic_home(_: &Guest) -> Result<()> {
    let mut stage = Stage::new("HB-Con")?;
    let said = stage.come_and_go(false, |stage, before, after, _, _| {
        expect_homes(stage, after, false)?;
        for (pid, cpus) in &after.programs {
            let Some(then) = before.programs.get(pid) else { continue };
            for lost in &then.difference(cpus) {
                let node = stage.nodes.values().find(|node| node.contains(lost)).context("no such processor")?;
                let others: Vec<u32> = after.within(node).into_iter().filter(|other| other != pid).collect();
                ensure!(!others.is_empty(), "K7: process {pid} has left {lost}, which is in nobody's home");
            }
        }
        after.expect_no_needless_sharing(before, &stage.nodes)
    })?;
    println!("measured: HB-Con: {said}");
    Ok(())
}

fn slide_home(_: &Guest) -> Result<()> {
    let mut stage = Stage::new("HS-Con")?;
    let said = stage.come_and_go(false, |stage, _, after, _, _| expect_homes(stage, after, true))?;
    println!("measured: HS-Con: {said}");
    Ok(())
}
