//! The commands of the guide, as they stand there, with fewer seeds.

use crate::cluster::Cluster;
use crate::sweeps::files;
use crate::user::{User, text};
use numaestro_skip::{part, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The blocks that name this file, with their language, and a word by which they are told apart.
fn block(word: &str) -> String {
    let guide = std::fs::read_to_string(repository().join("docs/guides/slurm.md")).expect("readable");
    let mut blocks = guide.split("\n```").filter(|block| {
        let info = block.lines().next().unwrap_or_default();
        info.contains("tests/slurm/guide.rs") && block.contains(word)
    });
    let block = blocks.next().unwrap_or_else(|| panic!("no block with `{word}`"));
    assert!(blocks.next().is_none(), "two blocks with `{word}`");
    let text = block.split_once('\n').expect("lines").1;
    // One seed more where the guide has ten more.
    let fewer = [("--seeds 30", "--seeds 1"), ("--seeds 40", "--seeds 2"), ("\"30\"", "\"1\"")];
    fewer.iter().fold(text.to_owned(), |text, (many, few)| text.replace(many, few))
}

/// Runs it in the user's place, where `numaestro` and the scenarios are at hand; what it shows.
fn run(user: &User, change: impl FnOnce(Command) -> Command, program: &str, words: &[&str]) -> String {
    if !user.path("lab").exists() {
        std::os::unix::fs::symlink(repository().join("lab"), user.path("lab")).expect("a link");
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_numaestro")).parent().expect("a directory").display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.args(words).env("PATH", path).current_dir(user.place.path()).stdin(Stdio::null());
    let output = change(command).output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn the_commands_for_a_cluster_work() {
    let cluster = match Cluster::start() {
        Ok(cluster) => cluster,
        Err(reason) => skip!("{reason}"),
    };
    let shown = run(&cluster.user, |command| cluster.on_it(command), "bash", &["-ec", &block("--html teams.html")]);
    assert!(shown.contains("linux24"), "{shown}");
    // The second and the third go on with what the first has done.
    let rounds = block("ten seeds more");
    let shown = run(&cluster.user, |command| cluster.on_it(command), "bash", &["-ec", &rounds]);
    assert_eq!(shown.matches("1 seed").count(), 2, "{shown}");
    assert!(shown.contains("2 seeds"), "{shown}");
    let left = ["lab", "slurm", "teams.html", "teams.json", "teams.jsonl"];
    assert_eq!(files(&cluster.user), left);
}

#[test]
fn the_commands_without_a_cluster_work() {
    let user = User::new();
    let (parallel, dask) = (block("seq 3"), block("import dask"));
    let has = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let python = repository().join("build/venv/bin/python");
    let python = python.to_str().expect("text");
    let has_dask = has(python, &["-c", "import dask"]);
    let has_parallel = has("parallel", &["--version"]);
    if !has_dask && !has_parallel {
        skip!("no GNU parallel and no Python that has Dask");
    }
    let bring_together = parallel.lines().last().expect("two lines").to_owned();
    if has_parallel {
        let shown = run(&user, |command| command, "bash", &["-ec", &parallel]);
        assert!(shown.contains("linux24") && user.path("part-3.jsonl").exists(), "{shown}");
        for part in 1..=3 {
            std::fs::remove_file(user.path(&format!("part-{part}.jsonl"))).expect("there");
        }
    } else {
        part("GNU parallel is not here");
    }
    if has_dask {
        std::fs::write(user.path("parts.py"), dask).expect("writable");
        run(&user, |command| command, python, &["parts.py"]);
        let shown = run(&user, |command| command, "bash", &["-ec", &bring_together]);
        assert!(shown.contains("linux24") && user.path("part-3.jsonl").exists(), "{shown}");
    } else {
        part("no Python that has Dask");
    }
}
