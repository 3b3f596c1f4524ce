//! Checks `[default]`, `[users]`, `[groups]` and `[parties]`.

use numaestro_host::accounts::Accounts;

use super::{Config, ConfigError, Entitlement};

/// Weights beyond this are a mistake.
const WEIGHT_MAX: f64 = 1000.0;
/// The smallest weight that is not nothing.
const WEIGHT_MIN: f64 = 0.001;

impl Entitlement {
    /// The mistake in it, in words.
    fn problem(&self) -> Option<String> {
        if !(WEIGHT_MIN..=WEIGHT_MAX).contains(&self.weight) {
            return Some(format!("weight: expected {WEIGHT_MIN} to {WEIGHT_MAX}, found {}", self.weight));
        }
        match self.max {
            Some(0) => Some("max: expected at least 1 processor, found 0; leave it out for no limit".to_owned()),
            Some(max) if self.reserved > max => {
                Some(format!("reserved: {} processors are more than its max of {max}", self.reserved))
            }
            _ => None,
        }
    }
}

impl Config {
    /// The accounts in which users are looked up.
    pub(crate) fn accounts(&self) -> Accounts {
        self.service.accounts.clone().map_or(Accounts::System, Accounts::File)
    }

    /// Checks every entitlement.
    pub(super) fn check_users(&self) -> Result<(), ConfigError> {
        let wrong = |field, problem| Err(ConfigError { file: String::new(), field, problem });
        if let Some(problem) = self.default.problem() {
            return wrong("default", problem);
        }
        for (field, table) in [("users", &self.users), ("groups", &self.groups), ("parties", &self.parties)] {
            for (name, entitlement) in table {
                if let Some(problem) = entitlement.problem() {
                    return wrong(field, format!("{name}: {problem}"));
                }
            }
        }
        Ok(())
    }

    /// Names of users and groups that no account has, with their dotted place in the configuration:
    /// `users.alcie`. They count for nothing.
    pub fn unknown_names(&self) -> Vec<(String, String)> {
        if !self.system {
            return Vec::new();
        }
        let accounts = self.accounts();
        let mut unknown = Vec::new();
        for name in self.users.keys().filter(|name| accounts.user_named(name).is_none()) {
            unknown.push((format!("users.{name}"), format!("there is no user {name}")));
        }
        for name in self.groups.keys().filter(|name| accounts.group_named(name).is_none()) {
            unknown.push((format!("groups.{name}"), format!("there is no group {name}")));
        }
        if let Some(name) = self.service.admin_group.as_ref().filter(|name| accounts.group_named(name).is_none()) {
            unknown.push(("service.admin_group".to_owned(), format!("there is no group {name}")));
        }
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entitlements_are_checked() {
        let check = |text: &str, expected: &str| {
            let message = Config::from_toml("config.toml", text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        check("[default]\nweight = 0", "default: weight: expected 0.001 to 1000, found 0");
        check("[users.alice]\nweight = nan", "users: alice: weight");
        check("[users.alice]\nmax = 0", "users: alice: max: expected at least 1");
        check("[parties.\"lab/a\"]\nmax = 0", "parties: lab/a: max: expected at least 1");
        check("[groups.lab]\nmax = 2\nreserved = 3", "groups: lab: reserved: 3 processors are more");
        assert!(Config::from_toml("f", "[groups.lab]\nmax = 4\nreserved = 3\nweight = 2.5").is_ok());
    }

    #[test]
    fn names_that_nobody_has_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let accounts = dir.path().join("accounts");
        std::fs::write(&accounts, "alice:x:1001:1001::/:/bin/sh\nlab:x:2000:alice\n").unwrap();
        let text = format!(
            "[users.alice]\n[users.alcie]\n[groups.lab]\n[groups.laboratory]\n[service]\naccounts = \"{}\"\nadmin_group = \"ops\"",
            accounts.display()
        );
        let mut config = Config::from_toml("f", &text).unwrap();
        assert!(config.unknown_names().is_empty(), "they mean nothing for one user's manager");
        config.system = true;
        let places: Vec<String> = config.unknown_names().into_iter().map(|(place, _)| place).collect();
        assert_eq!(places, ["users.alcie", "groups.laboratory", "service.admin_group"]);
    }
}
