//! What cannot be is said before anything is submitted, and leaves no file behind.

use crate::cluster::Cluster;
use crate::sweeps::{FAST, files, with};
use crate::user::{User, text};
use numaestro_skip::skip;
use std::process::Command;

/// The command fails with this code, says these words, and leaves no file.
fn refused(user: &User, mut command: Command, code: i32, words: &[&str]) {
    let before = files(user);
    let output = command.output().expect("it starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
    assert_eq!(files(user), before, "{said}");
}

fn compare(user: &User, words: &[&str]) -> Command {
    let mut command = user.command(["sim", "compare", "s.toml"].iter().chain(words));
    command.current_dir(user.place.path());
    command
}

#[test]
fn a_machine_without_slurm_says_so() {
    let user = User::new();
    with(&user, FAST);
    let mut command = compare(&user, &["--slurm", "--json", "o.json"]);
    command.env("PATH", "/nowhere");
    refused(&user, command, 69, &["no Slurm", "--part K/N"]);
}

#[test]
fn words_that_do_not_go_together_are_wrong_usage() {
    let user = User::new();
    with(&user, FAST);
    let wrong = |words: &[&str], said: &str| refused(&user, compare(&user, words), 64, &[said]);
    wrong(&["--part", "4/3", "--state", "x"], "parts go from 1/3 to 3/3");
    wrong(&["--part", "2/3"], "--state");
    wrong(&["--part", "2/3", "--state", "x", "--json", "o.json"], "cannot be used with");
    wrong(&["--part", "2/3", "--state", "x", "--slurm"], "cannot be used with");
    wrong(&["--partition", "main"], "--slurm");
}

#[test]
fn what_the_cluster_does_not_have_is_said_with_what_it_has() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let user = &cluster.user;
    with(user, FAST);
    let wrong = |words: &[&str], code: i32, said: &[&str]| {
        let words: Vec<&str> = ["--slurm"].iter().chain(words).copied().collect();
        refused(user, cluster.on_it(compare(user, &words)), code, said);
    };
    wrong(&[], 64, &["--state"]);
    let mut of_sbatch = cluster.on_it(compare(user, &["--slurm", "--json", "o.json"]));
    of_sbatch.env("SBATCH_PARTITION", "nowhere");
    refused(user, of_sbatch, 64, &["no partition `nowhere`"]);
    wrong(&["--json", "o.json", "--partition", "nope"], 64, &["`nope`", "main"]);
    wrong(&["--json", "o.json", "--nodes", "4"], 64, &["`main` has 3 nodes"]);
    wrong(&["--json", "o.json", "--tasks", "1001"], 64, &["1000 tasks", "MaxArraySize"]);
    wrong(&["--json", "gone/o.json"], 1, &["no directory gone"]);
    // A file stands where the tasks' directory is to be.
    std::fs::write(user.path("o.json.state.jsonl.slurm"), "").expect("writable");
    wrong(&["--json", "o.json"], 1, &["cannot make the directory", "o.json.state.jsonl.slurm"]);
    std::fs::remove_file(user.path("o.json.state.jsonl.slurm")).expect("ours");
    wrong(&["--json", "o.json", "--sbatch=--nodelist=n9"], 1, &["sbatch has failed", "Invalid node name"]);
    assert!(cluster.jobs().is_empty());
}
