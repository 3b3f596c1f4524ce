//! The tables of a configuration file. Each owner of a table checks it in a file of its own.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// `[memory]`: the nodes for pages, and whether pages follow the processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Mebibytes a second that are moved between nodes at most, for all programs together; 0: pages
    /// are never moved.
    pub moves_mib_per_s: u32,
    /// Programs may only have memory of their home (`cpuset.mems`), until it is nearly full. Needs
    /// cgroups. Without it, home is a preference.
    pub strict: bool,
}

impl Memory {
    /// Bytes that may be moved in a second.
    pub(crate) fn bytes_per_s(&self) -> u64 {
        u64::from(self.moves_mib_per_s) << 20
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self { moves_mib_per_s: 512, strict: false }
    }
}

/// The use of cgroup v2 cpusets instead of affinity to keep programs on their processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cgroups {
    /// Never.
    Off,
    /// Used if a subtree with the cpuset controller has been delegated to the manager.
    #[default]
    Auto,
    /// The manager does not start without.
    Require,
}

/// The entitlement of a user, or of a group of users together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entitlement {
    /// Share relative to other users that run something. More than 0.
    pub weight: f64,
    /// Processors that all their programs together have at most; absent: any number.
    pub max: Option<u32>,
    /// Processors that nobody else is given, even while they run nothing.
    pub reserved: u32,
}

impl Default for Entitlement {
    fn default() -> Self {
        Self { weight: 1.0, max: None, reserved: 0 }
    }
}

/// The evidence that a process belongs to a job of a batch system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Nothing: users are parties, and jobs are not.
    Off,
    /// The control group that Slurm has put it into.
    #[default]
    Cgroup,
    /// Its group, or else Slurm's variables, which its user could have written.
    Environment,
}

/// `[jobs]`: jobs of a batch system as parties of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Jobs {
    /// The evidence that counts beside the registrations of the batch system's plugin, in the
    /// manager of all users.
    pub evidence: Evidence,
    /// The file that gets a line of JSON at the end of each registered job: its processor time.
    /// Absent: none.
    pub account: Option<PathBuf>,
}

/// `[containers]`: containers and pods as parties of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Containers {
    /// Each pod, and each container that is in none, is a party. False: their users are.
    pub parties: bool,
    /// A file that names the parties of pods and containers: lines of an id and a name. Those with
    /// the same name are one party. Absolute path; absent: none has a name.
    pub table: Option<PathBuf>,
}

impl Default for Containers {
    fn default() -> Self {
        Self { parties: true, table: None }
    }
}

impl Containers {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Some(table) = self.table.as_ref().filter(|table| !table.is_absolute()) else { return Ok(()) };
        let problem = format!("expected an absolute path, found `{}`", table.display());
        Err(ConfigError { file: String::new(), field: "containers.table", problem })
    }
}

/// `[[rules]]`: programs that are managed without having been started by `numaestro run`. All
/// conditions that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Name of a user.
    pub user: Option<String>,
    /// Glob on the path of the program's cgroup: `/user.slice/*`.
    pub cgroup: Option<String>,
    /// Glob on the program: its path if there is a slash in it, else its name.
    pub command: Option<String>,
    /// False: a matching program is left alone, and no later rule is looked at.
    pub adopt: Option<bool>,
    /// As `--min`.
    pub min: Option<u32>,
    /// As `--max`.
    pub max: Option<u32>,
    /// As `--weight`.
    pub weight: Option<f64>,
    /// As `--name`.
    pub name: Option<String>,
}

/// `[metrics]`: the OpenMetrics endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// `127.0.0.1:9464` or `[::1]:9464` (loopback only), or the absolute path of a socket; absent:
    /// none. The system's manager has a socket `metrics` in its directory instead of an address.
    pub listen: Option<String>,
}

impl Metrics {
    /// The place that scrapers come to; `Err`: the problem with it.
    pub(crate) fn place(&self) -> Option<Result<Place, String>> {
        self.listen.as_deref().map(Place::parse)
    }

    /// Checks that scrapers can come to the place.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.place() {
            Some(Err(problem)) => Err(ConfigError { file: String::new(), field: "metrics.listen", problem }),
            _ => Ok(()),
        }
    }
}

/// `[recording]`: the ring of journals on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recording {
    /// Record; absent: the system's manager does, a user's does not.
    pub on: Option<bool>,
    /// Absolute path; absent: the usual place.
    pub directory: Option<PathBuf>,
    /// Mebibytes on disk at most. At least 1.
    pub mib: u32,
    /// The manager removes segments that are older than so many days, when it begins the next one.
    /// At least 1.
    pub days: u32,
    /// Leave names of programs out.
    pub anonymous: bool,
}

impl Default for Recording {
    fn default() -> Self {
        Self { on: None, directory: None, mib: 64, days: 7, anonymous: false }
    }
}

impl Recording {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |field, problem| Err(ConfigError { file: String::new(), field, problem });
        if self.mib == 0 {
            return wrong("recording.mib", "expected 1 or more mebibytes, found 0".to_owned());
        }
        if self.days == 0 {
            return wrong("recording.days", "expected 1 or more days, found 0".to_owned());
        }
        if let Some(directory) = self.directory.as_ref().filter(|directory| !directory.is_absolute()) {
            return wrong("recording.directory", format!("expected an absolute path, found `{}`", directory.display()));
        }
        Ok(())
    }
}

/// A place that scrapers come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Place {
    fn parse(text: &str) -> Result<Self, String> {
        let wanted = "expected 127.0.0.1:PORT, [::1]:PORT or the absolute path of a socket";
        if text.starts_with('/') {
            return Ok(Self::Unix(PathBuf::from(text)));
        }
        let address: SocketAddr = text.parse().map_err(|_| format!("{wanted}, found `{text}`"))?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "{wanted}, found `{text}`: everybody on the network could read who works on this machine"
            ));
        }
        Ok(Self::Tcp(address))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// `[service]`: settings of the system's manager only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// Members of this group have root's rights here: see everything, steer everybody's programs,
    /// change the policy, stop the manager.
    pub admin_group: Option<String>,
    /// Connections that one user has at once, at most. Administrators are not limited.
    pub connections_per_user: u32,
    /// Programs of one user that are managed at once, at most.
    pub programs_per_user: u32,
    /// Programs of one user that wait in the queue, at most.
    pub waiting_per_user: u32,
    /// A file with accounts of users that count instead of those of the system: lines of `passwd`
    /// and of `group`. For tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<PathBuf>,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            admin_group: None,
            connections_per_user: 256,
            programs_per_user: 1024,
            waiting_per_user: 128,
            accounts: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_to() {
        let check = |text: &str| Metrics { listen: Some(text.to_owned()) }.check();
        for good in ["127.0.0.1:9464", "[::1]:9464", "/run/numaestro/metrics", "127.0.0.1:0"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["0.0.0.0:9464", "192.168.1.1:9464", "9464", "localhost:9464", "run/metrics", ""] {
            let problem = check(bad).unwrap_err();
            assert_eq!(problem.field, "metrics.listen");
            assert!(problem.problem.contains("expected 127.0.0.1:PORT"), "{problem}");
        }
    }
}
