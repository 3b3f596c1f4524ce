//! The manager's log in the system's journal, with fields that people search for. The journal is a
//! stand-in that writes down what comes, in a mount namespace, because its socket has a fixed
//! place.

use std::process::Command;

use numaestro_skip::skip;

/// Binds the journal's socket, runs a manager whose error output is "the journal", has it do
/// something, and prints what was sent.
const PYTHON: &str = r#"
import os, socket, subprocess, sys
os.makedirs("/run/systemd/journal")
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.bind("/run/systemd/journal/socket")
journal.settimeout(30)
numaestro, dir = sys.argv[1:]
log = open(dir + "/stderr", "w")
seen = os.fstat(log.fileno())
environment = dict(os.environ, JOURNAL_STREAM="%d:%d" % (seen.st_dev, seen.st_ino), NUMAESTRO_LOG="info")
words = [numaestro, "--dir", dir + "/n", "daemon", "--system"]
manager = subprocess.Popen(words, stderr=log, env=environment)
while subprocess.run([numaestro, "--dir", dir + "/n", "stop"], stdout=subprocess.DEVNULL).returncode or manager.poll() is None:
    if manager.poll() is not None:
        break
def fields(entry):
    # `NAME=value\n`, or `NAME\n`, the length in eight bytes, the value and `\n`.
    while entry:
        line, entry = entry.split(b"\n", 1)
        if b"=" not in line:
            length = int.from_bytes(entry[:8], "little")
            line, entry = line + b"=" + entry[8:8 + length], entry[9 + length:]
        yield line.decode()
while True:
    entry = list(fields(journal.recv(65536)))
    print("|".join(entry))
    if "MESSAGE=ended" in entry:
        break
assert open(dir + "/stderr").read() == "", "nothing is said twice"
"#;

#[test]
fn messages_have_their_fields() {
    if rustix::process::geteuid().as_raw() != 0 || Command::new("python3").arg("--version").output().is_err() {
        skip!("only root can mount, and python3 is needed");
    }
    let root = tempfile::tempdir().unwrap();
    let script = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && exec python3 -c \"$0\" \"$1\" \"$2\"";
    let output = Command::new("unshare")
        .args(["--mount", "--fork", "--kill-child", "bash", "-c", script, PYTHON, env!("CARGO_BIN_EXE_numaestro")])
        .arg(root.path())
        .output()
        .unwrap();
    let (said, failed) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if failed.contains("unshare failed") || failed.contains("mount:") {
        skip!("no mount namespace here: {failed}");
    }
    assert!(output.status.success(), "{said}{failed}");
    let entry = said.lines().find(|line| line.contains("MESSAGE=asked to stop")).unwrap_or_else(|| panic!("{said}"));
    let fields: Vec<&str> = entry.split('|').collect();
    for field in ["SYSLOG_IDENTIFIER=numaestro", "PRIORITY=5", "UID=0"] {
        assert!(fields.contains(&field), "{field} is not in {entry}");
    }
    assert!(
        fields.iter().any(|field| field.strip_prefix("PID=").is_some_and(|pid| pid.parse::<u32>().is_ok())),
        "{entry}"
    );
}
