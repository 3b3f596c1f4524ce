//! Repartitioning: programs come and go. When everything has come to rest, each program that fits a
//! node is on one node with its pages, wherever it was before.
//!
//! While more programs run than there are nodes, one may stay on two nodes where bringing it
//! together would cost more than it saves. The scenario counts that; it is no fault.

use super::coming_and_going::{Stage, node_of_pages};
use super::neighbours::Picture;
use super::patience::soon;
use super::{Guest, Scenario};
use anyhow::{Result, ensure};

/// See [`super::TOPICS`].
pub const SCENARIOS: &[Scenario] =
    &[Scenario { name: "repartition-each-on-one-node-with-its-pages", guests: &["four"], run: one_node_each }];

/// Programs that come or go one after the other.
const STEPS: usize = 6;

/// The nodes that a program has processors in.
fn nodes_of(stage: &Stage, picture: &Picture, pid: u32) -> Vec<u32> {
    let mine = &picture.programs[&pid];
    stage.nodes.iter().filter(|(_, cpus)| cpus.intersects(mine)).map(|(node, _)| *node).collect()
}

/// Checks that no program is on more nodes than it needs.
fn expect_together(stage: &Stage, picture: &Picture) -> Result<()> {
    for (pid, cpus) in &picture.programs {
        let on = nodes_of(stage, picture, *pid);
        ensure!(on.len() == 1, "process {pid} ({cpus}) fits a node and is on {on:?}: {picture:?}");
    }
    Ok(())
}

/// Waits until the pages of every program are where its processors are.
fn pages_follow(stage: &Stage, picture: &Picture) -> Result<()> {
    for pid in picture.programs.keys().copied() {
        let home = nodes_of(stage, picture, pid);
        soon(
            &format!("the pages of process {pid} are on node {home:?}"),
            || node_of_pages(pid),
            |node| home == [*node],
        )?;
    }
    Ok(())
}

fn one_node_each(_: &Guest) -> Result<()> {
    let mut stage = Stage::new("equi-pools pages=home")?;
    let (all, count) = (stage.all(), stage.nodes.len());
    let node = all / count;
    // One program has the whole machine. Others come until there is a node for each: it must come
    // together on one, and its pages after it.
    let wide = stage.start(all, false)?;
    let alone = stage.settle()?;
    ensure!(alone.programs[&wide].len() == all, "the only program has {:?}", alone.programs);
    for _ in 1..count {
        stage.start(all, false)?;
    }
    let full = stage.settle()?;
    ensure!(full.programs.values().all(|cpus| cpus.len() == node), "equal shares are a node each: {full:?}");
    expect_together(&stage, &full)?;
    pages_follow(&stage, &full)?;
    for pid in full.programs.keys() {
        stage.end(*pid);
    }
    // Then come programs as wide as a node, sometimes one more than there are nodes.
    let (mut moved, mut apart) = (0, 0);
    let mut before = stage.settle()?;
    for step in 0..STEPS {
        let present: Vec<u32> = stage.pids();
        if present.len() > count || (present.len() > 1 && stage.roll(3) == 0) {
            let one = stage.roll(present.len());
            stage.end(present[one]);
        } else {
            stage.start(node, false)?;
        }
        let after = stage.settle()?;
        let given: usize = after.programs.values().map(numaestro_topology::CpuSet::len).sum();
        ensure!(given == all.min(node * after.programs.len()), "step {step}: processors are left over: {after:?}");
        if after.programs.len() <= count {
            expect_together(&stage, &after)?;
            pages_follow(&stage, &after)?;
        } else {
            apart += usize::from(expect_together(&stage, &after).is_err());
        }
        moved +=
            after.programs.iter().filter(|(pid, cpus)| before.programs.get(pid).is_some_and(|it| it != *cpus)).count();
        before = after;
    }
    println!(
        "measured: equi-pools: the widest came together on one node with its pages; in {STEPS} steps {moved} times somebody's processors \
         changed, {apart} times somebody was on two nodes while there were more programs than nodes"
    );
    Ok(())
}
