//! The machine as the manager knows it, and the sensor of its changes: a processor that goes or
//! comes (uevents), and a cgroup file that is written (inotify). Nothing of it wakes the manager
//! while nothing changes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use numaestro_host::cgroup::Hierarchies;
use numaestro_host::poll::Interest;
use numaestro_host::reach;
use numaestro_host::uevent::ProcessorEvents;
use numaestro_host::watch::Watch;
use numaestro_topology::{CpuSet, Machine, NumaNodeId};
use tracing::info;

use crate::config::Config;
use crate::wakeups::{ShellSource, Wakeups};

/// The machine, and the processors of it that may be given out.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) machine: Machine,
    /// The processors that may be given out, OS indices.
    pub(crate) usable: CpuSet,
    /// Processors that programs may have: a manager in a narrow cgroup learns of them by programs
    /// from outside.
    pub(crate) seen: CpuSet,
}

impl Site {
    /// The machine as it is now; `seen`: see the field.
    pub(crate) fn read(config: &Config, seen: CpuSet) -> Result<Self> {
        let usable = usable(config, &seen)?;
        let tree = numaestro_host::DirTree::new("/");
        let machine = numaestro_topology::sysfs::read(&tree, Some(&usable))
            .context("cannot read the machine; `numaestro doctor` says more")?;
        Ok(Self { machine, usable, seen })
    }

    /// Processors that there are to give out; at least 1.
    pub(crate) fn processors(&self) -> u32 {
        (self.usable.len() as u32).max(1)
    }

    /// The most processors that one application can ever have: those that are not reserved.
    pub(crate) fn to_give(&self, config: &Config) -> u32 {
        let reserved: CpuSet = config.reserved.parse().unwrap_or_default();
        (self.usable.difference(&reserved).len() as u32).max(1)
    }
}

/// The processors that may be given out: those that the kernel leaves to the manager or has left to
/// a program of its user, among the configured ones. Offline ones are not among them. The mask of
/// whoever started the manager says nothing: it is that one program's.
pub(crate) fn usable(config: &Config, seen: &CpuSet) -> Result<CpuSet> {
    let wanted: CpuSet = config.cpus.parse()?;
    let mut own = reach::take(&wanted).context("cannot tell which processors may be used")?;
    if !seen.is_subset(&own) {
        own.or_with(&seen.intersection(&reach::of_everybody()));
    }
    let usable = if wanted.is_empty() { own } else { own.intersection(&wanted) };
    anyhow::ensure!(!usable.is_empty(), "none of the processors `{}` may be used by the manager", config.cpus);
    Ok(usable)
}

/// The processors that the manager's own cgroup leaves it, a Linux list. Empty: these are all that
/// the machine has for everybody, or the configuration names the processors.
pub(crate) fn confined_to(config: &Config, site: &Site) -> String {
    let all = reach::of_everybody();
    if !config.cpus.is_empty() || all.is_subset(&site.usable) {
        return String::new();
    }
    let own = reach::look().ok().filter(|own| !all.is_subset(own));
    own.map(|own| own.to_string()).unwrap_or_default()
}

/// The files of the groups above the manager.
pub(crate) fn own_files() -> Vec<PathBuf> {
    Hierarchies::read().cpuset_of(std::process::id()).map(|(_, files)| files).unwrap_or_default()
}

/// OS index of a node.
pub(crate) fn os_of(machine: &Machine, node: NumaNodeId) -> Option<u32> {
    machine.numa_nodes().get(node.index()).map(|node| node.os_index)
}

/// The node with this OS index.
pub(crate) fn node_of_os(machine: &Machine, os_index: u32) -> Option<NumaNodeId> {
    let at = machine.numa_nodes().iter().position(|node| node.os_index == os_index)?;
    Some(NumaNodeId(at as u32))
}

/// Nodes by the numbers that Linux gives them.
pub(crate) fn node_list(machine: &Machine, nodes: &[NumaNodeId]) -> CpuSet {
    nodes.iter().map(|node| machine.numa_nodes()[node.index()].os_index).collect()
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    processors: Option<ProcessorEvents>,
    files: Option<Watch>,
}

impl Changes {
    /// Listens. Where listening is impossible, changes are found at the next event.
    pub(crate) fn listen(wakeups: &Wakeups) -> Self {
        let mut changes = Self::default();
        match ProcessorEvents::listen() {
            Ok(events) => {
                let watched = wakeups.watch(&events, ShellSource::Processors, Interest::Read);
                changes.processors = watched.is_ok().then_some(events);
            }
            Err(cause) => info!("processors that go or come are seen late: {cause}"),
        }
        match Watch::new() {
            Ok(files) => {
                let watched = wakeups.watch(&files, ShellSource::Files, Interest::Read);
                changes.files = watched.is_ok().then_some(files);
            }
            Err(cause) => info!("changes of cgroups are seen late: {cause}"),
        }
        changes
    }

    /// Watches these files.
    pub(crate) fn watch_files<'a>(&mut self, files: impl Iterator<Item = &'a Path>) {
        if let Some(watch) = &mut self.files {
            watch.set(files);
        }
    }

    /// A processor has gone or come.
    pub(crate) fn take_processors(&self) -> bool {
        self.processors.as_ref().is_some_and(ProcessorEvents::take)
    }

    /// One of the files has been written.
    pub(crate) fn take_files(&self) -> bool {
        self.files.as_ref().is_some_and(Watch::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_by_the_numbers_of_linux() {
        let machine = numaestro_topology::synthetic::parse("numa:2 core:1 pu:1").unwrap();
        assert_eq!(node_of_os(&machine, 1), Some(NumaNodeId(1)));
        assert_eq!((node_of_os(&machine, 9), os_of(&machine, NumaNodeId(9))), (None, None));
    }
}
