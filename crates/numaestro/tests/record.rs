//! `numaestro record`: a manager's recording is switched, listed, dumped, repeated and drawn; it
//! outlives the manager, however that ends, and the manager outlives the recording.

mod user;

use numaestro_skip::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use user::{User, json, kill, start, text, until};

fn list(user: &User) -> serde_json::Value {
    json(&user.output(["record", "list", "--json"]))
}

fn segments(user: &User) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(user.path("run/recordings")).expect("there").map(|entry| entry.expect("it").path()).collect();
    files.sort();
    files
}

/// Waits until the newest recording has at least so many events.
fn until_events(user: &User, least: u64) {
    until("the events are on disk", || list(user)["recordings"][0]["events"].as_u64().is_some_and(|all| all >= least));
}

fn dump(user: &User, words: &[&str]) -> String {
    let output = user.output(["record", "dump"].iter().chain(words));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn pid_of_manager(user: &User) -> String {
    json(&user.output(["status", "--json"]))["pid"].to_string()
}

#[test]
fn asking_starts_no_manager() {
    let user = User::new();
    let output = user.output(["record", "list"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("not recording") && shown.contains("no recordings"), "{shown}");
    assert!(!user.path("run").exists(), "looking must not make anything");
    let output = user.output(["record", "dump"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there are no recordings in"), "{}", text(&output.stderr));
}

#[test]
fn a_recording_from_the_start_is_repeated_byte_for_byte_and_drawn() {
    let user = User::new();
    let on = user.output(["record", "on"]);
    assert!(text(&on.stdout).contains("recording into "), "{}{}", text(&on.stdout), text(&on.stderr));
    // The next manager does too, and records from its first event on.
    user.output(["stop"]);
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    assert_eq!(user.output(["run", "--name", "named", "--", "sh", "-c", "true"]).status.code(), Some(0));
    user.output(["stop"]);

    let listed = list(&user);
    let newest = &listed["recordings"][0];
    assert_eq!(
        (&newest["whole"], &newest["torn"], &newest["programs"]),
        (&true.into(), &"".into(), &2.into()),
        "{listed}"
    );
    let text_of = dump(&user, &[]);
    assert!(text_of.contains("\"name\":\"named\""), "{text_of}");
    let file = user.path("dumped.journal").display().to_string();
    dump(&user, &["--output", &file]);
    assert_eq!(std::fs::read_to_string(&file).expect("written"), text_of);
    let replayed = user.output(["sim", "replay", &file]);
    assert!(text(&replayed.stdout).contains("byte-equal"), "{}{}", text(&replayed.stdout), text(&replayed.stderr));
    let drawn = user.output(["trace", "show", &file]);
    assert!(text(&drawn.stdout).contains("named"), "{}{}", text(&drawn.stdout), text(&drawn.stderr));
    let nameless = dump(&user, &["--anonymous"]);
    assert!(!nameless.contains("named") && nameless.lines().count() == text_of.lines().count());
}

#[test]
fn a_recording_that_begins_in_mid_life_says_the_state_and_is_drawn() {
    let user = User::new();
    let program = start(user.command(["run", "--name", "early", "--", "sleep", "1000"]).stdout(Stdio::null()));
    until("it runs", || text(&user.output(["status"]).stdout).contains("early"));
    user.output(["record", "on"]);
    let later = user.output(["run", "--name", "later", "--", "true"]);
    assert_eq!(later.status.code(), Some(0));
    until_events(&user, 2);
    drop(program);
    user.output(["record", "off"]);
    let listed = list(&user);
    assert_eq!((&listed["recording"], &listed["recordings"][0]["whole"]), (&false.into(), &false.into()), "{listed}");
    let file = user.path("dumped.journal").display().to_string();
    dump(&user, &["-o", &file]);
    let replayed = user.output(["sim", "replay", &file]);
    assert_eq!(replayed.status.code(), Some(2));
    assert!(text(&replayed.stderr).contains("begins in the middle of a manager's life"), "{}", text(&replayed.stderr));
    let drawn = user.output(["trace", "show", &file]);
    assert!(text(&drawn.stdout).contains("early"), "{}{}", text(&drawn.stdout), text(&drawn.stderr));
    let nameless = dump(&user, &["--anonymous"]);
    assert!(!nameless.contains("early") && !nameless.contains("later"), "{nameless}");
}

#[test]
fn a_part_of_a_recording_is_one_of_its_own() {
    let user = User::new();
    user.output(["record", "on"]);
    let early = start(user.command(["run", "--name", "early", "--", "sleep", "1000"]).stdout(Stdio::null()));
    until("it runs", || text(&user.output(["status"]).stdout).contains("early"));
    assert_eq!(user.output(["run", "--name", "later", "--", "true"]).status.code(), Some(0));
    until_events(&user, 3);
    let whole = dump(&user, &[]);
    let arrived = |name: &str| {
        let line = whole.lines().find(|line| line.contains(&format!("\"name\":\"{name}\""))).expect("it arrived");
        line.trim_start_matches("{\"at\":").split(',').next().expect("a time").parse::<u64>().expect("a number")
    };
    let between = format!("+{}ns", arrived("later") - arrived("early"));
    let part = dump(&user, &["--since", &between]);
    assert!(part.contains("\"names\":{") && part.contains("early"), "it begins with the state: {part}");
    assert!(!part.contains("\"name\":\"early\"") && part.contains("\"name\":\"later\""), "{part}");
    let before = dump(&user, &["--until", "+1ns"]);
    assert!(before.contains("early") && !before.contains("later"), "{before}");
    assert_eq!(dump(&user, &["--since", "1d ago"]).matches("\"event\"").count(), whole.matches("\"event\"").count());
    let wrong = user.output(["record", "dump", "--since", "yesterday"]);
    assert_eq!(wrong.status.code(), Some(64));
    assert!(text(&wrong.stderr).contains("`yesterday` is no time"), "{}", text(&wrong.stderr));
    let wrong = user.output(["record", "dump", "--since", "+2s", "--until", "+1s"]);
    assert_eq!(wrong.status.code(), Some(64));
    assert!(text(&wrong.stderr).contains("ends before it begins"), "{}", text(&wrong.stderr));
    // A part that lies outside.
    let outside = user.output(["record", "dump", "--until", "1d ago"]);
    assert_eq!(outside.status.code(), Some(1));
    assert!(text(&outside.stderr).contains("behind this part"), "{}", text(&outside.stderr));
    let live = user.output(["dashboard", "--since", "1h ago"]);
    assert_eq!(live.status.code(), Some(64), "{}", text(&live.stderr));
    // What is no journal is said with code 2, and a pipe is read once.
    let notes = user.path("notes").display().to_string();
    std::fs::write(&notes, "no journal\n").expect("written");
    for words in [&["what-if", &notes, "--since", "+1s"][..], &["dashboard", &notes, "--since", "+1s"]] {
        let wrong = user.output(words);
        assert!(text(&wrong.stderr).contains("notes:1: "), "{}", text(&wrong.stderr));
        assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
    }
    // A page of it, and a picture.
    let (file, page) = (user.path("part.journal").display().to_string(), user.path("part.html").display().to_string());
    dump(&user, &["--since", &between, "-o", &file]);
    let pipe = format!("cat '{file}' | \"$0\" \"$@\"");
    let mut piped = user.wrapped(&["sh", "-c", &pipe], ["explain", "--from", "/dev/stdin", "--at", "+1ns"]);
    let output = piped.output().expect("a shell");
    assert!(text(&output.stdout).contains("early"), "{}{}", text(&output.stdout), text(&output.stderr));
    let drawn = user.output(["trace", "show", &file]);
    assert!(text(&drawn.stdout).contains("early"), "{}{}", text(&drawn.stdout), text(&drawn.stderr));
    let made = user.output(["dashboard", "1", "--since", &between, "--output", &page]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    drop(early);
}

#[test]
fn a_manager_that_is_killed_leaves_a_recording_that_can_be_read() {
    let user = User::new();
    user.output(["record", "on"]);
    for _ in 0..3 {
        assert_eq!(user.run(&["true"]).status.code(), Some(0));
    }
    until_events(&user, 6);
    kill("KILL", &pid_of_manager(&user));
    let listed = list(&user);
    let before = &listed["recordings"][0];
    assert!(before["events"].as_u64().is_some_and(|all| all >= 6), "{listed}");
    // The next manager begins a run of its own.
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    until("it records", || list(&user)["recordings"].as_array().is_some_and(|all| all.len() >= 2));
    assert_eq!(list(&user)["recordings"][1]["run"], before["run"]);
    assert_eq!(list(&user)["recordings"][1]["events"], before["events"]);
    // A frame that was cut off is said.
    user.output(["stop"]);
    let newest = segments(&user).pop().expect("a segment");
    let bytes = std::fs::read(&newest).expect("readable");
    std::fs::write(&newest, [&bytes[..], &bytes[..20]].concat()).expect("writable");
    let shown = text(&user.output(["record", "list"]).stdout);
    assert!(shown.contains("lines are missing"), "{shown}");
    let dumped = user.output(["record", "dump"]);
    assert!(text(&dumped.stderr).contains("lines are missing") && !dumped.stdout.is_empty());
}

#[test]
fn a_place_that_cannot_be_written_is_said_and_the_manager_goes_on() {
    let user = User::new();
    let settings = user.path(".config/numaestro");
    std::fs::create_dir_all(&settings).expect("writable");
    let blocked = user.path("a-file");
    std::fs::write(&blocked, "").expect("writable");
    let config = format!("[recording]\ndirectory = \"{}/below\"\n", blocked.display());
    std::fs::write(settings.join("config.toml"), config).expect("writable");
    let on = user.output(["record", "on"]);
    assert_eq!(on.status.code(), Some(75), "{}", text(&on.stderr));
    assert!(text(&on.stderr).contains("cannot write in"), "{}", text(&on.stderr));
    let shown = text(&user.output(["record", "list"]).stdout);
    assert!(shown.contains("not recording: cannot write in"), "{shown}");
    assert_eq!(user.run(&["true"]).status.code(), Some(0), "the manager goes on");
}

#[test]
fn recordings_are_their_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new();
    user.output(["record", "on"]);
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    user.output(["stop"]);
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&user.path("run/recordings")), 0o700);
    assert!(segments(&user).iter().all(|file| mode(file) == 0o600));
}

#[test]
fn a_recording_that_is_not_there_is_refused() {
    let user = User::new();
    user.output(["record", "on"]);
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    user.output(["stop"]);
    let output = user.output(["record", "dump", "7"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is no recording 7, only"), "{}", text(&output.stderr));
    let from = user.output(["record", "list", "--from", "/nowhere/at/all"]);
    assert!(!from.status.success() && text(&from.stderr).contains("there is no directory"));
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let user = User::new();
    let disk = user.path("disk");
    std::fs::create_dir_all(&disk).expect("writable");
    let settings = user.path(".config/numaestro");
    std::fs::create_dir_all(&settings).expect("writable");
    let config = format!("[recording]\non = true\ndirectory = \"{}\"\n", disk.display());
    std::fs::write(settings.join("config.toml"), config).expect("writable");
    let mount =
        format!("mount -t tmpfs -o size=16k none {0} && head -c 99999 /dev/zero > {0}/filler; ", disk.display());
    let may =
        Command::new("unshare").args(["-rm", "sh", "-c", &format!("mount -t tmpfs none {}", disk.display())]).status();
    if !may.is_ok_and(|status| status.success()) {
        skip!("no mount namespaces of one's own");
    }
    let script = mount + "exec \"$0\" \"$@\"";
    let mut daemon = user.wrapped(&["unshare", "-rm", "sh", "-c", &script], ["daemon", "--idle-exit", "0"]);
    let _manager = start(daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("a manager", || json(&user.output(["status", "--json"]))["running"] == true);
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
    until("the trouble is known", || {
        assert_eq!(user.run(&["true"]).status.code(), Some(0), "the manager goes on");
        list(&user)["trouble"].as_str().is_some_and(|trouble| trouble.contains("No space left"))
    });
    assert_eq!(user.run(&["true"]).status.code(), Some(0));
}

/// A recording of each version is kept; each program reads all of them.
#[test]
fn recordings_of_every_version_are_read_and_drawn() {
    let user = User::new();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let mut versions = Vec::new();
    for version in std::fs::read_dir(kept).expect("there") {
        let place = version.expect("readable").path();
        let from = place.to_str().expect("a name");
        let listed = json(&user.output(["record", "list", "--json", "--from", from]));
        let run = &listed["recordings"][0];
        assert_eq!(place.file_name().and_then(|name| name.to_str()), run["numaestro"].as_str());
        assert_eq!(
            (&run["torn"], &run["whole"], &run["policy"]),
            (&"".into(), &true.into(), &"dss".into()),
            "{listed}"
        );
        assert_eq!((&run["events"], &run["programs"]), (&21.into(), &3.into()), "{listed}");
        let file = user.path("kept.journal").display().to_string();
        dump(&user, &["--from", from, "-o", &file]);
        let drawn = text(&user.output(["trace", "show", &file]).stdout);
        assert!(["first", "second", "third"].iter().all(|name| drawn.contains(name)), "{drawn}");
        versions.push(run["numaestro"].as_str().map(str::to_owned));
    }
    assert!(versions.contains(&Some("0.1.0".to_owned())), "{versions:?}");
}
