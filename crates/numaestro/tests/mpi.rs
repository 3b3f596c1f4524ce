//! Ranks of MPI on one node, two with one and two shares of work: each is an application, the rank
//! that waits lends its processor to the one that computes, and the result is the same, bit for
//! bit.

mod support;

use numaestro_abi::control::AppStatus;
use numaestro_skip::skip;
use std::collections::BTreeSet;
use std::process::Command;
use support::ended::{self, Ended};
use support::manager::{Manager, alone};
use support::{eventually, hang, has, processors, programs, turn};

/// Under these rules ranks wait as they do without numaestro.
const LEFT: &str = "libopen-pal=leave,libmpich=leave";
/// Iterations of a run, and sweeps of the rank with less work in each: it waits for tens of
/// milliseconds.
const WORK: [&str; 3] = ["work", "20", "150"];
/// Runs with and without lending; an odd number.
const ROUNDS: usize = 3;
/// Rank 0 tests a hundred times for a message after each 20 microseconds of work.
const OVERLAP: [&str; 3] = ["overlap", "100", "20"];

/// An implementation of MPI, with its launcher and the test program that its compiler has made.
struct Implementation {
    launcher: String,
    ranks: String,
}

impl Implementation {
    /// By Debian's name of it; `Err` says why not.
    fn find(name: &str) -> Result<Self, String> {
        let launcher = format!("mpirun.{name}");
        if processors() < 2 {
            return Err("one processor only".to_owned());
        }
        match programs::program(name, "ranks") {
            Some(ranks) if has(&launcher) => Ok(Self { launcher, ranks }),
            _ => Err(format!("{name} is not here")),
        }
    }

    /// Two ranks, and what they do. Open MPI would bind two ranks by itself, and who is bound uses
    /// no processor that another one lends.
    fn command<'a>(&'a self, what: &[&'a str]) -> Vec<&'a str> {
        [&[self.launcher.as_str(), "-bind-to", "none", "-n", "2", self.ranks.as_str()], what].concat()
    }
}

/// Both ranks have teams of two threads, and root may start them.
fn two_threads(command: &mut Command) -> &mut Command {
    let root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    command.env("OMP_NUM_THREADS", "2").envs(root.map(|name| (name, "1")))
}

/// The line of rank 0.
fn said(ended: &Ended) -> serde_json::Value {
    assert!(ended.status.success(), "ends with {}: {}{}", ended.code(), ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).expect("a line of JSON")
}

/// One number for those of all iterations.
fn checksum(ended: &Ended) -> String {
    said(ended)["checksum"].as_str().expect("a checksum").to_owned()
}

/// The part of its waits for which rank 0 used a processor.
fn used_of_waits(ended: &Ended) -> f64 {
    let said = said(ended);
    let seconds = |name: &str| said[name].as_f64().expect("seconds");
    seconds("used") / seconds("waited")
}

/// The number of pieces of work between two rows of tests for a message.
fn pieces(ended: &Ended) -> u64 {
    said(ended)["pieces"].as_u64().expect("a number")
}

/// The ranks that are applications now.
fn ranks(manager: &Manager) -> Vec<AppStatus> {
    let apps = manager.status().map(|status| status.apps).unwrap_or_default();
    apps.into_iter().filter(|app| app.name == "ranks" && app.regions > 0).collect()
}

/// Two ranks that have come to their end.
struct Watched {
    /// Their checksum, the number of applications that they were, and whether one had both
    /// processors while both were there.
    seen: (String, usize, bool),
    used_of_waits: f64,
}

fn watched(manager: &Manager, command: &mut Command) -> Watched {
    let running = ended::start(command);
    let (mut seen, mut lent) = (BTreeSet::new(), false);
    let over = eventually(|| {
        let present = ranks(manager);
        seen.extend(present.iter().map(|rank| rank.pid));
        lent |= present.len() == 2 && present.iter().any(|rank| rank.count == 2);
        present.is_empty() && !seen.is_empty()
    });
    assert!(over, "the ranks do not end: {:#?}", ranks(manager));
    let ended = running.end_within(hang()).unwrap_or_else(|description| panic!("mpirun hangs\n{description}"));
    Watched { seen: (checksum(&ended), seen.len(), lent), used_of_waits: used_of_waits(&ended) }
}

/// The median of an odd number of values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn waiting_ranks_lend(implementation: &Implementation) {
    let command = implementation.command(&WORK);
    // Beside spinning ranks, threads that spin, too, would take a minute.
    let plain = checksum(&ended::run(two_threads(&mut alone(&command)).env("OMP_WAIT_POLICY", "passive")));
    let manager = Manager::of_processors(&first_two());

    // What the test sees comes from the sleep of the rank that waits, and from nothing else. Rounds
    // alternate, so each number is compared with one from the same machine under the same load.
    let (mut lending, mut spinning) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let free = watched(&manager, two_threads(&mut manager.run_command(&command)));
        assert_eq!(free.seen, (plain.clone(), 2, true), "two applications, and one lends");
        lending.push(free.used_of_waits);
        let mut left = manager.run_command(&command);
        let left = watched(&manager, two_threads(&mut left).env("NUMAESTRO_LIBRARIES", LEFT));
        assert_eq!(left.seen, (plain.clone(), 2, false), "two applications, and both work or spin");
        spinning.push(left.used_of_waits);
    }
    let (lending, spinning) = (median(lending), median(spinning));
    assert!(
        lending < spinning / 2.0,
        "a rank that waits uses {lending:.2} of a processor, one that spins {spinning:.2}"
    );

    // A rank that computes, and only tests for its message now and then, is not put to sleep. At
    // its end it may wait for the other one, and lend.
    let overlap = implementation.command(&OVERLAP);
    let free = pieces(&ended::run(two_threads(&mut manager.run_command(&overlap))));
    let mut left = manager.run_command(&overlap);
    let left = pieces(&ended::run(two_threads(&mut left).env("NUMAESTRO_LIBRARIES", LEFT)));
    assert!(free > left / 4, "{free} pieces of work, and {left} where it is left alone");

    // Ranks in a managed shell are managed, too.
    let mut shell = manager.command(["shell", "--"]);
    let shell = watched(&manager, two_threads(shell.args(&command)));
    assert_eq!(shell.seen, (plain, 2, true));
    manager.expect_all_free();
}

/// A list of two processors that this process may use.
fn first_two() -> String {
    let all = numaestro_host::affinity::get(0).expect("an affinity");
    let two: Vec<String> = all.iter().take(2).map(|pu| pu.to_string()).collect();
    two.join(",")
}

#[test]
fn ranks_of_open_mpi_lend_while_they_wait() {
    let _turn = turn();
    match Implementation::find("openmpi") {
        Ok(implementation) => waiting_ranks_lend(&implementation),
        Err(why) => skip!("{why}"),
    }
}

#[test]
fn ranks_of_mpich_lend_while_they_wait() {
    let _turn = turn();
    match Implementation::find("mpich") {
        Ok(implementation) => waiting_ranks_lend(&implementation),
        Err(why) => skip!("{why}"),
    }
}
