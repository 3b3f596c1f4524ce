//! Three users of one manager: a dashboard shows and changes what its own user may see and change.

use crate::server::{Dashboard, Messages, names, steps};
use crate::user::{Mortal, line, start};
use numaestro_skip::skip;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const ALICE: u32 = 730_011;
const BOB: u32 = 730_012;
const ACCOUNTS: &str = "root:x:0:0::/:/bin/sh\nalice:x:730011:730011::/:/bin/sh\nbob:x:730012:730012::/:/bin/sh\n";

/// The manager of all users, in a directory that everybody may enter.
struct Place {
    root: tempfile::TempDir,
    _manager: Mortal,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let command = root.path().join("numaestro");
        numaestro_skip::programs::copy(env!("CARGO_BIN_EXE_numaestro"), &command, 0o755);
        let accounts = root.path().join("accounts");
        std::fs::write(&accounts, ACCOUNTS).unwrap();
        let config = root.path().join("config.toml");
        std::fs::write(&config, format!("unmanaged = false\n[service]\naccounts = \"{}\"\n", accounts.display()))
            .unwrap();
        let mut daemon = Command::new(&command);
        daemon.args(["daemon", "--system", "--dir"]).arg(root.path().join("n")).arg("--config").arg(config);
        let manager = start(daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        let control = root.path().join("n/control");
        crate::user::until("a manager", || std::os::unix::net::UnixStream::connect(&control).is_ok());
        Self { root, _manager: manager }
    }

    fn command(&self, user: u32, words: &[&str]) -> Command {
        let mut command = Command::new(self.root.path().join("numaestro"));
        command.arg("--dir").arg(self.root.path().join("n")).args(words).current_dir("/").env_remove("NUMAESTRO_DIR");
        command.uid(user).gid(user);
        command
    }

    fn program(&self, user: u32, name: &str) -> Mortal {
        let words = ["run", "--name", name, "--", "sh", "-c", "echo ready; while :; do :; done"];
        let mut child = start(self.command(user, &words).stdin(Stdio::piped()).stdout(Stdio::piped()));
        assert_eq!(line(&mut child), "ready");
        child
    }
}

/// All messages until one about this program, and until a status.
fn heard(messages: &mut Messages, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    while !all.iter().any(|message| names(message).contains(&name.to_owned()))
        || !all.iter().any(|message: &Value| message["kind"] == "status")
    {
        assert!(all.len() < 1000, "never: {name}");
        all.push(messages.next());
    }
    all
}

#[test]
fn of_other_users_only_the_processors_that_they_take() {
    if !rustix::process::geteuid().is_root() {
        skip!("only root can be several users");
    }
    let place = Place::new();
    let (_hers, _his) = (place.program(ALICE, "program-of-alice"), place.program(BOB, "program-of-bob"));
    let dashboards = [0, ALICE, BOB].map(|user| Dashboard::start(&mut place.command(user, &["dashboard"])));
    let [admin, alice, bob] = &dashboards;

    let all = heard(&mut admin.stream(), "program-of-bob");
    let text = serde_json::to_string(&all).unwrap();
    assert!(text.contains("program-of-alice") && text.contains("\"user\":\"alice\""), "{text}");
    assert_eq!(all[0]["may"]["policy"], true);

    for (dashboard, own, foreign, other) in
        [(alice, "program-of-alice", "program-of-bob", "bob"), (bob, "program-of-bob", "program-of-alice", "alice")]
    {
        let all = heard(&mut dashboard.stream(), own);
        let text = serde_json::to_string(&all).unwrap();
        assert!(text.contains(own) && !text.contains(foreign) && !text.contains(other), "{text}");
        assert_eq!(all[0]["may"]["policy"], false, "{}", all[0]);
        assert!(text.contains("\"owned\",null"), "that they are taken is seen: {text}");
        assert_eq!(dashboard.post("/policy", r#"{"policy":"dss"}"#).status, 403);
    }
    // What happens to one's own program does not make the others' processors free.
    let mut messages = bob.stream();
    heard(&mut messages, "program-of-bob");
    assert_eq!(bob.post("/set", r#"{"app":2,"weight":1.5}"#).status, 200);
    let mut taken = BTreeMap::new();
    let weight = |step: &Value| step["apps"].as_array().into_iter().flatten().any(|app| app["weight"] == 1.5);
    let mut messages = bob.stream();
    while !taken.contains_key("weight") {
        let message = messages.next();
        for step in steps(&message) {
            for pu in step["pus"].as_array().into_iter().flatten() {
                taken.insert(pu[0].to_string(), pu.clone());
            }
            if weight(step) {
                taken.insert("weight".to_owned(), Value::Null);
            }
        }
    }
    messages.until("a status", |message| message["kind"] == "status");
    let hers = taken.values().filter(|pu| pu[1] == "owned" && pu[2].is_null()).count();
    assert!(hers > 0 && taken.values().all(|pu| pu.is_null() || pu[1] != "free"), "{taken:?}");

    // Each may change their own.
    assert_eq!(alice.post("/set", r#"{"app":1,"max":1}"#).status, 200);
    assert_ne!(alice.post("/set", r#"{"app":2,"max":1}"#).status, 200);
    assert_eq!(admin.post("/set", r#"{"app":2,"max":1}"#).status, 200);
    // The token of one is none for the dashboard of another.
    let headers = format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", alice.port, bob.token);
    assert_eq!(alice.get("/stream", &headers).status, 401);
}
