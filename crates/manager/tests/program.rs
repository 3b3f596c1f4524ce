//! The program as the system's service starts it: what it says, what is in it, and what it opens.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use numaestro_daemon::Connection;
use numaestro_host::rundir::RuntimeDir;
use numaestro_skip::skip;

const PROGRAM: &str = env!("CARGO_BIN_EXE_numaestro-manager");
/// Crates of the process that is root for everybody.
const CRATES_MOST: usize = 70;

fn output(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(PROGRAM).args(arguments).env_remove("NUMAESTRO_DIR").output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn it_speaks_as_the_command_does() {
    let (code, said, _) = output(&["--help"]);
    assert!(code == Some(0) && said.contains("--system") && said.contains("--check-config"), "{said}");
    assert_eq!(output(&["--nonsense"]).0, Some(64));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("config.toml");
    std::fs::write(&file, "policy = \"equi\"\n").expect("written");
    let file = file.to_str().expect("a plain path");
    assert_eq!(output(&["--system", "--check-config", "--config", file]).1, "ok\n");
    std::fs::write(file, "policy = 3\n").expect("written");
    let (code, _, said) = output(&["--system", "--check-config", "--config", file]);
    assert!(code == Some(78) && said.contains("config.toml:1") && said.contains("next:"), "{said}");
}

#[test]
fn nothing_is_in_it_but_what_the_manager_needs() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = ["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none", "-p", "numaestro-manager"];
    let tree = Command::new(cargo).args(tree).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs");
    let tree = String::from_utf8_lossy(&tree.stdout);
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains("numaestro-daemon") && crates.len() <= CRATES_MOST, "{}: {crates:?}", crates.len());
    for other in ["numaestro-sim", "axum", "hyper", "tokio", "plotters", "ratatui", "crossterm"] {
        assert!(!crates.contains(other), "{other} is in the process that is root");
    }
}

/// Ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The inodes of the sockets that a process has open.
fn sockets(pid: u32) -> BTreeSet<String> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("ours").flatten();
    let links = links.filter_map(|link| std::fs::read_link(link.path()).ok());
    let inode = |link: std::path::PathBuf| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    links.filter_map(inode).collect()
}

/// Of these, those of the Internet.
fn of_the_network(pid: u32, sockets: &BTreeSet<String>) -> Vec<String> {
    let tables = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"].map(|name| format!("/proc/{pid}/net/{name}"));
    let lines: Vec<String> = tables.iter().filter_map(|table| std::fs::read_to_string(table).ok()).collect();
    let rows = lines.iter().flat_map(|text| text.lines());
    rows.filter(|row| row.split_whitespace().any(|word| sockets.contains(word))).map(str::to_owned).collect()
}

/// A manager of all users whose settings ask for metrics in the network, and its directory, which
/// every user may see.
fn for_all_users() -> (Running, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("ours");
    let (place, file) = (dir.path().join("run"), dir.path().join("config.toml"));
    std::fs::write(&file, "[metrics]\nlisten = \"127.0.0.1:0\"\n").expect("written");
    let mut command = Command::new(PROGRAM);
    command.args(["--system", "--config"]).arg(&file).arg("--dir").arg(&place);
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().expect("it starts"));
    let alive = || Some(Connection::open(&RuntimeDir::open(&place).ok()?).is_ok());
    eventually("nobody answers", || alive() == Some(true));
    (running, dir)
}

#[track_caller]
fn eventually(otherwise: &str, mut condition: impl FnMut() -> bool) {
    let (began, limit) = (Instant::now(), Duration::from_mins(1));
    while !condition() {
        assert!(began.elapsed() < limit, "{otherwise}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a scraper gets.
fn page(mut stream: impl Read + Write) -> Option<String> {
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

fn is_ours(page: &str) -> bool {
    page.starts_with("HTTP/1.1 200") && page.contains("numaestro_build_info")
}

#[test]
fn the_manager_of_all_users_has_no_socket_in_the_network() {
    if numaestro_host::own_uid() != 0 {
        skip!("only root can be the manager of all users");
    }
    let (manager, dir) = for_all_users();
    let pid = manager.0.id();
    let found = sockets(pid);
    assert!(found.len() >= 3, "the sockets of the directory and of the metrics: {found:?}");
    assert_eq!(of_the_network(pid, &found), Vec::<String>::new());
    let page = page(UnixStream::connect(dir.path().join("run/metrics")).expect("it listens")).expect("a page");
    assert!(is_ours(&page), "{page}");
    // The look finds one that is there.
    let own = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let me = std::process::id();
    assert_eq!(of_the_network(me, &sockets(me)).len(), 1, "{own:?}");
}

/// As `numaestro-metrics.socket` and its service do it.
#[test]
fn a_process_without_rights_passes_the_page_on() {
    const TOOLS: [&str; 2] = ["/usr/bin/systemd-socket-activate", "/lib/systemd/systemd-socket-proxyd"];
    if numaestro_host::own_uid() != 0 {
        skip!("only root can be the manager of all users");
    }
    if let Some(tool) = TOOLS.iter().find(|tool| !Path::new(tool).exists()) {
        skip!("{tool} is not here");
    }
    let (_manager, dir) = for_all_users();
    // Somebody else may take it in between: then another one is tried.
    for _ in 0..5 {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port");
        let mut proxy = Command::new("setpriv");
        proxy.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", TOOLS[0]]);
        proxy.args(["-l", &free.to_string(), TOOLS[1]]).arg(dir.path().join("run/metrics"));
        proxy.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut proxy = Running(proxy.spawn().expect("setpriv starts"));
        let mut connected = None;
        eventually("nobody listens", || {
            connected = TcpStream::connect(free).ok();
            connected.is_some() || proxy.0.try_wait().expect("ours").is_some()
        });
        let page = connected.and_then(page);
        if page.as_deref().is_some_and(is_ours) {
            return;
        }
    }
    panic!("no page comes");
}
