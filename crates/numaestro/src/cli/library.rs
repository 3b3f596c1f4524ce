//! A user's word on a library in a program.

use std::fmt;
use std::str::FromStr;

/// What is to be done with a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Its own setter of numbers of threads is called.
    Set,
    /// Its questions about numbers of threads are answered with the allocation.
    Answer,
    /// It is left alone.
    Leave,
}

const VERBS: [(&str, Verb); 3] = [("set", Verb::Set), ("answer", Verb::Answer), ("leave", Verb::Leave)];

/// The longest pattern that the shim reads.
const PATTERN_MOST: usize = 63;

/// `PATTERN=VERB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryRule {
    pattern: String,
    verb: Verb,
}

impl LibraryRule {
    fn word(&self) -> &'static str {
        VERBS.iter().find(|(_, verb)| *verb == self.verb).map_or("", |(word, _)| word)
    }

    /// What it does, for people.
    pub fn sentence(&self) -> String {
        let what = match self.verb {
            Verb::Set => "is told its number of threads through its own setter",
            Verb::Answer => "is answered the allocation when it asks for its number of threads",
            Verb::Leave => "is left alone",
        };
        format!("{} {what}", self.pattern)
    }

    /// Several as they stand in the program's environment; `None` of none.
    pub fn list(rules: &[Self]) -> Option<String> {
        let list = rules.iter().map(Self::to_string).collect::<Vec<_>>().join(",");
        Some(list).filter(|list| !list.is_empty())
    }

    /// As it stands in a profile.
    pub fn entry(&self) -> (String, String) {
        (self.pattern.clone(), self.word().to_owned())
    }
}

impl fmt::Display for LibraryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.pattern, self.word())
    }
}

impl FromStr for LibraryRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (pattern, word) = text.split_once('=').ok_or("write it as NAME=VERB, for example libtbb=leave")?;
        let verb = VERBS.iter().find(|(known, _)| *known == word).map(|(_, verb)| *verb);
        let verb = verb.ok_or_else(|| format!("`{word}` is no verb; there are set, answer and leave"))?;
        if pattern.is_empty() || pattern.len() > PATTERN_MOST || pattern.contains([',', '/']) {
            return Err(format!(
                "`{pattern}` is no name of a library's file: 1 to {PATTERN_MOST} bytes, without `/` and `,`; * and ? stand for others"
            ));
        }
        Ok(Self { pattern: pattern.to_owned(), verb })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_a_name_and_a_verb() {
        for text in ["libscipy_openblas*=leave", "libtbb=set", "lib_lightgbm=answer"] {
            assert_eq!(text.parse::<LibraryRule>().expect("a rule").to_string(), text);
        }
        for (text, hint) in [
            ("libtbb", "NAME=VERB"),
            ("libtbb=eat", "set, answer and leave"),
            ("=set", "no name"),
            ("a/b=set", "no name"),
        ] {
            let told = text.parse::<LibraryRule>().expect_err("no rule");
            assert!(told.contains(hint), "{told}");
        }
        assert!(format!("{}=set", "x".repeat(64)).parse::<LibraryRule>().is_err());
    }
}
