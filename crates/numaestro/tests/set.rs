//! What people change while programs run: `set`, `release` and `adopt` by any name of a program,
//! with real processes.

mod user;

use numaestro_skip::{part, skip};
use std::process::{Child, Command, Stdio};
use user::{Mortal, User, json, kill, line, start, text, until};

/// A manager that gives out every processor, whatever else runs on the machine.
fn manager(user: &User) -> Mortal {
    let mut command = user.command(["daemon", "--ignore-unmanaged"]);
    let manager = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || status(user)["running"] == true);
    manager
}

/// A program under `run`, which is there when this returns. It ends with its input.
fn program(user: &User, name: &str, script: &str) -> Mortal {
    let words = ["run", "--name", name, "--", "sh", "-c", script];
    let mut child = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut child), "ready");
    child
}

const WAITS: &str = "echo ready; read x";

/// Processors that the kernel lets a process use.
fn allowed(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
    let count = |part: &str| match part.split_once('-') {
        Some((from, to)) => to.parse::<usize>().unwrap() - from.parse::<usize>().unwrap() + 1,
        None => 1,
    };
    list.split(',').map(count).sum()
}

/// The code and the words on stderr of a command.
fn said(user: &User, words: &[&str]) -> (Option<i32>, String) {
    let output = user.output(words);
    (output.status.code(), text(&output.stderr))
}

fn status(user: &User) -> serde_json::Value {
    json(&user.output(["status", "--json"]))
}

#[test]
fn a_limit_is_set_by_letter_number_process_and_name() {
    let user = User::new();
    let _manager = manager(&user);
    // Its child ends soon after it, however it ends.
    let lulesh = program(&user, "lulesh", "while kill -0 $$ 2>/dev/null; do sleep 0.2; done & echo ready; read x");
    let all = allowed(lulesh.id());
    if all < 2 {
        skip!("one processor only");
    }
    let app = status(&user)["apps"][0]["app"].to_string();
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", lulesh.id())).unwrap_or_default();
    let mut words = vec!["A".to_owned(), app.clone(), lulesh.id().to_string(), "lulesh".to_owned()];
    match children.split_whitespace().next() {
        Some(child) => words.push(child.to_owned()),
        None => part("the kernel does not list children"),
    }
    for word in words {
        let output = user.output(["set", &word, "--max", "1"]);
        assert_eq!(output.status.code(), Some(0), "{word}: {}", text(&output.stderr));
        let sentence = text(&output.stdout);
        let expected = format!("lulesh (application {app}, process {}): at most 1, at least 1, weight 1", lulesh.id());
        assert!(sentence.starts_with(&expected) && sentence.ends_with("1 processor now\n"), "{word}: {sentence}");
        assert_eq!(allowed(lulesh.id()), 1, "{word}");
        assert_eq!(user.output(["set", &word, "--max", "none"]).status.code(), Some(0));
        assert_eq!(allowed(lulesh.id()), all, "{word}");
    }
    let wishes = json(&user.output(["set", "A", "--max", "1", "--weight", "1.5", "--json"]));
    assert_eq!((wishes["apps"][0]["max"].as_u64(), wishes["apps"][0]["weight_milli"].as_u64()), (Some(1), Some(1500)));
    let table = text(&user.output(["status"]).stdout);
    assert!(table.contains("MAX") && table.contains("WEIGHT") && table.contains("1.5"), "{table}");
}

#[test]
fn a_name_that_fits_two_lists_both_and_a_wrong_one_says_what_there_is() {
    let user = User::new();
    let (one, two, other) = (program(&user, "py", WAITS), program(&user, "py", WAITS), program(&user, "lulesh", WAITS));
    let (code, words) = said(&user, &["set", "py", "--max", "1"]);
    assert_eq!(code, Some(64), "{words}");
    for part in ["`py` fits 2 applications", "A py", "B py", &one.id().to_string(), &two.id().to_string()] {
        assert!(words.contains(part), "{part} is missing in {words}");
    }
    let (code, words) = said(&user, &["release", "lulsh"]);
    assert_eq!(code, Some(1), "{words}");
    assert!(words.contains("did you mean `lulesh`?") && words.contains(&other.id().to_string()), "{words}");
    let released = user.output(["release", "lulesh"]);
    assert_eq!(released.status.code(), Some(0), "{}", text(&released.stderr));
    let sentence = text(&released.stdout);
    assert!(
        sentence.starts_with("lulesh (application ") && sentence.contains("as if there were no manager"),
        "{sentence}"
    );
    let names: Vec<_> = status(&user)["apps"].as_array().unwrap().iter().map(|app| app["name"].clone()).collect();
    assert_eq!(names, ["py", "py"]);
}

#[test]
fn bad_input_is_refused_with_what_is_possible() {
    let user = User::new();
    let _program = program(&user, "lulesh", WAITS);
    for (words, expected) in [
        (&["set", "lulesh"][..], "--max"),
        (&["set", "lulesh", "--max", "0"], "none"),
        (&["set", "lulesh", "--max", "many"], "none"),
        (&["set", "lulesh", "--max", "60000"], "--max 1 to "),
        (&["set", "lulesh", "--min", "60000"], "--min 1 to "),
        (&["set", "lulesh", "--weight", "0"], "0.001 to 1000"),
        (&["set", "lulesh", "--class", "setter"], "auto, malleable and fold"),
        (&["set", "lulesh", "--class", "malleable"], "numaestro run"),
    ] {
        let (code, words_said) = said(&user, words);
        assert_eq!(code, Some(64), "{words:?}: {words_said}");
        assert!(words_said.contains(expected), "{words:?}: {words_said}");
    }
    assert_eq!(status(&user)["apps"][0]["min"], 1);
    assert_eq!(said(&User::new(), &["set", "A", "--max", "1"]).0, Some(69), "there is no manager to ask");
}

#[test]
fn a_limit_outlives_its_manager() {
    let user = User::new();
    let _manager = manager(&user);
    let child = program(&user, "lulesh", WAITS);
    if allowed(child.id()) < 2 {
        skip!("one processor only");
    }
    assert_eq!(user.output(["set", "lulesh", "--max", "1"]).status.code(), Some(0));
    kill("KILL", &status(&user)["pid"].to_string());
    until("the manager's end", || status(&user)["running"] == false);
    // The next `run` starts the next manager.
    let _other = program(&user, "other", WAITS);
    let seen = status(&user);
    let lulesh = seen["apps"].as_array().unwrap().iter().find(|app| app["name"] == "lulesh").expect("taken over");
    assert_eq!((lulesh["max"].as_u64(), lulesh["pid"].as_u64()), (Some(1), Some(u64::from(child.id()))));
    assert_eq!(allowed(child.id()), 1);
}

/// A thread of the kernel that can be seen here.
fn kernel_thread() -> Option<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    let pids = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_kernel = |pid: &String| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let flags =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().nth(6).unwrap_or_default().to_owned();
        flags.parse::<u64>().is_ok_and(|flags| flags & 0x0020_0000 != 0)
    };
    pids.filter(|pid| pid.parse::<u32>().is_ok()).find(is_kernel)
}

#[test]
fn adopt_spares_init_the_kernel_and_the_shell_that_asks() {
    let user = User::new();
    let (code, words) = said(&user, &["adopt", "1"]);
    assert_eq!(code, Some(77), "{words}");
    assert!(words.contains("process 1 ") && (words.contains("init") || words.contains("not one of your")), "{words}");
    match kernel_thread() {
        Some(pid) => {
            let (code, words) = said(&user, &["adopt", &pid]);
            assert_eq!(code, Some(77), "{words}");
            assert!(words.contains(&format!("process {pid} ")), "{words}");
        }
        None => part("no thread of the kernel can be seen"),
    }
    // A shell and the shell around it.
    let script = r#""$0" adopt $$; echo $?; sh -c '"$0" adopt $1; echo $?' "$0" $$; :"#;
    let me = env!("CARGO_BIN_EXE_numaestro");
    let mut command = user.wrapped(&["sh", "-c", script], [] as [&str; 0]);
    let output = command.stdin(Stdio::null()).output().expect("sh");
    assert_eq!(text(&output.stdout), "77\n77\n", "{me}: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the shell that you ask from"), "{}", text(&output.stderr));
    assert_eq!(status(&user)["apps"].as_array().map(Vec::len), Some(0), "nothing was taken");
    let forced =
        user.wrapped(&["sh", "-c", r#""$0" adopt --force $$; echo $?; :"#], [] as [&str; 0]).output().expect("sh");
    assert_eq!(text(&forced.stdout).lines().last(), Some("0"), "{}", text(&forced.stderr));
}

#[test]
fn what_was_adopted_is_changed_by_its_name() {
    let user = User::new();
    let mut command = Command::new("sleep");
    let mut sleeper: Mortal = start(command.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()));
    let child: &mut Child = &mut sleeper;
    let before = allowed(child.id());
    assert_eq!(user.output(["adopt", &child.id().to_string()]).status.code(), Some(0));
    let again = said(&user, &["adopt", &child.id().to_string()]);
    assert!(again.1.contains("numaestro set"), "{again:?}");
    assert_eq!(user.output(["set", "sleep", "--max", "1"]).status.code(), Some(0));
    assert_eq!(allowed(child.id()), 1);
    assert_eq!(user.output(["release", "sleep"]).status.code(), Some(0));
    assert_eq!(allowed(child.id()), before);
}
