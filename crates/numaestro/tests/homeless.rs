//! Surroundings that are gone, or somebody else's: the runtime directory after a logout or a
//! cleaner of `/tmp`, a home that cannot be read, an environment as of cron. The manager goes on or
//! ends in order, the next one takes its place, and whatever is wrong is named once.

mod support;
mod user;

use numaestro_host::{affinity, reach};
use numaestro_skip::skip;
use numaestro_topology::CpuSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use user::{User, json, kill, line, start, state, text, turn, until};

/// A program of a shell without a page, which lives until its input ends.
const WAITS: &str = "echo ready; read x";

fn status(user: &User) -> serde_json::Value {
    json(&user.output(["status", "--json"]))
}

fn apps(user: &User) -> usize {
    status(user)["apps"].as_array().map_or(0, Vec::len)
}

/// Names in a directory, in order.
fn names(dir: &Path) -> Vec<String> {
    let all = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// It has ended, though perhaps nobody has waited for it yet.
fn gone(pid: &str) -> bool {
    matches!(state(pid.parse().expect("a number")).as_str(), "" | "Z" | "X")
}

/// The processors that this test gives to what it starts.
fn own() -> CpuSet {
    affinity::get(0).expect("an affinity")
}

#[test]
fn a_directory_that_is_cleaned_is_made_anew() {
    let user = User::new();
    let words = ["run", "--max", "1", "--", "sh", "-c", WAITS];
    let mut program = start(user.command(words).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut program), "ready");
    let before = status(&user)["pid"].clone();
    for part in ["", "control", "attach", "lock"] {
        let target = user.path("run").join(part);
        let removed = if part.is_empty() { std::fs::remove_dir_all(&target) } else { std::fs::remove_file(&target) };
        removed.expect("ours");
        until("the manager is there again", || {
            ["control", "attach", "lock"].iter().all(|name| user.path("run").join(name).exists())
                && status(&user)["pid"] == before
        });
        assert_eq!(apps(&user), 1, "it manages what it has managed, after the removal of `{part}`");
    }
    // A killed manager is followed up as ever: the state is in the new directory too.
    kill("KILL", &before.to_string());
    until("the next manager has the program", || user.run(&["true"]).status.success() && apps(&user) == 1);
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
    assert_eq!(affinity::get(program.id()).expect("it lives"), own());
}

#[test]
fn two_managers_never_share_a_directory() {
    let user = User::new();
    let mut program =
        start(user.command(["run", "--", "sh", "-c", WAITS]).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut program), "ready");
    let first = status(&user)["pid"].to_string();
    // The first one does not get to look before the second one is there.
    kill("STOP", &first);
    std::fs::remove_dir_all(user.path("run")).expect("ours");
    let mut second = start(user.command(["run", "--", "sh", "-c", WAITS]).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut second), "ready");
    let next = status(&user)["pid"].to_string();
    assert_ne!(first, next);
    kill("CONT", &first);
    until("the first one ends", || gone(&first));
    assert_eq!(affinity::get(program.id()).expect("it lives"), own(), "and gives everything back");
    let after = status(&user);
    assert_eq!((after["pid"].to_string(), apps(&user)), (next, 1), "the second one is untouched");
    assert!(user.path("run/lock").exists() && user.path("run/state.json").exists());
}

/// A user whose manager is in the session's directory, as a login makes it.
struct Session {
    user: User,
    session: PathBuf,
}

impl Session {
    fn new() -> Option<Self> {
        if Path::new(&format!("/run/user/{}", rustix::process::geteuid().as_raw())).exists() {
            return None;
        }
        let user = User::new();
        let session = user.path("xdg");
        for dir in [&session, &user.path("tmp")] {
            std::fs::create_dir(dir).expect("a directory");
        }
        Some(Self { user, session })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.user.command(words);
        command.env_remove("NUMAESTRO_DIR").env("XDG_RUNTIME_DIR", &self.session).env("TMPDIR", self.user.path("tmp"));
        command
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().expect("the command starts")
    }

    fn status(&self) -> serde_json::Value {
        json(&self.output(&["status", "--json"]))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.output(&["stop"]);
    }
}

#[test]
fn a_logout_ends_one_manager_and_the_next_has_the_programs() {
    let Some(session) = Session::new() else { skip!("this user has a session directory that would be used") };
    let program = support::programs::any("inside");
    let mut openmp = start(session.command(&["run", "--", &program, "3600"]).stdout(Stdio::null()));
    let attached = || session.status()["apps"][0]["runtimes"].as_array().is_some_and(|found| !found.is_empty());
    until("the program has a page", attached);
    let (first, dir) = (session.status()["pid"].to_string(), session.status()["dir"].clone());
    assert_eq!(dir, session.session.join("numaestro").to_str().expect("text"));
    std::fs::remove_dir_all(&session.session).expect("ours");
    until("the first manager ends", || gone(&first));
    // Without anybody's doing: the next one is in the next usual place, and the program finds it.
    until("the next manager has the program", || session.status()["apps"][0]["pid"] == openmp.id());
    let next = session.status();
    assert!(next["dir"].as_str().is_some_and(|dir| dir.starts_with(session.user.path("tmp").to_str().expect("text"))));
    assert_eq!(
        next["cpus"],
        reach::look().expect("an affinity").to_string(),
        "the next manager knows the whole machine"
    );
    // A command in that session manages its program there too.
    let said = session.output(&["run", "--", "sh", "-c", "echo $NUMAESTRO_ATTACH"]);
    assert!(text(&said.stdout).starts_with(next["dir"].as_str().expect("text")), "{said:?}");
    assert_eq!(openmp.try_wait().expect("ours"), None, "the program goes on");
}

#[test]
fn a_logout_without_programs_leaves_no_manager() {
    let Some(session) = Session::new() else { skip!("this user has a session directory that would be used") };
    let config = session.user.path(".config/numaestro");
    std::fs::create_dir_all(&config).expect("a directory");
    std::fs::write(config.join("config.toml"), "idle_exit_s = 0\n").expect("written");
    assert!(session.output(&["run", "--", "true"]).status.success());
    let first = session.status()["pid"].to_string();
    std::fs::remove_dir_all(&session.session).expect("ours");
    until("the manager ends", || gone(&first));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(session.status()["running"], false);
}

#[test]
fn a_stopped_manager_leaves_nothing() {
    // A program of another test, whose directory has gone, could name any directory's libraries.
    let _turn = turn();
    let user = User::new();
    assert!(user.run(&["true"]).status.success());
    assert!(!names(&user.path("run")).is_empty());
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
    assert_eq!(names(&user.path("run")), Vec::<String>::new());
    // Without a manager there is nothing to do, and nothing is left of that either.
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
    assert_eq!(names(&user.path("run")), Vec::<String>::new());
    // A program that goes on names the library in its environment.
    let mut program =
        start(user.command(["run", "--", "sh", "-c", WAITS]).stdin(Stdio::piped()).stdout(Stdio::piped()));
    assert_eq!(line(&mut program), "ready");
    let environment = std::fs::read(format!("/proc/{}/environ", program.id())).expect("readable");
    let preload = text(&environment).split('\0').find_map(|v| v.strip_prefix("LD_PRELOAD=").map(str::to_owned));
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
    for library in preload.expect("a library").split(':') {
        assert!(Path::new(library).exists(), "{library} is still named by a program");
    }
    let others: Vec<String> =
        names(&user.path("run")).into_iter().filter(|name| !name.starts_with("libnumaestro_")).collect();
    assert_eq!(others, Vec::<String>::new());
}

/// Somebody who cannot read the home that the environment names.
struct Guest {
    user: User,
    home: PathBuf,
}

impl Guest {
    fn new() -> Self {
        let user = User::new();
        let home = user.path("home");
        std::fs::create_dir(&home).expect("a directory");
        std::fs::set_permissions(&home, PermissionsExt::from_mode(if support::is_root() { 0o700 } else { 0 }))
            .expect("ours");
        std::fs::create_dir(user.path("open")).expect("a directory");
        for open in [user.place.path(), &user.path("open")] {
            std::fs::set_permissions(open, PermissionsExt::from_mode(0o777)).expect("ours");
        }
        // Another user could not open the one that was built in root's home.
        numaestro_skip::programs::copy(env!("CARGO_BIN_EXE_numaestro"), user.path("numaestro"), 0o755);
        Self { user, home }
    }

    fn output(&self, words: &[&str]) -> Output {
        let me = self.user.path("numaestro");
        let mut command = if support::is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(me);
            command
        } else {
            Command::new(me)
        };
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &self.home);
        command.env("NUMAESTRO_DIR", self.user.path("open/run")).args(words).stdin(Stdio::null());
        command.current_dir("/").output().expect("the command starts")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.output(&["stop"]);
        let _ = std::fs::set_permissions(&self.home, PermissionsExt::from_mode(0o700));
    }
}

#[test]
fn a_home_that_cannot_be_read_is_no_obstacle() {
    if support::is_root() && !support::has("setpriv") {
        skip!("setpriv is not here");
    }
    let guest = Guest::new();
    let output = guest.output(&["run", "--", "sh", "-c", "echo managed by $NUMAESTRO_ATTACH"]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout), format!("managed by {}\n", guest.user.path("open/run/attach").display()));
    let checks = json(&guest.output(&["doctor", "--json"]))["checks"].as_array().expect("a list").clone();
    let settings = checks.iter().find(|check| check["name"] == "settings").expect("a check");
    assert_eq!(settings["outcome"], "partly");
    let home = guest.home.to_str().expect("text");
    assert!(settings["found"].to_string().contains(home) && settings["next"].to_string().contains("su"), "{settings}");
}

#[test]
fn an_environment_as_of_cron_is_enough() {
    let user = User::new();
    let me = env!("CARGO_BIN_EXE_numaestro");
    let bare = |words: &[&str]| {
        let mut command = Command::new(me);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("NUMAESTRO_DIR", user.path("run"));
        command.current_dir("/").args(words).stdin(Stdio::null()).output().expect("starts")
    };
    let output = bare(&["run", "--", "sh", "-c", "echo $NUMAESTRO_ATTACH"]);
    assert_eq!(text(&output.stdout), format!("{}\n", user.path("run/attach").display()));
    assert_eq!(text(&output.stderr), "");
    let said = text(&bare(&["doctor"]).stdout);
    assert!(said.contains("neither HOME nor XDG_CONFIG_HOME"), "{said}");
}

#[test]
fn a_session_of_somebody_else_is_not_ours() {
    if !support::is_root() {
        skip!("only root can give a directory away");
    }
    let Some(session) = Session::new() else { skip!("this user has a session directory that would be used") };
    std::os::unix::fs::chown(&session.session, Some(65534), None).expect("root");
    let dir = session.status()["dir"].as_str().expect("text").to_owned();
    assert!(dir.starts_with(session.user.path("tmp").to_str().expect("text")), "{dir}");
    let said = text(&session.output(&["doctor"]).stdout);
    assert!(said.contains("which belongs to user 65534"), "{said}");
    assert_eq!(names(&session.session), Vec::<String>::new(), "nothing of root's in a user's directory");
}

#[test]
fn why_there_is_no_manager_is_said_once() {
    let user = User::new();
    let config = user.path(".config/numaestro");
    std::fs::create_dir_all(&config).expect("a directory");
    std::fs::write(config.join("config.toml"), "grace_ms = 0\n").expect("written");
    let output = user.run(&["echo", "runs"]);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), "runs\n");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("no manager could be started") && said.contains("config.toml:1: grace_ms"), "{said}");
    let output = user.command(["run", "--", "true"]).env("NUMAESTRO_DIR", "/proc/nowhere").output().expect("starts");
    let said = text(&output.stderr);
    assert_eq!(said.matches("os error").count(), 1, "{said}");
}
