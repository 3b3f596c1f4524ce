//! The scenarios that run in a guest: each uses numaestro as its users do and then asks the kernel
//! for the truth.
//!
//! # To add a scenario
//! 1. Write `src/inside/TOPIC.rs` (or use one that is there):
//!    `pub const SCENARIOS: &[Scenario] = &[...]`, each with a name `topic-what-holds`, the guests
//!    it is for (names of [`crate::plan::BOOTS`]) and a function `fn(&Guest) -> Result<()>`.
//! 2. `mod TOPIC;` below, and `TOPIC::SCENARIOS` in [`TOPICS`]. That is all.
//! 3. A program or file that it needs goes into [`crate::plan::job`].
//! 4. `make test-numa ONLY=topic BOOT=four`, while you work on it.
//!
//! A scenario fails by returning an error (`ensure!`, `bail!`, `?`) or by panicking; the others go
//! on. Lines that it writes as `measured: ...` are shown also when all is well. Each has a process
//! of its own and [`SECONDS_MAX`] seconds. Afterwards the runner kills every process that still
//! runs, removes control groups, brings processors online again and puts the kernel's settings
//! ([`SETTINGS`]) back, so that no scenario depends on the one before.
//!
//! # Helpers
//! * [`manager::Manager`]: a manager of one's own (with a configuration file and options), `run`
//!   below it, its status.
//! * [`kernel`]: threads with the processors and nodes they may use and the processors they ran on
//!   last, pages by node, control groups, settings.
//! * [`patience::until`]: emulation is slow, so a scenario expects nothing at once and measures no
//!   time.
//! * `guest-load` (`src/bin/load.rs`): threads with memory that check themselves; the OpenMP
//!   programs of `kernels/` are in the search path too. [`Guest::shape`] is the shape that was
//!   asked for. The users are root, alice (1001), bob (1002), carol (1003).
//!
//! A guest's processors are emulated: their speed says nothing.

pub mod kernel;
pub mod manager;
pub mod neighbours;
pub mod patience;

mod as_asked;
mod cgroups;
mod coming_and_going;
mod hotplug;
mod leftovers;
mod odd_nodes;
mod pages;
mod placing;
mod repartition;
mod restart;
mod rules;
mod users;
mod validate;

use crate::shape::Shape;
use anyhow::{Context, Result};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// All scenarios, by topic.
pub const TOPICS: &[&[Scenario]] = &[
    as_asked::SCENARIOS,
    cgroups::SCENARIOS,
    coming_and_going::SCENARIOS,
    hotplug::SCENARIOS,
    leftovers::SCENARIOS,
    odd_nodes::SCENARIOS,
    pages::SCENARIOS,
    placing::SCENARIOS,
    repartition::SCENARIOS,
    restart::SCENARIOS,
    rules::SCENARIOS,
    users::SCENARIOS,
    validate::SCENARIOS,
];

/// After this many seconds a scenario has failed. This is much more than any scenario needs: a slow
/// machine is no fault, and the guest has a limit of its own.
pub const SECONDS_MAX: u64 = 300;

/// Settings of the kernel that scenarios may change: they are put back after each.
pub const SETTINGS: [&str; 3] = [
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/vm/zone_reclaim_mode",
    "/sys/kernel/mm/transparent_hugepage/enabled",
];

/// One statement that must hold.
#[derive(Debug)]
pub struct Scenario {
    /// `topic-what-holds`.
    pub name: &'static str,
    /// The guests it is for.
    pub guests: &'static [&'static str],
    /// Tries the statement; the error says why it does not hold.
    pub run: fn(&Guest) -> Result<()>,
}

/// The guest a scenario runs in.
#[derive(Debug)]
pub struct Guest {
    /// The shape that was asked for.
    pub shape: Shape,
    /// Its name among the boots; empty in one that somebody made by hand.
    pub name: String,
}

impl Guest {
    /// The guest this runs in.
    ///
    /// # Errors
    /// This is no guest.
    pub fn this() -> Result<Self> {
        let text = std::fs::read_to_string("/job/shape").context("/job/shape: this program is for guests only")?;
        let mut lines = text.lines();
        let mut line = || lines.next().unwrap_or_default();
        let (nodes, distances, threads) = (line(), line(), line());
        let shape = Shape::parse(nodes, distances, threads.parse().context("/job/shape")?)?;
        Ok(Self { shape, name: std::env::var("GUEST_NAME").unwrap_or_default() })
    }
}

/// The scenarios for one guest whose name contains `only`.
pub fn chosen<'a>(guest: &'a str, only: &'a str) -> impl Iterator<Item = &'static Scenario> + 'a {
    let all = TOPICS.iter().copied().flatten();
    all.filter(move |it| it.guests.contains(&guest) && it.name.contains(only))
}

/// The program `guest-inside`: runs all scenarios of this guest, or the part that its arguments
/// name.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["scenarios", guest] => scenarios(guest, ""),
        ["scenarios", guest, only] => scenarios(guest, only),
        ["one", name] => one(name).map(|()| true),
        ["record", before] => crate::record::print(before).map(|()| true),
        _ => Err(anyhow::anyhow!("usage: guest-inside scenarios GUEST [TEXT] | one NAME | record COMMAND")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one scenario. It has a process of its own, so that not even a crash or a hang stops the
/// others.
fn one(name: &str) -> Result<()> {
    let scenario = TOPICS.iter().copied().flatten().find(|it| it.name == name).context("no such scenario")?;
    (scenario.run)(&Guest::this()?)
}

/// Runs the scenarios in order; says whether all went well.
fn scenarios(guest: &str, only: &str) -> Result<bool> {
    let slate = Slate::now();
    let (mut passed, mut failed) = (0, 0);
    for scenario in chosen(guest, only) {
        say(&format!("test {} ... ", scenario.name));
        let begun = Instant::now();
        let outcome = in_own_process(scenario, guest)?;
        slate.wipe();
        match outcome {
            Ok(said) => {
                passed += 1;
                say(&format!("ok ({} s)\n{said}", begun.elapsed().as_secs()));
            }
            Err(reason) => {
                failed += 1;
                say(&format!("FAILED\n{}\n", reason.trim_end()));
            }
        }
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    say(&format!("test result: {word}. {passed} passed; {failed} failed; 0 ignored\n"));
    Ok(failed == 0)
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The output of a scenario in a process of its own: its measurements, or the reason why it failed.
fn in_own_process(scenario: &Scenario, guest: &str) -> Result<Result<String, String>> {
    let log = format!("/tmp/{}.log", scenario.name);
    let output = std::fs::File::create(&log)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["one", scenario.name]).env("GUEST_NAME", guest).env("RUST_BACKTRACE", "0").process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > Duration::from_secs(SECONDS_MAX) {
            // The cause of a hang is best seen from outside.
            let stuck = kernel::processes_text();
            child.kill()?;
            child.wait()?;
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            return Ok(Err(format!("{text}not over after {SECONDS_MAX} s; these ran:\n{stuck}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let wrote = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    if status.is_some_and(|status| status.success()) {
        // Its measurements; the rest is only of interest when something is wrong.
        let lines: Vec<&str> = wrote.lines().filter_map(|line| line.strip_prefix("measured: ")).collect();
        return Ok(Ok(lines.iter().flat_map(|line| ["    ", line, "\n"]).collect()));
    }
    Ok(Err(wrote))
}

/// The state of the guest before the first scenario.
struct Slate {
    online: String,
    settings: Vec<(&'static str, String)>,
}

impl Slate {
    fn now() -> Self {
        let online = kernel::text("/sys/devices/system/cpu/online").unwrap_or_default();
        let settings = SETTINGS.iter().filter_map(|path| Some((*path, kernel::text(path).ok()?))).collect();
        Self { online, settings }
    }

    /// Ends every process that still runs and puts everything back.
    fn wipe(&self) {
        kernel::kill_others();
        if kernel::text("/sys/devices/system/cpu/online").is_ok_and(|now| now != self.online) {
            for cpu in &self.online.parse::<numaestro_topology::CpuSet>().unwrap_or_default() {
                let _ = std::fs::write(format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1");
            }
        }
        for (path, value) in &self.settings {
            // Where one of several words is chosen, the choice stands in brackets.
            let word =
                value.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(value.as_str(), |(w, _)| w);
            let _ = std::fs::write(path, word);
        }
        kernel::remove_cgroups();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_has_a_name_of_its_own_and_a_guest() {
        let mut names: Vec<&str> = TOPICS.iter().copied().flatten().map(|it| it.name).collect();
        let guests: Vec<&str> = crate::plan::BOOTS.iter().map(|boot| boot.name).collect();
        for it in TOPICS.iter().copied().flatten() {
            assert!(!it.guests.is_empty() && it.guests.iter().all(|name| guests.contains(name)), "{}", it.name);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "two scenarios have one name");
    }
}
