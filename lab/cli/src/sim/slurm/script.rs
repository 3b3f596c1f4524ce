//! The script of an array job, and what sbatch is told about it. A task runs `sim compare --part`
//! for the part of its own number.

use super::cluster::{self, Job};
use super::directory::Directory;
use crate::command_line;
use crate::sim::args::CompareArgs;
use anyhow::Context;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf, absolute};

/// What all array jobs of a comparison have in common.
#[derive(Debug)]
pub struct Script {
    options: Vec<OsString>,
    /// At most so many tasks at the same time.
    limit: Option<u32>,
    text: Vec<u8>,
}

impl Script {
    /// The comparison of `args` in so many parts, whose finished runs are in `state`.
    ///
    /// # Errors
    /// This program is gone.
    pub fn new(args: &CompareArgs, parts: u32, state: &Path, directory: &Directory) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        anyhow::ensure!(program.exists(), "{} is gone, which the tasks were to run", program.display());
        Ok(Self {
            options: options(args, directory),
            limit: args.slurm.nodes,
            text: text(&program, &words(args, state)?, parts, directory.path()),
        })
    }

    /// Submits the tasks of these numbers.
    ///
    /// # Errors
    /// sbatch refuses.
    pub fn submit(&self, tasks: &[u32]) -> anyhow::Result<Job> {
        let limit = self.limit.map(|limit| format!("%{limit}")).unwrap_or_default();
        let array = format!("--array={}{limit}", cluster::array(tasks)).into();
        // The user's own come last, and win.
        let options: Vec<OsString> = std::iter::once(array).chain(self.options.iter().cloned()).collect();
        cluster::submit(&options, &self.text)
    }
}

/// Slurm must not start a task again by itself: it would wait minutes with that, and this program
/// starts it again at once.
fn options(args: &CompareArgs, directory: &Directory) -> Vec<OsString> {
    let mut options = vec!["--nodes=1".to_owned(), "--ntasks=1".to_owned(), "--no-requeue".to_owned()];
    let name = args.what.scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let letters = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    options.push(format!("--job-name=numaestro-{}", letters.take(40).collect::<String>()));
    options.push(format!("--output={}", directory.log_pattern()));
    options.push("--open-mode=append".to_owned());
    match (args.slurm.nodes, args.what.workers) {
        (Some(_), None) => options.push("--exclusive".to_owned()),
        (Some(_), Some(workers)) => options.extend(["--exclusive".to_owned(), format!("--cpus-per-task={workers}")]),
        (None, workers) => options.push(format!("--cpus-per-task={}", workers.unwrap_or(1))),
    }
    options.extend(args.slurm.partition.iter().map(|partition| format!("--partition={partition}")));
    options.extend(args.slurm.sbatch.iter().cloned());
    options.into_iter().map(OsString::from).collect()
}

/// The command of each task, up to what differs between them. It reads the finished runs of the
/// whole comparison, and so refuses another build and another scenario before it runs anything.
fn words(args: &CompareArgs, state: &Path) -> anyhow::Result<Vec<OsString>> {
    let full = |path: &PathBuf| absolute(path).context("there is no current directory");
    let mut words: Vec<OsString> = vec!["sim".into(), "compare".into(), full(&args.what.scenario)?.into()];
    let mut say = |name: &str, value: String| words.push(format!("{name}={value}").into());
    args.what.set.iter().for_each(|set| say("--set", set.clone()));
    args.policies.iter().for_each(|policies| say("--policies", policies.clone()));
    args.baseline.iter().for_each(|baseline| say("--baseline", baseline.clone()));
    args.what.seed.iter().for_each(|seed| say("--seed", seed.to_string()));
    args.what.seeds.iter().for_each(|seeds| say("--seeds", seeds.to_string()));
    if let Some(workers) = args.what.workers.or(args.slurm.nodes.is_none().then_some(1)) {
        say("--workers", workers.to_string());
    }
    words.extend(["--finished".into(), full(&state.to_owned())?.into(), "--resume".into()]);
    Ok(words)
}

fn text(program: &Path, words: &[OsString], parts: u32, directory: &Path) -> Vec<u8> {
    let quoted = |path: &Path| command_line::quoted(path.as_os_str().as_bytes());
    let program = quoted(program);
    let mut text = b"#!/bin/sh\n# A part of a comparison, by `numaestro sim compare --slurm`.\ncd ".to_vec();
    text.extend(quoted(directory));
    text.extend(b" || exit\n[ -x ");
    text.extend(&program);
    text.extend(b" ] || { echo \"numaestro: error: $(uname -n) has no \"");
    text.extend(&program);
    text.extend(b"\", and the nodes need it in the same path\" >&2; exit 127; }\nexec ");
    text.extend(&program);
    text.push(b' ');
    text.extend(command_line::joined(words.iter().cloned()));
    text.extend(format!(" --part \"$SLURM_ARRAY_TASK_ID/{parts}\" --state {}\n", Directory::state_word()).into_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    /// Runs the script as a task does, with this program.
    fn run(program: &Path, words: &[&str], directory: &Path) -> std::process::Output {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let script = directory.join("script");
        std::fs::write(&script, text(program, &words, 12, directory)).expect("writable");
        let task = [("SLURM_ARRAY_JOB_ID", "7"), ("SLURM_ARRAY_TASK_ID", "3")];
        Command::new("sh").arg(script).envs(task).output().expect("sh starts")
    }

    #[test]
    fn a_task_gets_its_part_and_every_word_as_it_was() {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("it's here");
        std::fs::create_dir(&directory).expect("makes it");
        let program = directory.join("a program");
        std::fs::write(&program, "#!/bin/sh\nprintf '%s|' \"$@\"\npwd\n").expect("writable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let output = run(&program, &["--set=a=\"$HOME\" b", "x"], &directory);
        let expected = format!("--set=a=\"$HOME\" b|x|--part|3/12|--state|7_3.0.jsonl|{}\n", directory.display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }

    #[test]
    fn a_node_without_this_program_says_so() {
        let place = tempfile::tempdir().expect("a directory");
        let output = run(Path::new("/no/such program"), &[], place.path());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(127) && said.contains("has no /no/such program, and"), "{said}");
    }
}
