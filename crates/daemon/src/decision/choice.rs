//! The policy that a person has switched to, and whether to record, kept in the runtime directory
//! for the next manager. A manager that nobody started ends after some seconds without programs,
//! and the choice must not end with it.
//!
//! A choice counts while the configured value is the one that it replaced: whoever changes the
//! configuration later means that. An option of the command line goes before it. The manager of all
//! users keeps no choice, because its configuration is the administrators' word.

use std::path::Path;

use numaestro_host::HostError;
use numaestro_host::rundir::RuntimeDir;
use numaestro_policy::Policy;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::config::Config;

/// Their names in the runtime directory.
const FILE: &str = "policy.json";
const RECORDING_FILE: &str = "recording.json";

/// A choice, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Choice {
    /// As `policy set` takes it.
    policy: String,
    /// The configured policy that it replaced.
    configured: String,
}

/// The choice to record or not, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordingChoice {
    on: bool,
    /// The configured value that it replaced.
    configured: bool,
}

/// Whether the configuration says to record.
pub(crate) fn records_as_configured(config: &Config) -> bool {
    config.recording.on.unwrap_or(config.system)
}

/// Keeps the choice to record or not. True if the next manager goes by it.
pub(crate) fn keep_recording(dir: &RuntimeDir, config: &Config, on: bool) -> bool {
    let configured = records_as_configured(config);
    if config.system || on == configured {
        // It need not be there.
        let _ = std::fs::remove_file(dir.file(RECORDING_FILE));
        return on == configured;
    }
    let choice = RecordingChoice { on, configured };
    let kept = write(dir, RECORDING_FILE, &choice);
    if let Err(cause) = &kept {
        warn!("the next manager will record as it is configured: {cause}");
    }
    kept.is_ok()
}

/// Whether a manager of this directory with this configuration begins to record.
pub(crate) fn records(dir: &Path, config: &Config) -> bool {
    let configured = records_as_configured(config);
    let choice: Option<RecordingChoice> = if config.system { None } else { read(dir, RECORDING_FILE) };
    choice.filter(|choice| choice.configured == configured).map_or(configured, |choice| choice.on)
}

/// The mistake in the text of a policy, in words; whether a host can follow it is another question.
pub fn mistake(policy: &str) -> Option<String> {
    Policy::parse(policy, 0).err().map(|cause| cause.to_string())
}

/// Keeps the policy that a person has switched to. The configured policy is no choice: it would
/// come back by itself.
pub(crate) fn keep(dir: &RuntimeDir, config: &Config, policy: &str) {
    if config.system {
        return;
    }
    let configured = &config.policy;
    let usual = Policy::parse(configured, config.seed).is_ok_and(|usual| usual.to_string() == policy);
    let kept = if usual {
        // It need not be there.
        let _ = std::fs::remove_file(dir.file(FILE));
        Ok(())
    } else {
        let choice = Choice { policy: policy.to_owned(), configured: configured.clone() };
        write(dir, FILE, &choice)
    };
    if let Err(cause) = kept {
        warn!("the next manager will begin with the configured policy: {cause}");
    }
}

fn write(dir: &RuntimeDir, file: &str, choice: &impl Serialize) -> Result<(), HostError> {
    dir.replace(file, &serde_json::to_vec(choice).unwrap_or_default())
}

/// The choice in a file; none if it is not there or damaged.
fn read<T: DeserializeOwned>(dir: &Path, file: &str) -> Option<T> {
    serde_json::from_slice(&std::fs::read(dir.join(file)).ok()?).ok()
}

/// The choice that counts for a manager of this directory with this configuration.
pub(crate) fn of(dir: &Path, config: &Config) -> Option<String> {
    if config.system || config.source.options.contains_key("policy") {
        return None;
    }
    let choice: Choice = read(dir, FILE)?;
    let counts = choice.configured == config.policy && Policy::parse(&choice.policy, config.seed).is_ok();
    counts.then_some(choice.policy)
}

/// The policy with which the next manager of this directory begins.
pub fn next_policy(dir: &Path, config: &Config) -> String {
    let usual =
        || Policy::parse(&config.policy, config.seed).map_or_else(|_| config.policy.clone(), |usual| usual.to_string());
    of(dir, config).unwrap_or_else(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_counts_until_the_configuration_or_an_option_says_otherwise() {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::open(place.path().join("n")).unwrap();
        let config = Config::default();
        assert_eq!(next_policy(dir.path(), &config), "equi");
        keep(&dir, &config, "dss");
        assert_eq!(next_policy(dir.path(), &config), "dss");
        let other = Config { policy: "batch".to_owned(), ..Config::default() };
        assert_eq!(of(dir.path(), &other), None, "the configuration has changed since");
        assert_eq!(of(dir.path(), &Config { system: true, ..Config::default() }), None);
        let mut told = Config::default();
        told.source.options.insert("policy".to_owned(), "equi".into());
        assert_eq!(of(dir.path(), &told), None, "an option");
        keep(&dir, &config, "equi");
        assert!(!dir.file(FILE).exists(), "the configured policy is no choice");
    }

    #[test]
    fn the_choice_to_record_counts_until_the_configuration_says_otherwise() {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::open(place.path().join("n")).unwrap();
        let configured = |on| {
            let mut config = Config::default();
            config.recording.on = on;
            config
        };
        let usual = configured(None);
        assert!(!records(dir.path(), &usual));
        assert!(keep_recording(&dir, &usual, true) && records(dir.path(), &usual));
        assert!(records(dir.path(), &configured(Some(true))) && records(dir.path(), &configured(Some(false))));
        assert!(keep_recording(&dir, &usual, false) && !records(dir.path(), &usual));
        let always = configured(Some(true));
        assert!(keep_recording(&dir, &always, false) && !records(dir.path(), &always));
        assert!(!records(dir.path(), &usual), "the configuration has changed since, and says no");
        let system = Config { system: true, ..Config::default() };
        assert!(records(dir.path(), &system), "the system's records, whatever a user chose");
        assert!(!keep_recording(&dir, &system, false) && records(dir.path(), &system));
        std::fs::write(dir.file(RECORDING_FILE), "{").unwrap();
        assert!(!records(dir.path(), &usual), "a damaged file is no choice");
    }

    #[test]
    fn a_damaged_file_is_no_choice() {
        let place = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::open(place.path().join("n")).unwrap();
        for text in ["", "{", r#"{"policy":"nonsense","configured":"equi"}"#, r#"{"policy":3}"#] {
            std::fs::write(dir.file(FILE), text).unwrap();
            assert_eq!(of(dir.path(), &Config::default()), None, "{text}");
        }
    }
}
