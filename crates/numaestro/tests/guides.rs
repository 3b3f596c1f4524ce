//! Every code block of the guides, README and CONTRIBUTING is tried: scenarios run, settings are
//! read, commands are known with all their options, C is compiled. No manager is started.
//!
//! A block that nothing can try says so in its info string (`sh unchecked: needs root`) and is
//! counted. The Rust of the guide for policy authors is compiled and run by
//! `xtask/tests/new_policy.rs`.

mod user;

use std::path::{Path, PathBuf};
use std::process::Command;
use user::{User, text};

/// Blocks that nothing tries, in all guides together: one more is a decision.
const UNCHECKED: usize = 30;
/// Guide whose Rust and whose cargo commands are tried by xtask's test.
const OF_AUTHORS: &str = "policy-authors.md";
/// Names of the guides that are nobody's here, and names that everybody has.
const NAMES: [(&str, &str); 3] =
    [("users.alice", "users.root"), ("\"alice\"", "\"root\""), ("groups.lab", "groups.root")];
/// Numbers of an application and of a process in a command.
const NUMBERS: [&str; 2] = ["APP", "PID"];

/// A block between fences.
struct Block {
    guide: String,
    /// Where it begins.
    line: usize,
    /// The fence's own line, without the fence.
    info: String,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn blocks() -> Vec<Block> {
    let mut guides: Vec<PathBuf> = std::fs::read_dir(repository().join("docs/guides"))
        .expect("the guides")
        .map(|entry| entry.expect("a guide").path())
        .collect();
    guides.extend(["README.md", "CONTRIBUTING.md"].map(|name| repository().join(name)));
    guides.sort();
    guides.iter().flat_map(|path| blocks_of(path)).collect()
}

fn blocks_of(path: &Path) -> Vec<Block> {
    let guide = path.file_name().expect("a name").to_string_lossy().into_owned();
    let lines = std::fs::read_to_string(path).expect("readable");
    let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    let mut before = "";
    for (number, line) in (1..).zip(lines.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.text.extend([line, "\n"]),
            (None, Some(info)) => {
                let info = info.to_owned();
                open = Some(Block { guide: guide.clone(), line: number, info, text: String::new() });
            }
            (None, None) => {
                let indented = line.starts_with("    ") && before.is_empty();
                assert!(!indented, "{guide}:{number}: a block without a fence says not what it is");
            }
        }
        before = line;
    }
    assert!(open.is_none(), "{guide}: the last block is open");
    blocks
}

#[test]
fn every_block_is_tried_or_says_why_not() {
    let user = User::new();
    std::os::unix::fs::symlink(repository().join("lab"), user.path("lab")).expect("a link");
    let (mut tried, mut unchecked) = (0, Vec::new());
    for block in blocks() {
        let place = format!("{}:{}", block.guide, block.line);
        if let Some((_, reason)) = block.info.split_once(" unchecked: ") {
            assert!(reason.len() > 8, "{place}: why?");
            unchecked.push(format!("{place}: {reason}"));
        } else {
            try_block(&user, &block, &place);
            tried += 1;
        }
    }
    println!("{tried} blocks tried, {} not:\n{}", unchecked.len(), unchecked.join("\n"));
    assert_eq!(unchecked.len(), UNCHECKED, "{unchecked:#?}");
    assert!(tried > 20, "{tried}");
}

fn try_block(user: &User, block: &Block, place: &str) {
    match block.info.as_str() {
        "toml" if block.text.contains("machine = ") => run_scenario(user, &block.text, place),
        "toml" => read_settings(user, &block.text, place),
        "c" => compile(user, &block.text, place),
        "sh" => block.text.lines().for_each(|line| try_command(user, line, block, place)),
        "console" => {
            let text = block.text.replace("\\\n", " ");
            let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
            assert!(!commands.is_empty(), "{place}: no command");
            for line in commands {
                try_command(user, line, block, place);
            }
        }
        "rust" => assert_eq!(block.guide, OF_AUTHORS, "{place}: nothing compiles this"),
        other => panic!("{place}: nothing tries `{other}`; say `unchecked: REASON` behind it"),
    }
}

/// What the guide calls it under, and one seed: that it runs is the question. The guide's own
/// policy is not part of numaestro.
fn run_scenario(user: &User, scenario: &str, place: &str) {
    let path = user.path("s.toml");
    std::fs::write(&path, scenario).expect("writable");
    let file = path.display().to_string();
    let compare = ["sim", "compare", &file, "--policies", "equi,dss", "--seeds", "2", "--set", "workload.jobs=20"];
    let words = if scenario.contains("[sweep]") { &compare[..] } else { &["sim", "run", &file, "--seeds", "1"] };
    succeeds(&mut user.command(words), place);
}

fn read_settings(user: &User, settings: &str, place: &str) {
    let settings = NAMES.into_iter().fold(settings.to_owned(), |text, (name, known)| text.replace(name, known));
    let path = user.path("config.toml");
    std::fs::write(&path, &settings).expect("writable");
    let file = path.display().to_string();
    // Users, groups, containers and rules about them are the system manager's.
    let system = ["users.", "user = ", "[containers]"].iter().any(|word| settings.contains(word));
    let words = ["daemon", "--check-config", "--config", &file, "--system"];
    succeeds(&mut user.command(&words[..if system { 5 } else { 4 }]), place);
}

fn compile(user: &User, code: &str, place: &str) {
    let path = user.path("example.c");
    let around = format!("#include \"numaestro.h\"\nvoid launch();\nvoid example(void)\n{{\n{code}}}\n");
    std::fs::write(&path, around).expect("writable");
    let include = repository().join("client/include");
    let mut cc = Command::new("cc");
    cc.args(["-fsyntax-only", "-std=c11", "-Wall", "-Werror", "-Wno-strict-prototypes", "-I"]).arg(include).arg(path);
    succeeds(&mut cc, place);
}

/// One line: it is run where it needs no manager; else the command line is read, and nothing is
/// done.
fn try_command(user: &User, line: &str, block: &Block, place: &str) {
    let number = |word: String| if NUMBERS.contains(&word.as_str()) { "1".to_owned() } else { word };
    let words: Vec<String> = words(line).into_iter().map(number).collect();
    let Some((program, arguments)) = words.split_first() else { return };
    match program.as_str() {
        "numaestro" => {
            let own = arguments.iter().take_while(|word| *word != "--");
            let mut arguments: Vec<&str> = own.map(String::as_str).collect();
            let runs =
                arguments.first() == Some(&"sim") && arguments.get(2).is_none_or(|file| user.path(file).exists());
            match arguments.get(1) {
                Some(&"machines") if runs => {}
                _ if runs => arguments.extend(["--seeds", "1"]),
                _ => arguments.push("--help"),
            }
            succeeds(user.command(arguments).current_dir(user.place.path()), &format!("{place}: {line}"));
        }
        "make" => {
            let rules = std::fs::read_to_string(repository().join("Makefile")).expect("readable");
            let target = format!("\n{}:", arguments[0]);
            assert!(rules.contains(&target), "{place}: make knows no {}", arguments[0]);
        }
        "cargo" => assert_eq!(block.guide, OF_AUTHORS, "{place}: nothing runs this"),
        other => panic!("{place}: nothing tries `{other}`"),
    }
}

/// The words of a command line; what follows a `#` is a comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') if word.is_empty() => break,
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn succeeds(command: &mut Command, place: &str) {
    let output = command.stdin(std::process::Stdio::null()).output().unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(output.status.success(), "{place}: {command:?}: {}", text(&output.stderr));
}

#[test]
fn words_are_the_user_shells() {
    assert_eq!(words("a 'b c'  \"d e\"f # g"), ["a", "b c", "d ef"]);
}
