//! systemd as process 1 of namespaces of its own: its own processes, mounts and a corner of the
//! cgroup tree. It knows our units and nothing else of this machine's services, and everything is
//! gone with it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use numaestro_skip::machine::{self, Held};

const SYSTEMD: &str = "/usr/lib/systemd/systemd";
/// Reached only by a failure: a loaded machine takes seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is mounted, and which units there are. `$1` is the directory with the command, `$2` the one
/// with the units.
const BOOT: &str = r#"
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount --bind "$1" /mnt
mount -t tmpfs tmpfs /run
mkdir -p /run/bin /run/systemd/system /run/units
cp "$2"/* /run/units
mount --move /mnt /run/bin
mount -t tmpfs tmpfs /var/lib
umount -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind -o ro /proc/sys /proc/sys
for target in sysinit basic shutdown sockets multi-user; do
    printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' $target >/run/units/$target.target
done
export container=numaestro-test SYSTEMD_UNIT_PATH=/run/units
exec @SYSTEMD@ --system --unit=basic.target --log-target=console --show-status=no
"#;

/// See the file's header.
pub struct Machine {
    outer: Child,
    /// Of systemd, seen from outside.
    pid: u32,
    group: PathBuf,
    /// A controller that was turned on for our group, and where.
    lent: Option<(PathBuf, String)>,
    root: tempfile::TempDir,
    /// Its group has a fixed name, and a controller may be turned on for the whole machine.
    _turn: Held,
}

/// Waits until `look` finds something.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The version of systemd here, if it is here.
pub fn systemd_version() -> Option<u32> {
    let output = Command::new("systemctl").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// A unit file as it would be installed for programs in `bin`. Keys that this systemd does not know
/// would only be complained about.
pub fn write_units(kind: &str, bin: &str, helpers: &str, into: &Path) {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd").join(kind);
    let old = systemd_version().is_some_and(|version| version < 254);
    for unit in std::fs::read_dir(&units).unwrap().flatten() {
        let text = std::fs::read_to_string(unit.path()).unwrap();
        let manager = format!("{bin}/numaestro-manager");
        let text = text.replace("@LIBDIR@/numaestro-manager", &manager);
        let text = text.replace("@BINDIR@", bin).replace("@LIBDIR@", helpers);
        let lines = text.lines().filter(|line| !(old && line.starts_with("DelegateSubgroup=")));
        std::fs::write(into.join(unit.file_name()), lines.collect::<Vec<_>>().join("\n")).unwrap();
    }
}

/// Turns a controller on for the group, if there is none and one that nobody uses can be had.
fn lend_controller(tree: &Path, group: &Path) -> Option<(PathBuf, String)> {
    let words = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    if !words(group.join("cgroup.controllers")).trim().is_empty() {
        return None;
    }
    let available = words(tree.join("cgroup.controllers"));
    let one = available.split_whitespace().next()?.to_owned();
    let controls = tree.join("cgroup.subtree_control");
    std::fs::write(&controls, format!("+{one}")).ok()?;
    Some((controls, one))
}

impl Machine {
    /// Boots, or says why that cannot be done here.
    pub fn boot() -> Result<Self, String> {
        if !Path::new(SYSTEMD).exists() || systemd_version().is_none() {
            return Err("no systemd here".to_owned());
        }
        if rustix::process::geteuid().as_raw() != 0 {
            return Err("needs root: namespaces and mounts".to_owned());
        }
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        let tree = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|words| words[2] == "cgroup2");
        let tree = PathBuf::from(tree.ok_or("no cgroup v2 is mounted here")?[1]);
        let try_it = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t proc proc /proc && mount -t cgroup2 cgroup2 /mnt";
        let tried = Command::new("unshare")
            .args(["--pid", "--mount", "--cgroup", "--fork", "bash", "-c", try_it])
            .output()
            .map_err(|error| format!("no unshare: {error}"))?;
        if !tried.status.success() {
            return Err(format!("no namespaces here: {}", String::from_utf8_lossy(&tried.stderr).trim()));
        }
        let turn = machine::alone(env!("CARGO_TARGET_TMPDIR"));
        let root = tempfile::tempdir().unwrap();
        let group = tree.join(format!("numaestro-test-{}", std::process::id()));
        std::fs::create_dir(&group).map_err(|error| format!("no cgroup of its own: {error}"))?;
        let bin = Path::new(env!("CARGO_BIN_EXE_numaestro")).parent().unwrap();
        let units = root.path().join("units");
        std::fs::create_dir(&units).unwrap();
        write_units("system", "/run/bin", "/run/units", &units);
        let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd/after-stop");
        std::fs::copy(helper, units.join("after-stop")).unwrap();
        let script = format!(
            "echo $$ >{}/cgroup.procs && exec unshare --pid --mount --cgroup --fork --kill-child bash -c '{}' boot \"$1\" \"$2\"",
            group.display(),
            BOOT.replace("@SYSTEMD@", SYSTEMD).replace('\'', "'\\''")
        );
        let log = std::fs::File::create(root.path().join("log")).unwrap();
        let outer = Command::new("bash")
            .args(["-c", &script, "outer"])
            .arg(bin)
            .arg(&units)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let lent = lend_controller(&tree, &group);
        let mut machine = Self { outer, pid: 0, group, lent, root, _turn: turn };
        let begun = Instant::now();
        loop {
            if machine.find() && machine.systemctl(&["is-active", "basic.target"]).status.success() {
                // What is outside must not be in the group that is the tree's root in there.
                let _ = std::fs::write(tree.join("cgroup.procs"), machine.outer.id().to_string());
                return Ok(machine);
            }
            // All that it needs is here.
            let ended = machine.outer.try_wait().unwrap().is_some() || begun.elapsed() > PATIENCE;
            assert!(!ended, "systemd does not boot: {}", machine.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn find(&mut self) -> bool {
        let outer = self.outer.id();
        let children = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap_or_default();
        let Some(pid) = children.split_whitespace().next().and_then(|text| text.parse().ok()) else { return false };
        self.pid = pid;
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "systemd")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.root.path().join("log")).unwrap_or_default()
    }

    /// A command in there.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.pid.to_string(), "--pid", "--mount", "--cgroup", "--"]).args(words);
        command.env_clear().env("PATH", "/run/bin:/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
        command
    }

    /// The same to its end.
    pub fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub fn systemctl(&self, words: &[&str]) -> Output {
        self.output(&[&["systemctl"], words].concat())
    }

    /// What must work.
    #[track_caller]
    pub fn expect(&self, words: &[&str]) -> String {
        let output = self.output(words);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {}\n{out}{err}\nlog:\n{}", output.status, self.log());
        out.into_owned()
    }

    /// A property of the service.
    pub fn property(&self, name: &str) -> String {
        self.expect(&["systemctl", "show", "--value", "--property", name, "numaestro.service"]).trim().to_owned()
    }

    /// Writes a file in there.
    pub fn write(&self, path: &str, text: &str) {
        let script = format!("mkdir -p \"$(dirname {path})\"; printf '%s\\n' \"$0\" >{path}");
        self.expect(&["bash", "-c", &script, text]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("systemd's log:\n{}", self.log());
        }
        // With process 1 its whole namespace goes.
        let _ = self.outer.kill();
        let _ = self.outer.wait();
        let below = |dir: &Path| -> Vec<PathBuf> {
            let found = std::fs::read_dir(dir).into_iter().flatten().flatten();
            found.filter(|entry| entry.path().is_dir()).map(|entry| entry.path()).collect()
        };
        let mut groups = vec![self.group.clone()];
        let mut at = 0;
        while at < groups.len() {
            groups.extend(below(&groups[at].clone()));
            at += 1;
        }
        wait_for("the cgroups to be empty", || {
            groups.iter().rev().for_each(|group| drop(std::fs::remove_dir(group)));
            (!self.group.exists()).then_some(())
        });
        if let Some((controls, one)) = &self.lent {
            let _ = std::fs::write(controls, format!("-{one}"));
        }
    }
}
