//! The sensor of the limits that the cgroups above a program set: processor time (`cpu.max`) and
//! processors (cpusets), set up by anybody. A program is told no more processors than it can use
//! there, and people are told the reason.
//!
//! It reads when a program arrives or attaches, and again when one of the files is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use numaestro_host::HostError;
use numaestro_host::cgroup::{Hierarchies, Limits};
use numaestro_topology::CpuSet;

/// The processors that one program is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Processors that are of any use; `None`: any number.
    pub(crate) most: Option<u32>,
    /// A clause for people, where there is a limit.
    pub(crate) why: String,
    /// The processors that others confine it to, if these are not all of ours.
    pub(crate) cpus: Option<CpuSet>,
    /// The processors that its user gave it, if these are not all of ours. Nobody but us keeps it
    /// there.
    pub(crate) given: Option<CpuSet>,
    /// Files that set these limits.
    pub(crate) files: Vec<PathBuf>,
}

impl Allowed {
    /// Reads the limits of a process, among processors that are ours to give. `confined_by_us`: its
    /// cpuset is a group that the manager has made.
    pub(crate) fn of_process(pid: u32, usable: &CpuSet, confined_by_us: bool) -> Result<Self, HostError> {
        let hierarchies = Hierarchies::read();
        let limits = Limits::of(&hierarchies, pid, None)?;
        let mut allowed = Self { files: limits.files, ..Self::default() };
        let mut reasons = Vec::new();
        if let Some(quota) = limits.quota
            && quota.processors() < usable.len() as u32
        {
            allowed.most = Some(quota.processors());
            let time = quota.quota_us as f64 / quota.period_us.max(1) as f64;
            reasons.push(format!("its cgroup may use {time:.1} processors of time ({})", quota.file.display()));
        }
        if !confined_by_us {
            let (cpus, files) = hierarchies.cpuset_of(pid)?;
            allowed.files.extend(files);
            if let Some(cpus) = cpus.filter(|cpus| !usable.is_subset(cpus)) {
                let inside = cpus.intersection(usable);
                let count = (inside.len() as u32).max(1);
                allowed.most = Some(allowed.most.map_or(count, |most| most.min(count)));
                reasons.push(format!("its cgroup keeps it on processors {cpus}"));
                allowed.cpus = Some(cpus);
            }
        }
        allowed.why = reasons.join("; ");
        Ok(allowed)
    }

    /// The same, and its user gave it these processors. Empty: nobody says.
    fn given(mut self, given: &str, usable: &CpuSet) -> Self {
        let given = given.parse::<CpuSet>().ok().filter(|given| !given.is_empty() && !usable.is_subset(given));
        if let Some(given) = &given {
            let inside = given.intersection(self.cpus.as_ref().unwrap_or(usable)).intersection(usable);
            let count = (inside.len() as u32).max(1);
            self.most = Some(self.most.map_or(count, |most| most.min(count)));
            let why = format!("its user gave it processors {given}");
            self.why = if self.why.is_empty() { why } else { format!("{}; {why}", self.why) };
        }
        Self { given, ..self }
    }

    /// Of these processors those that its user gave it; never others than these.
    pub(crate) fn inside(&self, cpus: CpuSet) -> CpuSet {
        match &self.given {
            Some(given) if given.intersects(&cpus) => given.intersection(&cpus),
            Some(given) => given.clone(),
            None => cpus,
        }
    }

    /// So many of these processors as are of any use.
    pub(crate) fn within(&self, processors: u32) -> u32 {
        processors.min(self.most.unwrap_or(u32::MAX))
    }

    /// The reason, if others keep it away from all of these processors.
    pub(crate) fn keeps_away_from(&self, cpus: &CpuSet) -> Option<String> {
        let allowed = self.cpus.as_ref()?;
        (!cpus.intersects(allowed)).then(|| format!("it cannot be on {cpus}: {}", self.why))
    }
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    by_app: BTreeMap<u64, Allowed>,
    /// The answer for an application whose limits have not been read.
    unknown: Allowed,
}

impl Quotas {
    /// Reads the limits of an application, whose user gave it processors. Limits that cannot be
    /// read stay as they were.
    pub(crate) fn look(&mut self, app: u64, pid: u32, given: &str, usable: &CpuSet, confined_by_us: bool) {
        if let Ok(allowed) = Allowed::of_process(pid, usable, confined_by_us) {
            self.by_app.insert(app, allowed.given(given, usable));
        }
    }

    pub(crate) fn of(&self, app: u64) -> &Allowed {
        self.by_app.get(&app).unwrap_or(&self.unknown)
    }

    /// Files that say so, of all applications.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.by_app.values().flat_map(|allowed| &allowed.files).map(PathBuf::as_path)
    }

    /// An application has gone.
    pub(crate) fn forget(&mut self, app: u64) {
        self.by_app.remove(&app);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &str) -> CpuSet {
        list.parse().unwrap()
    }

    #[test]
    fn a_program_stays_within_what_its_user_gave_it() {
        let usable = set("0-3");
        for (given, most, at_2_and_3) in [
            ("", None, "2-3"),
            ("0-7", None, "2-3"),
            ("0-2", Some(3), "2"),
            ("0", Some(1), "0"),
            ("6-7", Some(1), "6-7"),
        ] {
            let allowed = Allowed::default().given(given, &usable);
            assert_eq!(allowed.most, most, "{given}");
            assert_eq!(allowed.inside(set("2-3")).to_string(), at_2_and_3, "{given}");
            assert_eq!(allowed.why.contains("its user gave it"), most.is_some(), "{given}");
        }
        // The limits of its cgroup hold as well.
        let group =
            Allowed { most: Some(2), cpus: Some(set("0-1")), why: "its cgroup".to_owned(), ..Allowed::default() };
        let both = group.given("1-3", &usable);
        assert_eq!((both.most, both.why.as_str()), (Some(1), "its cgroup; its user gave it processors 1-3"));
    }
}
