//! Tests the launcher with a program in place of QEMU: it reports how a guest ends, and leaves
//! nothing of it behind.
//!
//! `make test-numa` uses the real QEMU. The launcher knows of QEMU only the text on its serial
//! lines, so a program that writes such text can stand in.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A directory that looks like the one that `fetch.sh` fills.
struct Place(PathBuf);

impl Place {
    /// `body` runs in place of QEMU; `$1` to `$3` are the files of console, output and errors, `$4`
    /// is the first file system.
    fn new(name: &str, body: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("launcher-{name}"));
        let _ = std::fs::remove_dir_all(&directory);
        let script = format!(
            "#!/bin/sh\nwhile [ $# -gt 0 ]; do\n case $1 in\n -serial) files=\"$files ${{2#file:}}\";;\n -initrd) initial=$2;;\n esac\n\
             shift\ndone\nset -- $files $initial\n{body}\n"
        );
        program(&directory.join("root/lib64/ld-linux-x86-64.so.2"), &script);
        program(&directory.join("root/bin/busybox"), "#!/bin/sh\nprintf 'busybox\\nsh\\n'\n");
        std::fs::write(directory.join("versions"), "a program of the tests\n").expect("written");
        Self(directory)
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numaestro-guest"));
        command.args(["run", "--nodes", "2x1:256", "--cache"]).arg(&self.0).args(options).args(["--", "true"]);
        command
    }

    fn run(&self, options: &[&str]) -> Output {
        self.command(options).output().expect("the launcher runs")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("absolute")).expect("made");
    let mut file = std::fs::File::create(path).expect("made");
    file.write_all(text.as_bytes()).expect("written");
    file.set_permissions(std::fs::Permissions::from_mode(0o755)).expect("set");
}

#[track_caller]
fn expect(output: &Output, code: i32, stdout: &str, in_stderr: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout);
    assert!(errors.contains(in_stderr), "no \"{in_stderr}\" in {errors}");
}

#[test]
fn output_errors_and_exit_code_come_through() {
    let body = "echo hello >$2; echo bad >$3; echo NUMAVM_EXIT=3 >$1; echo 'noise NUMAVM_EXIT=42' >$1";
    expect(&Place::new("through", body).run(&[]), 42, "hello\n", "bad");
}

#[test]
fn much_output_is_whole() {
    let body = "yes 0123456789 | head -n 300000 >$2; echo NUMAVM_EXIT=0 >$1";
    let output = Place::new("much", body).run(&[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 3_300_000));
}

#[test]
fn the_first_file_system_holds_the_job() {
    let body = "grep -aq \"exec 'true'\" $4 && grep -aq 1:256,1:256 $4 && echo found >$2; echo NUMAVM_EXIT=0 >$1";
    expect(&Place::new("initial", body).run(&[]), 0, "found\n", "");
}

#[test]
fn a_guest_that_hangs_is_ended_with_its_last_words() {
    let place = Place::new("hung", "echo last words >$1; exec sleep 1000");
    expect(&place.run(&["--timeout", "1"]), 124, "", "console: last words");
}

#[test]
fn a_kernel_that_dies_is_tried_once_more() {
    let once =
        "again=${1%/*}; here=$0.died; echo up >$1; [ -e $here ] && { echo NUMAVM_EXIT=0 >$1; exit; }; touch $here";
    expect(&Place::new("once", once).run(&[]), 0, "", "trying once more");
    expect(&Place::new("twice", "echo Kernel panic >$1").run(&[]), 125, "", "console: Kernel panic");
}

#[test]
fn what_qemu_refuses_is_told_apart() {
    expect(&Place::new("refused", "echo 'no such machine' >&2; exit 1").run(&[]), 126, "", "no such machine");
}

#[test]
fn wrong_shapes_are_refused_before_anything_runs() {
    let place = Place::new("wrong", "echo NUMAVM_EXIT=0 >$1");
    let run = |nodes: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_numaestro-guest"));
        command.args(["run", "--nodes", nodes, "--cache"]).arg(&place.0).args(["--", "true"]);
        command.output().expect("the launcher runs")
    };
    expect(&run("2:256,0:0"), 1, "", "node 1 has nothing");
    expect(&run("two"), 1, "", "a node is CPUS:MB");
}

/// Starts a guest that never ends; returns the launcher and the id of the process in QEMU's place.
fn endless(place: &Place) -> (Child, u32) {
    let mut child = place.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let pid = eventually(|| std::fs::read_to_string(place.0.join("pid")).ok()?.trim().parse().ok());
    let Some(pid) = pid else {
        let _ = (child.kill(), child.wait());
        panic!("nothing was started");
    };
    (child, pid)
}

/// The first value that `look` finds within a minute.
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_mins(1) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

#[test]
fn nothing_outlives_the_launcher_whatever_ends_it() {
    for signal in ["INT", "TERM", "KILL"] {
        let place = Place::new(signal, "echo $$ >${0%/*/*/*}/pid; exec sleep 1000");
        let before = listing(&std::env::temp_dir());
        let (mut launcher, qemu) = endless(&place);
        let kill = Command::new("kill").args(["-s", signal, &launcher.id().to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()));
        assert!(!launcher.wait().expect("it ends").success());
        let gone = eventually(|| (!runs(qemu)).then_some(()));
        assert!(gone.is_some(), "QEMU outlives SIG{signal} of its launcher");
        let own = |name: &String| name.contains("numaestro-guest") || name.contains(&launcher.id().to_string());
        let left: Vec<_> =
            listing(&std::env::temp_dir()).into_iter().filter(|it| !before.contains(it) && own(it)).collect();
        assert!(left.is_empty(), "SIG{signal} leaves {left:?}");
        let kept: Vec<_> = listing(&place.0).into_iter().filter(|name| name.starts_with("kept")).collect();
        assert!(kept.is_empty(), "SIG{signal} leaves {kept:?}");
    }
}

/// Whether a process is there and not only waiting to be collected.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn listing(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn two_guests_take_turns() {
    // Each looks for a mark of the other while it runs.
    let body =
        "here=${0%/*/*/*}; mkdir $here/mark || echo 'at once' >$2; sleep 1; rmdir $here/mark; echo NUMAVM_EXIT=0 >$1";
    let place = Place::new("turns", body);
    let children: Vec<Child> = (0..3)
        .map(|_| place.command(&[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started"))
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(0), ""));
    }
}
