//! The account file: a line of JSON at the end of each job.

use std::path::Path;

use numaestro_abi::control::{Malleable, ProcessorTime};
use numaestro_host::lines;
use serde::Serialize;
use tracing::warn;

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) job: u32,
    pub(crate) uid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    pub(crate) node: String,
    pub(crate) cpus: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) malleable: Option<Malleable>,
    /// Seconds since 1970.
    pub(crate) ended: u64,
    #[serde(flatten)]
    pub(crate) time: ProcessorTime,
}

/// See the file's header.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// It could not be written, which was said.
    fails: bool,
}

impl Account {
    /// Adds a line. A file that cannot be written is said once.
    pub(crate) fn add(&mut self, file: &Path, line: &Line) {
        let written = lines::append(file, &serde_json::to_string(line).unwrap_or_default());
        if let Err(cause) = &written
            && !self.fails
        {
            warn!("{}: jobs are not accounted: {cause}", file.display());
        }
        self.fails = written.is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_to_a_file_and_to_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let time = ProcessorTime { used_s: 1.5, lent_s: 0.0, borrowed_s: 0.25 };
        let user = Some("alice".to_owned());
        let line = Line { job: 7, uid: 1000, user, node: "n1".into(), cpus: 4, malleable: None, ended: 10, time };
        let mut account = Account::default();
        let file = dir.path().join("jobs");
        account.add(&file, &line);
        account.add(&file, &line);
        let text = std::fs::read_to_string(&file).unwrap();
        let expected = "{\"job\":7,\"uid\":1000,\"user\":\"alice\",\"node\":\"n1\",\"cpus\":4,\"ended\":10,\
                        \"used_s\":1.5,\"lent_s\":0.0,\"borrowed_s\":0.25}\n";
        assert_eq!(text, expected.repeat(2));
        account.add(Path::new("/dev/null"), &line);
        assert!(account.fails);
        account.add(&file, &line);
        assert!(!account.fails);
    }
}
