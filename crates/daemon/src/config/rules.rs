//! Checks `[[rules]]` and judges programs by them.

use std::path::Path;

use numaestro_abi::control::Options;

use super::Rule;
use crate::glob::Glob;

/// A rule that has been read.
#[derive(Debug, Clone)]
pub(crate) struct ReadyRule {
    /// Only programs of this user.
    pub(crate) user: Option<String>,
    cgroup: Option<Glob>,
    command: Option<Command>,
    /// A matching program is adopted.
    pub(crate) adopt: bool,
    /// The options that the program is adopted with.
    pub(crate) options: Options,
}

#[derive(Debug, Clone)]
enum Command {
    /// The path of the program.
    Path(Glob),
    /// The last part of that path, or the name the process goes by (a script has its own there).
    Name(Glob),
}

/// The facts of a program that a rule looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    /// Path of the program; `None` if it cannot be told.
    pub(crate) program: Option<&'a Path>,
    /// `comm`, at most 15 bytes.
    pub(crate) name: &'a str,
    /// Path of the cgroup.
    pub(crate) cgroup: &'a str,
    /// It belongs to a service of the system, or to a container: only a rule that names its cgroup
    /// may mean it.
    pub(crate) apart: bool,
}

impl Rule {
    /// Reads the rule; the error is the field and one clause.
    pub(crate) fn ready(&self) -> Result<ReadyRule, String> {
        let adopt = self.adopt.unwrap_or(true);
        if adopt && self.user.is_none() && self.cgroup.is_none() && self.command.is_none() {
            return Err(
                "expected at least one of user, cgroup and command, found none: it would take every program".to_owned()
            );
        }
        let empty = |field: &Option<String>| field.as_ref().is_some_and(|text| text.trim().is_empty());
        for (field, text) in
            [("user", &self.user), ("cgroup", &self.cgroup), ("command", &self.command), ("name", &self.name)]
        {
            if empty(text) {
                return Err(format!("{field}: expected text, found nothing"));
            }
        }
        let wishes = [self.min.is_some(), self.max.is_some(), self.weight.is_some(), self.name.is_some()];
        if !adopt && wishes.contains(&true) {
            return Err("min, max, weight and name say nothing where adopt = false".to_owned());
        }
        for (field, count) in [("min", self.min), ("max", self.max)] {
            if count == Some(0) {
                return Err(format!("{field}: expected at least 1 processor, found 0"));
            }
        }
        if let (Some(min), Some(max)) = (self.min, self.max)
            && min > max
        {
            return Err(format!("min: expected at most max = {max}, found {min}"));
        }
        let weight_milli = match self.weight {
            None => None,
            // In this range nothing is lost but parts below a thousandth.
            #[allow(clippy::cast_sign_loss)]
            Some(weight) if (0.001..=1000.0).contains(&weight) => Some((weight * 1000.0).round() as u32),
            Some(weight) => return Err(format!("weight: expected 0.001 to 1000, found {weight}")),
        };
        let glob = |field: &str, text: &Option<String>| match text.as_deref().map(Glob::new).transpose() {
            Ok(glob) => Ok(glob),
            Err(cause) => Err(format!("{field}: `{}` is no pattern: {cause}", text.as_deref().unwrap_or_default())),
        };
        let by_path = self.command.as_ref().is_some_and(|text| text.contains('/'));
        let command = glob("command", &self.command)?;
        Ok(ReadyRule {
            user: self.user.clone(),
            cgroup: glob("cgroup", &self.cgroup)?,
            command: command.map(|glob| if by_path { Command::Path(glob) } else { Command::Name(glob) }),
            adopt,
            options: Options {
                name: self.name.clone().unwrap_or_default(),
                min: self.min,
                max: self.max,
                weight_milli,
                wait: Some(false),
                ..Options::default()
            },
        })
    }
}

impl ReadyRule {
    /// Says whether the rule is about this program, its user apart.
    pub(crate) fn is_about(&self, facts: Facts<'_>) -> bool {
        let named = self.cgroup.as_ref();
        if named.is_none() && facts.apart && self.adopt {
            return false;
        }
        named.is_none_or(|glob| glob.matches(facts.cgroup))
            && match &self.command {
                None => true,
                Some(Command::Path(glob)) => facts.program.is_some_and(|path| glob.matches(&path.to_string_lossy())),
                Some(Command::Name(glob)) => {
                    let file = facts.program.and_then(Path::file_name).map(|name| name.to_string_lossy());
                    file.is_some_and(|name| glob.matches(&name)) || glob.matches(facts.name)
                }
            }
    }
}

/// Reads all; the error says which of them, counted from 1.
pub(crate) fn ready(rules: &[Rule]) -> Result<Vec<ReadyRule>, String> {
    let numbered = rules.iter().enumerate();
    numbered.map(|(index, rule)| rule.ready().map_err(|cause| format!("rule {}: {cause}", index + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn wrong_rules_are_refused_with_their_number() {
        for (text, expected) in [
            ("[[rules]]\n", "rules: rule 1: expected at least one of user"),
            (
                "[[rules]]\nadopt = false\n[[rules]]\ncommand = \"[a\"\n",
                "rules: rule 2: command: `[a` is no pattern: a `[` has no `]`",
            ),
            ("[[rules]]\ncommand = \"x\"\nmin = 3\nmax = 2\n", "min: expected at most max = 2, found 3"),
            ("[[rules]]\ncommand = \"x\"\nmax = 0\n", "max: expected at least 1"),
            ("[[rules]]\ncommand = \"x\"\nweight = 0.0\n", "weight: expected 0.001 to 1000"),
            ("[[rules]]\ncommand = \"x\"\nweight = nan\n", "weight: expected 0.001 to 1000"),
            ("[[rules]]\nuser = \" \"\n", "user: expected text"),
            ("[[rules]]\ncommand = \"x\"\nadopt = false\nmax = 2\n", "say nothing where adopt = false"),
            ("[[rules]]\ncomand = \"x\"\n", "comand"),
        ] {
            let message = Config::from_toml("config.toml", text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn a_rule_is_about_what_all_its_conditions_say() {
        let rule =
            |text: &str| Config::from_toml("f", &format!("[[rules]]\n{text}")).unwrap().rules[0].ready().unwrap();
        let facts = Facts {
            program: Some(Path::new("/opt/solver/bin/solver-2.1")),
            name: "solver-2.1",
            cgroup: "/user.slice/user-1000.slice/session-3.scope",
            apart: false,
        };
        for (text, expected) in [
            ("command = \"solver*\"", true),
            ("command = \"bin/solver*\"", false),
            ("command = \"*/bin/solver*\"", true),
            ("command = \"/opt/*\"\ncgroup = \"/user.slice/*\"", true),
            ("command = \"/opt/*\"\ncgroup = \"/system.slice/*\"", false),
            ("user = \"x\"", true),
        ] {
            assert_eq!(rule(text).is_about(facts), expected, "{text}");
        }
        // Services and containers only by their cgroup; leaving them alone needs no name.
        let apart = Facts { apart: true, ..facts };
        assert!(!rule("command = \"solver*\"").is_about(apart));
        assert!(rule("cgroup = \"/user.slice/*\"").is_about(apart));
        assert!(rule("command = \"solver*\"\nadopt = false").is_about(apart));
        // Without a path, the name it goes by.
        let nameless = Facts { program: None, ..facts };
        assert!(rule("command = \"solver*\"").is_about(nameless));
        assert!(!rule("command = \"/opt/*\"").is_about(nameless));
    }
}
