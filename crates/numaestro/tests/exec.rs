//! `run` becomes the program exactly: what the shell gave is what the program finds, and what it
//! does is what the shell sees.
//!
//! No test knows how long anything takes.

mod user;

use numaestro_skip::programs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use user::{User, json, kill, line, start, state, text, until};

#[test]
fn dry_run_starts_nothing() {
    let user = User::new();
    let output = user.output(["run", "--dry-run", "--", "touch", user.path("made").to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("touch"));
    assert!(!user.path("made").exists() && !user.path("run").exists());
}

#[test]
fn every_exit_code_is_the_programs() {
    let user = User::new();
    for code in (0..=255).step_by(15).chain([1, 2, 125, 126, 127, 254]) {
        assert_eq!(user.shell(&format!("exit {code}")).status.code(), Some(code));
    }
}

#[test]
fn death_by_signal_is_the_programs() {
    let user = User::new();
    for signal in [1, 2, 6, 9, 11, 13, 15] {
        assert_eq!(user.shell(&format!("ulimit -c 0; kill -{signal} $$")).status.signal(), Some(signal));
    }
}

#[test]
fn programs_that_cannot_be_started_are_told_as_a_shell_does() {
    let user = User::new();
    let file = user.path("not-executable");
    std::fs::write(&file, "echo no").expect("writable");
    let bad = user.path("bad-interpreter");
    programs::script(&bad, "#!/no/such/interpreter\n");
    let name = |path: &Path| path.to_str().expect("text").to_owned();
    for (program, code) in [
        ("no-such-program-anywhere".to_owned(), 127),
        ("/no/such/file".to_owned(), 127),
        (String::new(), 127),
        (name(&file), 126),
        (name(user.place.path()), 126),
        (name(&bad), 127),
    ] {
        let output = user.run(&[&program]);
        assert_eq!(output.status.code(), Some(code), "{program}: {}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with("numaestro: error: "), "{program}: {}", text(&output.stderr));
    }
}

#[test]
fn a_script_without_a_first_line_is_run_by_sh() {
    let user = User::new();
    let script = user.path("script");
    programs::script(&script, "echo \"$1\"; exit 3\n");
    let output = user.run(&[script.to_str().expect("text"), "a b"]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("a b\n", Some(3)));
}

#[test]
fn input_output_and_arguments_pass_through() {
    let user = User::new();
    let mut child = user
        .command(["run", "--", "sh", "-c", "cat; echo \"$#:$1:$2\" >&2", "x", "a  b", "--min"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let bytes: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let mut input = child.stdin.take().expect("a pipe");
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent));
    let output = child.wait_with_output().expect("ends");
    writer.join().expect("no panic").expect("all taken");
    assert!(output.stdout == bytes);
    assert_eq!(text(&output.stderr), "2:a  b:--min\n");
}

#[test]
fn the_program_is_the_process_that_was_started() {
    let user = User::new();
    let child =
        user.command(["run", "--", "sh", "-c", "echo $$ $PPID"]).stdout(Stdio::piped()).spawn().expect("starts");
    let pid = child.id();
    let output = child.wait_with_output().expect("ends");
    assert_eq!(text(&output.stdout), format!("{pid} {}\n", std::process::id()));
}

#[test]
fn the_program_has_no_children_it_did_not_make() {
    let user = User::new();
    let output = user.run(&["sh", "-c", "cat /proc/$$/task/$$/children"]);
    // `cat` itself is the one child there is.
    assert_eq!(text(&output.stdout).split_whitespace().count(), 1, "{}", text(&output.stdout));
}

#[test]
fn no_descriptor_is_left_open() {
    let user = User::new();
    let plain = Command::new("sh").args(["-c", "ls /proc/self/fd"]).stdin(Stdio::null()).output().expect("sh");
    for round in ["the manager is started", "the manager runs"] {
        assert_eq!(text(&user.shell("ls /proc/self/fd").stdout), text(&plain.stdout), "{round}");
    }
}

#[test]
fn the_manager_keeps_nothing_of_the_program_open() {
    let user = User::new();
    // Long enough that a manager that keeps the pipe is not confused with one that has ended.
    std::fs::create_dir_all(user.path(".config/numaestro")).expect("writable");
    std::fs::write(user.path(".config/numaestro/config.toml"), "idle_exit_s = 60\n").expect("writable");
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let command = user.command(["run", "--", "true"]);
    // As a shell's `9>&1`: inherited by the program, and by the manager that is started on the way.
    let script = "exec 9>&1 1>&2; exec \"$@\"";
    let words: Vec<_> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(std::ffi::OsStr::to_owned).collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(words).env("NUMAESTRO_DIR", user.path("run")).env("HOME", user.place.path());
    assert!(shell.stdout(writer).status().expect("sh").success());
    drop(shell);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).expect("readable");
    assert_eq!(json(&user.output(["status", "--json"]))["running"], true, "the end came although the manager lives");
}

#[test]
fn closed_descriptors_stay_closed() {
    let user = User::new();
    let listing = user.path("listing");
    let script = format!(
        "exec 0<&- 1>&- 2>&-; {} run -- sh -c 'ls /proc/$$/fd > {}'",
        env!("CARGO_BIN_EXE_numaestro"),
        listing.display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("NUMAESTRO_DIR", user.path("run")).env("HOME", user.place.path());
    assert!(shell.status().expect("sh").success());
    let open = std::fs::read_to_string(&listing).expect("written");
    // The shell has its standard descriptors closed; what is open is the shell's own business
    // beyond 2.
    assert!(!open.lines().any(|fd| fd == "0" || fd == "2"), "{open}");
}

#[test]
fn signal_mask_and_dispositions_pass_through() {
    let user = User::new();
    let masks = |wrapper: &[&str], managed: bool| {
        // Not through a shell: dash blocks every signal for a moment while it starts a program.
        let what = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"];
        let mut command = if managed {
            user.wrapped(wrapper, ["run", "--"].iter().chain(&what))
        } else {
            let all: Vec<&str> = wrapper.iter().chain(&what).copied().collect();
            let mut command = Command::new(all[0]);
            command.args(&all[1..]);
            command
        };
        text(&command.stdin(Stdio::null()).stderr(Stdio::null()).output().expect("starts").stdout)
    };
    let wrappers: [&[&str]; 4] = [
        &[],
        &["env", "--ignore-signal=PIPE"],
        &["env", "--ignore-signal=HUP", "--ignore-signal=INT", "--default-signal=PIPE"],
        &["env", "--block-signal=USR1", "--block-signal=TERM"],
    ];
    for wrapper in wrappers {
        let plain = masks(wrapper, false);
        assert!(plain.contains("SigBlk"), "{wrapper:?}: {plain}");
        assert_eq!(masks(wrapper, true), plain, "{wrapper:?}, manager started");
        assert_eq!(masks(wrapper, true), plain, "{wrapper:?}, manager running");
    }
}

#[test]
fn a_reader_that_leaves_kills_the_program_as_usual() {
    let user = User::new();
    let me = env!("CARGO_BIN_EXE_numaestro");
    let script = format!("{{ {me} run -- yes; echo $? >&2; }} | head -n 1");
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("NUMAESTRO_DIR", user.path("run"))
        .env("HOME", user.place.path())
        .stdin(Stdio::null())
        .output()
        .expect("sh");
    let plain = Command::new("sh").args(["-c", "{ yes; echo $? >&2; } | head -n 1"]).output().expect("sh");
    assert_eq!((text(&output.stdout), text(&output.stderr)), (text(&plain.stdout), text(&plain.stderr)));
}

#[test]
fn wrappers_work_on_both_sides() {
    let user = User::new();
    assert_eq!(user.run(&["timeout", "0.2", "sleep", "100"]).status.code(), Some(124));
    let outside = user
        .wrapped(&["timeout", "--preserve-status", "-s", "TERM", "0.5"], ["run", "--", "sleep", "100"])
        .status()
        .expect("timeout");
    assert_eq!(outside.code(), Some(143));
    let nohup = user
        .wrapped(&["nohup"], ["run", "--", "sh", "-c", "kill -HUP $$; exit 9"])
        .stdin(Stdio::null())
        .output()
        .expect("nohup");
    assert_eq!(nohup.status.code(), Some(9));
    assert_eq!(user.run(&["nice", "sh", "-c", "exit 8"]).status.code(), Some(8));
    let nested = user.run(&[env!("CARGO_BIN_EXE_numaestro"), "run", "--", "sh", "-c", "echo $LD_PRELOAD; exit 6"]);
    assert_eq!(
        (nested.status.code(), text(&nested.stdout).matches("preload").count()),
        (Some(6), 1),
        "{}",
        text(&nested.stdout)
    );
}

#[test]
fn interrupt_reaches_the_foreground_group() {
    let user = User::new();
    let words = ["run", "--", "sh", "-c", "trap 'exit 42' INT; echo ready; while :; do sleep 0.01; done"];
    let mut child = start(user.command(words).stdout(Stdio::piped()).process_group(0));
    assert_eq!(line(&mut child), "ready");
    kill("INT", &format!("-{}", child.id()));
    assert_eq!(child.wait().expect("ends").code(), Some(42));
}

#[test]
fn stop_and_continue_work() {
    let user = User::new();
    let words = ["run", "--", "sh", "-c", "echo ready; read x; exit 5"];
    let mut child = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0));
    assert_eq!(line(&mut child), "ready");
    kill("TSTP", &format!("-{}", child.id()));
    until("stopped", || state(child.id()) == "T");
    kill("CONT", &child.id().to_string());
    until("continued", || state(child.id()) != "T");
    child.stdin.take().expect("a pipe").write_all(b"x\n").expect("taken");
    assert_eq!(child.wait().expect("ends").code(), Some(5));
}

#[test]
fn the_environment_is_as_promised() {
    let user = User::new();
    let mut command = user.command(["run", "--class", "malleable", "--", "env"]);
    command
        .env("OMP_PLACES", "cores")
        .env("KMP_AFFINITY", "compact")
        .env("KEPT", "x y")
        .env("LD_PRELOAD", "/no such.so");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().expect("starts");
    let all = text(&output.stdout);
    let get = |name: &str| all.lines().find_map(|l| l.strip_prefix(&format!("{name}=")).map(str::to_owned));
    assert_eq!(get("KEPT").as_deref(), Some("x y"));
    assert_eq!(get("NUMAESTRO_CLASS").as_deref(), Some("malleable"));
    assert_eq!(get("GOMP_SPINCOUNT").as_deref(), Some("300089"));
    assert_eq!(get("NUMAESTRO_ATTACH"), user.path("run/attach").to_str().map(str::to_owned));
    assert_eq!(get("OMP_PLACES").as_deref(), Some("cores"));
    assert_eq!(get("KMP_AFFINITY").as_deref(), Some("compact"));
    let preload = get("LD_PRELOAD").expect("set");
    let shim = preload.split(':').next().expect("one");
    assert!(Path::new(shim).is_file(), "{preload}");
    assert!(preload.ends_with("such.so"));
    assert!(get("NUMAESTRO_CPUS_ALL").is_some_and(|list| !list.is_empty()));
}

#[test]
fn without_a_manager_the_program_runs_untouched() {
    let user = User::new();
    for dir in ["/proc/no-such-place", "/dev/null"] {
        let mut command = user.command(["run", "--", "env"]);
        let output =
            command.env("NUMAESTRO_DIR", dir).env("OMP_PLACES", "cores").stdin(Stdio::null()).output().expect("starts");
        assert_eq!(output.status.code(), Some(0));
        let all = text(&output.stdout);
        assert!(
            all.contains("OMP_PLACES=cores") && !all.contains("LD_PRELOAD") && !all.contains("GOMP_SPINCOUNT"),
            "{all}"
        );
        let said = text(&output.stderr);
        assert_eq!(said.lines().count(), 1, "one warning: {said}");
        assert!(said.contains("runs without numaestro") && said.contains("doctor"), "{said}");
    }
}

#[test]
fn a_manager_that_hangs_does_not_hold_up_programs() {
    let user = User::new();
    assert_eq!(user.shell("exit 0").status.code(), Some(0));
    let status = json(&user.output(["status", "--json"]));
    let pid = status["pid"].as_u64().expect("a number").to_string();
    kill("STOP", &pid);
    let output = user.shell("exit 7");
    kill("CONT", &pid);
    assert_eq!(output.status.code(), Some(7));
    assert!(text(&output.stderr).contains("does not answer"), "{}", text(&output.stderr));
}
