//! Where processes are about to be put, written down before they are there.
//!
//! The state file follows changes, while turns are taken a second late. A manager that is killed
//! meanwhile has moved programs to sets that the file does not name, and its successor would take
//! them for pins of the user: nobody would give these programs their processors back. So each set
//! comes into this file first, a line each, until the state file has it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;

use numaestro_host::rundir::RuntimeDir;
use numaestro_topology::CpuSet;
use tracing::warn;

use crate::hands::own::Process;

/// Its name in the runtime directory.
pub(crate) const NOTES_FILE: &str = "moves";

/// Writes each set into the file before a process is put on it.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// None: nobody would read them.
    file: Option<File>,
    /// The lines that were written since the state file has everything.
    written: BTreeSet<(Process, String)>,
    /// There may be lines in the file.
    full: bool,
}

impl Notes {
    /// Goes on in a directory.
    pub(crate) fn of(dir: &RuntimeDir) -> Self {
        let file = dir.log_file(NOTES_FILE).inspect_err(|cause| warn!("moves cannot be noted: {cause}")).ok();
        Self { file, written: BTreeSet::new(), full: true }
    }

    /// A process is about to be put on this set.
    pub(crate) fn note(&mut self, process: Process, cpus: &CpuSet) {
        let Some(file) = &mut self.file else { return };
        let (pid, start_time) = process;
        let entry = (process, cpus.to_string());
        if self.written.contains(&entry) {
            return;
        }
        match file.write_all(format!("{pid} {start_time} {cpus}\n").as_bytes()) {
            Ok(()) => self.full = self.written.insert(entry),
            Err(cause) => warn!("a move cannot be noted: {cause}"),
        }
    }

    /// The state file has everything.
    pub(crate) fn saved(&mut self) {
        self.written.clear();
        if let Some(file) = self.file.as_ref().filter(|_| self.full) {
            self.full = file.set_len(0).is_err();
        }
    }

    /// The notes of a manager that was killed, the latest last. The last line may be half.
    pub(crate) fn read(dir: &RuntimeDir) -> Vec<(Process, CpuSet)> {
        let text = std::fs::read_to_string(dir.file(NOTES_FILE)).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let one = |line: &str| {
            let mut words = line.split(' ');
            let process = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some((process, words.next()?.parse().ok()?))
        };
        whole.lines().filter_map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_until_the_state_file_has_them() {
        let root = tempfile::tempdir().unwrap();
        let dir = RuntimeDir::open(root.path().join("numaestro")).unwrap();
        let set = |text: &str| text.parse::<CpuSet>().unwrap();
        let mut notes = Notes::of(&dir);
        for (process, cpus) in [((7, 1), "0"), ((7, 1), "1"), ((7, 1), "0"), ((8, 2), "0-1")] {
            notes.note(process, &set(cpus));
        }
        let expected = vec![((7, 1), set("0")), ((7, 1), set("1")), ((8, 2), set("0-1"))];
        assert_eq!(Notes::read(&dir), expected);
        // The next manager goes on where the killed one was interrupted.
        Notes::of(&dir).note((7, 1), &set("2"));
        assert_eq!(Notes::read(&dir).last(), Some(&((7, 1), set("2"))));
        std::fs::write(dir.file(NOTES_FILE), "7 1 0\n8 2 0-").unwrap();
        assert_eq!(Notes::read(&dir), expected[..1]);
        notes.saved();
        assert!(Notes::read(&dir).is_empty());
        notes.note((7, 1), &set("0"));
        assert_eq!(Notes::read(&dir), expected[..1]);
    }
}
