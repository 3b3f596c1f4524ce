//! Podman with a store of its own, which ends with its test and leaves nothing behind. There is no
//! registry: the root directory of every container has a few programs of this host and what they
//! need.

use crate::user::{User, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Copies programs and all libraries that the loader would load into a root directory, and those
/// that belong to every C library.
const FILL: &str = r#"
set -e
root=$1
shift
mkdir -p "$root"/bin "$root"/dev "$root"/etc "$root"/proc "$root"/run "$root"/sys "$root"/tmp
for program in /bin/sh "$@"; do
    cp -L "$program" "$root/bin/"
    for library in $(ldd "$program" | grep -o '/[^ ]*'); do
        cp -L --parents "$library" "$root"
        beside=${library%/*}
        for other in "$beside"/libpthread.so.0 "$beside"/libdl.so.2; do
            [ ! -e "$other" ] || cp -L --parents "$other" "$root"
        done
    done
done
"#;

/// The words of every call: nothing of the machine's own store, network or services.
const WORDS: [&str; 5] = ["--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend=none"];
/// The words of every container. A root without `CAP_SYS_RESOURCE` cannot raise limits.
const OF_CONTAINERS: [&str; 8] =
    ["run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];
/// Programs below Podman that make the containers. The first does not know hybrid control groups.
const RUNTIMES: [&str; 2] = ["crun", "runc"];
/// Locks in files of its own: the usual ones are the whole machine's.
const SETTINGS: &str = "[engine]\nlock_type = \"file\"\n";
/// The control group of all containers of Podman, in every hierarchy.
const ENGINE: &str = "libpod_parent";

pub struct Podman {
    /// A user with a directory for the test.
    pub user: User,
    runtime: &'static str,
    /// The control group of this test's containers.
    group: String,
}

/// A root directory with these programs in `/bin`.
pub fn fill(root: &Path, programs: &[&Path]) {
    let output = Command::new("sh").args(["-c", FILL, "fill"]).arg(root).args(programs).output().expect("sh");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

impl Podman {
    /// Says why it cannot be had here.
    pub fn new(programs: &[&Path]) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root has containers in every sandbox".to_owned());
        }
        if !Command::new("podman").arg("--version").output().is_ok_and(|output| output.status.success()) {
            return Err("podman is not here".to_owned());
        }
        let group = format!("/{ENGINE}/numaestro-test-{}", std::process::id());
        let mut podman = Self { user: User::new(), runtime: "", group };
        std::fs::write(podman.user.path("containers.conf"), SETTINGS).expect("written");
        fill(&podman.root(), programs);
        let mut refusals = Vec::new();
        for runtime in RUNTIMES {
            podman.runtime = runtime;
            let tried = podman.run(&[], &["sh", "-c", "exit 0"]).output().expect("podman");
            if tried.status.success() {
                return Ok(podman);
            }
            refusals.extend(text(&tried.stderr).lines().last().map(str::to_owned));
        }
        Err(format!("podman runs no container here: {}", refusals.join("; ")))
    }

    /// The root directory of its containers.
    pub fn root(&self) -> PathBuf {
        self.user.path("root")
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command.args(WORDS).args(["--runtime", self.runtime]);
        for (option, directory) in [("--root", "store"), ("--runroot", "state"), ("--tmpdir", "scratch")] {
            command.arg(option).arg(self.user.path(directory));
        }
        command.arg(format!("--runtime-flag=root={}", self.user.path("runtime").display()));
        command.env("CONTAINERS_CONF", self.user.path("containers.conf"));
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A command in a container of its own.
    pub fn run(&self, options: &[&str], words: &[&str]) -> Command {
        let mut command = self.command(&OF_CONTAINERS);
        command
            .arg(format!("--cgroup-parent={}", self.group))
            .args(options)
            .arg("--rootfs")
            .arg(self.root())
            .args(words);
        command
    }

    /// What must work.
    #[track_caller]
    pub fn expect(&self, words: &[&str]) -> String {
        let output = self.command(words).output().expect("podman");
        ok(&output)
    }

    /// The full ids of containers.
    pub fn ids(&self) -> Vec<String> {
        self.expect(&["ps", "--all", "--quiet", "--no-trunc"]).split_whitespace().map(str::to_owned).collect()
    }

    /// Command lines of processes that name this engine's directory, and are not this test.
    fn processes(&self) -> Vec<String> {
        let place = self.user.place.path().display().to_string();
        let mut found = Vec::new();
        for process in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let read = |name: &str| text(&std::fs::read(process.path().join(name)).unwrap_or_default());
            let own = process.file_name() == *std::process::id().to_string();
            if !own && (read("environ") + &read("cmdline")).contains(&place) {
                found.push(read("cmdline").replace('\0', " "));
            }
        }
        found
    }
}

/// Where control groups are mounted, in either version.
fn hierarchies() -> Vec<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let point = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        words.get(2).is_some_and(|sort| ["cgroup", "cgroup2"].contains(sort)).then(|| PathBuf::from(words[1]))
    };
    mounts.lines().filter_map(point).collect()
}

/// Removes a control group and those below it.
fn remove_empty(group: &Path) {
    for entry in std::fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|sort| sort.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _ = std::fs::remove_dir(group);
}

/// What a command said that must have worked.
#[track_caller]
pub fn ok(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

impl Drop for Podman {
    fn drop(&mut self) {
        let left = self.command(&["ps", "--all", "--quiet"]).output().map(|output| text(&output.stdout));
        // A container that is being made is there a moment later.
        for _ in 0..3 {
            let _ = self.command(&["rm", "--all", "--force", "--time", "0"]).output();
        }
        let _ = self.user.output(["stop"]);
        // The engine keeps its store mounted.
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        let place = self.user.place.path().display().to_string();
        let own = mounts.lines().filter_map(|line| line.split(' ').nth(1)).filter(|point| point.starts_with(&place));
        for point in own {
            let _ = Command::new("umount").args(["--lazy", point]).output();
        }
        // The engine cleans up by a process of its own.
        let gone = (0..3000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            self.processes().is_empty()
        });
        // On some layouts the engine leaves the groups of its containers. Only empty ones can be
        // removed.
        let trees = hierarchies();
        let groups: Vec<PathBuf> = trees.iter().map(|tree| tree.join(&self.group[1..])).collect();
        for group in &groups {
            remove_empty(group);
            let _ = std::fs::remove_dir(group.with_file_name("conmon"));
            let _ = std::fs::remove_dir(group.parent().expect("the engine's"));
        }
        if std::thread::panicking() {
            return;
        }
        assert_eq!(left.unwrap_or_default().trim(), "", "containers are left behind");
        let groups: Vec<_> = groups.iter().filter(|group| group.exists()).collect();
        assert!(groups.is_empty(), "left behind: {groups:#?}");
        assert!(gone, "left behind: {:#?}", self.processes());
    }
}
