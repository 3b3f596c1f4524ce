//! Three users under the manager of all users. Their weights give each a share within 1 processor
//! of the right one, the kernel confirms it, and no user reaches the programs of another.

use super::manager::{Manager, Program};
use super::patience::{soon, until};
use super::{Guest, Scenario, kernel};
use anyhow::{Result, ensure};
use numaestro_topology::CpuSet;
use std::os::unix::process::CommandExt;
use std::time::Duration;

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "users-share-by-weight", guests: &["two"], run: share_by_weight },
    Scenario { name: "users-cannot-steer-each-other", guests: &["four"], run: cannot_steer },
];

const ALICE: u32 = 1001;
const BOB: u32 = 1002;
const CAROL: u32 = 1003;

const LOAD: [&str; 7] = ["guest-load", "--threads", "8", "--mb", "1", "--seconds", "600"];

fn weights(alice: u32, bob: u32, carol: u32) -> String {
    format!("[users.alice]\nweight = {alice}.0\n[users.bob]\nweight = {bob}.0\n[users.carol]\nweight = {carol}.0\n")
}

/// The processors on which any thread of a program may run.
fn allowed(program: &Program) -> Result<CpuSet> {
    let mut all = CpuSet::new();
    for thread in kernel::threads(program.pid())? {
        all.or_with(&thread.allowed);
    }
    ensure!(!all.is_empty(), "process {} has no threads", program.pid());
    Ok(all)
}

/// Checks that the processors of each user, as the kernel has them, are within 1 processor of the
/// share of the weights, and that no two users have one in common.
fn shares(users: &[(f64, Vec<&Program>)], pus: u32) -> Result<()> {
    let total: f64 = users.iter().map(|(weight, _)| weight).sum();
    let look = || {
        let of = |(_, programs): &(f64, Vec<&Program>)| {
            let mut all = CpuSet::new();
            for program in programs {
                all.or_with(&allowed(program)?);
            }
            Ok(all)
        };
        users.iter().map(of).collect::<Result<Vec<CpuSet>>>()
    };
    soon("everybody has a share by weight", look, |sets| {
        let right = |((weight, _), set): (&(f64, Vec<&Program>), &CpuSet)| {
            let ideal = weight / total * f64::from(pus);
            (f64::from(u32::try_from(set.len()).unwrap_or(u32::MAX)) - ideal).abs() < 1.0
        };
        let apart = sets.iter().enumerate().all(|(at, set)| sets[at + 1..].iter().all(|other| !set.intersects(other)));
        apart && users.iter().zip(sets).all(right)
    })?;
    let sizes: Vec<usize> = look()?.iter().map(CpuSet::len).collect();
    println!(
        "measured: {sizes:?} of {pus} processors by weights {:?}",
        users.iter().map(|(w, _)| *w).collect::<Vec<_>>()
    );
    Ok(())
}

fn share_by_weight(guest: &Guest) -> Result<()> {
    let pus = guest.shape.pu_count();
    let manager = Manager::start(&weights(1, 2, 1), &["--system"])?;
    let start = |user: u32| -> Result<Program> {
        let program = manager.run_as(Some(user), &[], &LOAD)?;
        manager.app(program.pid())?;
        Ok(program)
    };
    let (alices, bobs, mut carols) = (start(ALICE)?, start(BOB)?, start(CAROL)?);
    shares(&[(1.0, vec![&alices]), (2.0, vec![&bobs]), (1.0, vec![&carols])], pus)?;
    // A second program gives its user no more, whatever it wishes.
    let second = manager.run_as(Some(ALICE), &["--weight", "50"], &LOAD)?;
    manager.app(second.pid())?;
    shares(&[(1.0, vec![&alices, &second]), (2.0, vec![&bobs]), (1.0, vec![&carols])], pus)?;
    // Other weights while all run.
    std::fs::write(manager.directory().join("config.toml"), format!("unmanaged = false\n{}", weights(2, 1, 1)))?;
    // In an emulated machine under load the command may lose patience.
    until("the manager reloads", Duration::from_mins(2), || manager.ask(&["reload"]), |_| Some(()))?;
    shares(&[(2.0, vec![&alices, &second]), (1.0, vec![&bobs]), (1.0, vec![&carols])], pus)?;
    carols.kill();
    shares(&[(2.0, vec![&alices, &second]), (1.0, vec![&bobs])], pus)
}

/// Runs a command as a user, which must fail; returns its output.
fn refused(manager: &Manager, user: u32, arguments: &[&str]) -> Result<String> {
    let output = manager.command(arguments).uid(user).gid(user).current_dir("/tmp").output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(!output.status.success(), "{arguments:?} is not refused: {text}");
    Ok(text)
}

fn cannot_steer(_: &Guest) -> Result<()> {
    let manager = Manager::start("", &["--system"])?;
    let program = manager.run_as(Some(ALICE), &[], &LOAD)?;
    let known = manager.app(program.pid())?;
    ensure!(known.user.as_deref() == Some("alice"), "whose is it? {:?}", known.user);
    let (app, pid) = (known.app.to_string(), program.pid().to_string());
    for arguments in [&["release", &app][..], &["adopt", &pid], &["policy", "set", "dss"], &["reload"], &["stop"]] {
        let text = refused(&manager, BOB, arguments)?;
        let explained = ["you have no application", "is not one of your programs", "needs an administrator"];
        ensure!(explained.iter().any(|words| text.contains(words)), "{arguments:?}: {text}");
    }
    let output = manager.command(&["status", "--json"]).uid(BOB).gid(BOB).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success() && !text.contains("alice") && !text.contains("guest-load"), "bob sees {text}");
    ensure!(manager.app(program.pid())?.count == known.count, "alice has lost processors");
    Ok(())
}
