//! Records a guest's /sys in the form of `testdata/machines`.

use crate::packing::Job;
use anyhow::{Context, Result, ensure};
use numaestro_topology::MemTree;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// The paths that readers look at; `*` stands for anything within a name.
const PATHS: [&str; 14] = [
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/offline",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/isolated",
    "sys/devices/system/cpu/cpu*/cpu_capacity",
    "sys/devices/system/cpu/cpu*/topology/*",
    "sys/devices/system/cpu/cpu*/cache/index*/id",
    "sys/devices/system/cpu/cpu*/cache/index*/level",
    "sys/devices/system/cpu/cpu*/cache/index*/shared_cpu_*",
    "sys/devices/system/cpu/cpu*/cache/index*/size",
    "sys/devices/system/cpu/cpu*/cache/index*/type",
    "sys/devices/system/node/node*/cpulist",
    "sys/devices/system/node/node*/distance",
    "sys/devices/system/node/node*/meminfo",
];

/// The job of a guest that is to be recorded; `before` is a command of the shell.
pub fn job(before: &str) -> Job {
    let own = std::env::current_exe().unwrap_or_default();
    let command = ["guest-inside", "record", before].map(str::to_owned).to_vec();
    Job { command, programs: vec![own.with_file_name("guest-inside")], ..Job::default() }
}

/// In the guest: runs the command and prints the tree.
///
/// # Errors
/// The command fails, or there is no /sys.
pub fn print(before: &str) -> Result<()> {
    let text = collect(before)?.to_text();
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// The tree of the machine this runs on, after a command of the shell (if there is one).
///
/// # Errors
/// As [`print()`].
pub fn collect(before: &str) -> Result<MemTree> {
    if !before.is_empty() {
        let status = Command::new("sh").args(["-c", before]).status()?;
        ensure!(status.success(), "{before}: {status}");
    }
    let mut tree = MemTree::new();
    for pattern in PATHS {
        let words: Vec<&str> = pattern.split('/').collect();
        walk(&mut tree, Path::new("/"), "", &words);
    }
    ensure!(tree.iter().next().is_some(), "nothing is below /sys/devices/system");
    Ok(tree)
}

fn walk(tree: &mut MemTree, directory: &Path, so_far: &str, pattern: &[&str]) {
    let Some((first, rest)) = pattern.split_first() else { return };
    let names: Vec<String> = match first.split_once('*') {
        None => vec![(*first).to_owned()],
        Some((begin, _)) => {
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| fits(name, begin)).collect()
        }
    };
    for name in names {
        let (path, joined) = (directory.join(&name), format!("{so_far}{name}"));
        if rest.is_empty() {
            if let Ok(bytes) = std::fs::read(&path) {
                tree.insert(joined, wanted(&name, String::from_utf8_lossy(&bytes).trim_end()));
            }
        } else {
            walk(tree, &path, &format!("{joined}/"), rest);
        }
    }
}

/// `cpu*` means numbers, not `cpufreq`.
fn fits(name: &str, begin: &str) -> bool {
    let Some(rest) = name.strip_prefix(begin) else { return false };
    !matches!(begin, "cpu" | "node" | "index") || !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// The part of a file to record: of `meminfo` only the line that does not change from one look to
/// the next.
fn wanted(name: &str, content: &str) -> String {
    if name != "meminfo" {
        return content.to_owned();
    }
    content.lines().find(|line| line.contains("MemTotal:")).unwrap_or_default().to_owned()
}

/// The output of a guest, kept.
#[derive(Debug, Clone, Default)]
pub struct Collected(Arc<Mutex<Vec<u8>>>);

impl Collected {
    /// Forgets the output of the last attempt, for another one.
    #[must_use]
    pub fn again(&self) -> Self {
        self.0.lock().expect("nobody panics with it").clear();
        self.clone()
    }

    /// The whole output.
    ///
    /// # Errors
    /// It is no text.
    pub fn text(&self) -> Result<String> {
        let bytes = self.0.lock().expect("nobody panics with it").clone();
        String::from_utf8(bytes).context("the guest wrote something else than text")
    }
}

impl Write for Collected {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes `sysfs.txt` and `tree.txt` into a directory, if the recording can be read.
///
/// # Errors
/// It cannot, or the directory cannot be written.
pub fn write(directory: &Path, text: &str) -> Result<()> {
    let tree = MemTree::from_text(text).context("the guest wrote something else")?;
    let machine = numaestro_topology::sysfs::read(&tree, None).context("the recorded machine cannot be read")?;
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("sysfs.txt"), tree.to_text())?;
    std::fs::write(directory.join("tree.txt"), machine.to_string())?;
    println!("{}:\n{machine}", directory.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_recorded_and_read_back() {
        let tree = collect("").expect("/sys");
        let again = MemTree::from_text(&tree.to_text()).expect("the recorded form");
        assert_eq!(again, tree);
        let machine = numaestro_topology::sysfs::read(&again, None).expect("a machine");
        assert!(machine.pu_count() >= 1);
        assert!(tree.iter().all(|(path, _)| path.starts_with("sys/devices/system/")));
    }

    #[test]
    fn names_are_numbers() {
        assert!(fits("cpu12", "cpu") && !fits("cpufreq", "cpu") && !fits("cpu", "cpu"));
        assert!(fits("shared_cpu_list", "shared_cpu_") && fits("core_id", ""));
        assert_eq!(wanted("meminfo", "Node 0 MemTotal: 1 kB\nNode 0 MemFree: 2 kB\n"), "Node 0 MemTotal: 1 kB");
    }
}
