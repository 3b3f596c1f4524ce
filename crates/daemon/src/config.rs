//! The settings of the manager, with their defaults.

mod load;
mod reload;
pub(crate) mod rules;
mod sections;
mod users;

use std::collections::BTreeMap;
use std::path::PathBuf;

use numaestro_topology::CpuSet;
use serde::{Deserialize, Serialize};

pub use load::{Loaded, Source};
pub(crate) use sections::Place;
pub use sections::{Cgroups, Containers, Entitlement, Evidence, Jobs, Memory, Metrics, Recording, Rule, Service};

/// The manager's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Runtime directory; empty = the usual one.
    pub dir: PathBuf,
    /// As `numaestro policy set` takes it.
    pub policy: String,
    /// Processors to manage, Linux list; empty = all that the manager may use.
    pub cpus: String,
    /// Processors kept out, Linux list.
    pub reserved: String,
    /// Milliseconds a program has to vacate processors before it is folded from outside. 1 to 10
    /// 000.
    pub grace_ms: u32,
    /// Seconds after the last application until the manager ends; 0 in a file: never, which is
    /// `None` here.
    pub idle_exit_s: Option<u32>,
    /// File for the engine's journal.
    pub journal: Option<PathBuf>,
    /// Whether the journal also holds what the manager observed.
    pub journal_observations: bool,
    /// Seed of the policy's random choices.
    pub seed: u64,
    /// Look for load that is not managed, and leave processors to it.
    pub unmanaged: bool,
    /// The messages to log, in the form of `NUMAESTRO_LOG`, which goes before it; empty: warnings,
    /// and for the system's manager its actions.
    pub log: String,
    /// For tests: a file or pipe of transaction rates that go before all measured rates.
    pub inject_rates: Option<PathBuf>,
    /// This is the manager of all users of the machine.
    #[serde(skip)]
    pub system: bool,
    /// Its source, so that it can be read again.
    #[serde(skip)]
    pub source: Source,
    /// The use of cpusets.
    pub cgroups: Cgroups,
    /// See [`Memory`].
    pub memory: Memory,
    /// The entitlement of each user that is not named.
    pub default: Entitlement,
    /// By name of the user. Only for the system's manager, as `groups`, `default` and `service`.
    pub users: BTreeMap<String, Entitlement>,
    /// By name of the group: the entitlement of its members together, without the members that are
    /// named themselves.
    pub groups: BTreeMap<String, Entitlement>,
    /// See [`Jobs`]. Only for the system's manager.
    pub jobs: Jobs,
    /// See [`Containers`]. Only for the system's manager, as `parties`.
    pub containers: Containers,
    /// The entitlement of parties that the table of containers names.
    pub parties: BTreeMap<String, Entitlement>,
    /// The first that matches counts.
    pub rules: Vec<Rule>,
    /// See [`Metrics`].
    pub metrics: Metrics,
    /// See [`Recording`].
    pub recording: Recording,
    /// See [`Service`].
    pub service: Service,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            policy: "equi".to_owned(),
            cpus: String::new(),
            reserved: String::new(),
            grace_ms: 10,
            idle_exit_s: Some(10),
            journal: None,
            journal_observations: false,
            seed: 1,
            unmanaged: true,
            log: String::new(),
            inject_rates: None,
            system: false,
            source: Source::default(),
            cgroups: Cgroups::Auto,
            memory: Memory::default(),
            default: Entitlement::default(),
            users: BTreeMap::new(),
            groups: BTreeMap::new(),
            jobs: Jobs::default(),
            containers: Containers::default(),
            parties: BTreeMap::new(),
            rules: Vec::new(),
            metrics: Metrics::default(),
            recording: Recording::default(),
            service: Service::default(),
        }
    }
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file that it came from, as given to [`Config::from_toml`]; empty if from none.
    pub file: String,
    /// The field; empty if the text itself does not parse.
    pub field: &'static str,
    /// The expected and the found value.
    pub problem: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [self.file.as_str(), self.field, self.problem.as_str()];
        f.write_str(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": "))
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads a configuration file's text; `file` is its name, for messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ConfigError> {
        let parsed: Result<Self, _> = toml::from_str(text);
        let config = parsed.map_err(|cause| ConfigError {
            file: file.to_owned(),
            field: "",
            problem: cause.to_string().trim_end().to_owned(),
        })?;
        config.validate().map_err(|cause| ConfigError { file: file.to_owned(), ..cause })?;
        Ok(config)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |field, problem: String| Err(ConfigError { file: String::new(), field, problem });
        if !(1..=10_000).contains(&self.grace_ms) {
            return wrong("grace_ms", format!("expected 1 to 10000 milliseconds, found {}", self.grace_ms));
        }
        for (field, text) in [("cpus", &self.cpus), ("reserved", &self.reserved)] {
            if let Err(cause) = text.parse::<CpuSet>() {
                return wrong(field, format!("expected a list of processors such as 0-3,8, found `{text}`: {cause}"));
            }
        }
        if let Err(problem) = rules::ready(&self.rules) {
            return wrong("rules", problem);
        }
        self.metrics.check()?;
        self.recording.check()?;
        self.containers.check()?;
        self.check_users()?;
        if self.memory.strict && self.cgroups == Cgroups::Off {
            let problem = "memory.strict binds memory by cgroups, and cgroups = \"off\" forbids them".to_owned();
            return wrong("memory.strict", problem);
        }
        if self.policy.trim().is_empty() {
            return wrong("policy", "expected a policy such as equi, found nothing".to_owned());
        }
        if let Err(cause) = numaestro_policy::Policy::parse(&self.policy, self.seed) {
            return wrong("policy", format!("`{}` cannot be used: {cause}", self.policy));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where() {
        let check = |text: &str, expected: &str| {
            let message = Config::from_toml("config.toml", text).unwrap_err().to_string();
            assert!(message.starts_with("config.toml"), "{message}");
            assert!(message.contains(expected), "{message}");
        };
        check("grace_ms = 0", "grace_ms: expected 1 to 10000");
        check("grace_ms = \"x\"", "grace_ms");
        check("reserved = \"1-\"", "reserved: expected a list");
        check("policy = \" \"", "policy");
        check("policy = \"nonsense\"", "policy: `nonsense` cannot be used");
        check("polcy = \"equi\"", "polcy");
        check("[recording]\nmib = 0", "recording.mib: expected 1 or more");
        check("[recording]\ndays = 0", "recording.days: expected 1 or more");
        check("[containers]\ntable = \"here\"", "containers.table: expected an absolute path");
        check("[recording]\ndirectory = \"here\"", "recording.directory: expected an absolute path");
    }

    #[test]
    fn nothing_is_the_default() {
        assert_eq!(Config::from_toml("f", "").unwrap(), Config::default());
    }
}
