//! `numaestro trace export`, judged by programs of others: Perfetto's own definitions of its
//! messages, and its trace processor.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use numaestro_skip::skip;
use std::path::{Path, PathBuf};
use std::process::Command;
use user::{User, text};

/// Applications come and go on sixteen processors; in the end nobody is there.
const SCENARIO: &str = r#"machine = "hector"
policy = "equi"
seed = 5
seeds = 1
[[program]]
name = "a"
processors = 6
phases = [{ do = "serial", work = "2 ms" }, { do = "parallel", iterations = 5, work = { exponential = "30 ms" } }]
[workload]
kind = "open"
interarrival = { exponential = "2 ms" }
jobs = 30
"#;
/// All of them end.
const JOBS: &str = "30";
/// Hector has sixteen and keeps four for the system; those are never free.
const FREE: &str = "12";

/// Parses the file with Perfetto's definitions, and tells what is in it. A field that they do not
/// know has a wrong number.
const PYTHON: &str = r#"
import sys
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

def check(message):
    assert len(UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if hasattr(value, "append") else [value]:
                check(inner)

trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())
check(trace)
tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
events = [p.track_event for p in trace.packet if p.HasField("track_event")]
def of(kind):
    return [event for event in events if event.type == kind]
def name(event):
    return tracks[event.track_uuid].name
assert len(of(TrackEvent.TYPE_SLICE_BEGIN)) == len(of(TrackEvent.TYPE_SLICE_END)) > 0
assert all(tracks[event.track_uuid].HasField("counter") for event in of(TrackEvent.TYPE_COUNTER))
ends = [e for e in of(TrackEvent.TYPE_INSTANT) if any(a.name == "event" and a.string_value == "ends" for a in e.debug_annotations)]
free = [e.counter_value for e in of(TrackEvent.TYPE_COUNTER) if name(e) == "free processors"]
guests = [e for e in of(TrackEvent.TYPE_SLICE_BEGIN) if name(e).endswith(", guests")]
print(len(ends), free[-1], "guests" if guests else "nobody")
"#;

/// The same questions in SQL, and whether anything in the file was refused.
const SQL: &str = "SELECT \
    (SELECT count(*) FROM slice WHERE name = 'ends'), \
    (SELECT cast(c.value AS INT) FROM counter c JOIN track t ON c.track_id = t.id \
        WHERE t.name = 'free processors' ORDER BY c.ts DESC LIMIT 1), \
    (SELECT count(*) > 0 FROM slice s JOIN track t ON s.track_id = t.id WHERE t.name LIKE '%, guests'), \
    (SELECT count(*) FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0) AS refused;";

fn exported(user: &User) -> PathBuf {
    std::fs::write(user.path("s.toml"), SCENARIO).expect("writable");
    let [scenario, journal] = ["s.toml", "run.journal"].map(|name| user.path(name).display().to_string());
    for words in [&["sim", "run", &scenario, "--journal", &journal][..], &["trace", "export", &journal]] {
        let output = user.output(words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    user.path("run.pftrace")
}

#[test]
fn perfettos_own_definitions_know_every_field() {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/venv/bin/python");
    let schema = "import perfetto.protos.perfetto.trace.perfetto_trace_pb2";
    if !Command::new(&venv).args(["-c", schema]).output().is_ok_and(|output| output.status.success()) {
        skip!("no Python that has perfetto");
    }
    let user = User::new();
    let output = Command::new(venv).args(["-c", PYTHON]).arg(exported(&user)).output().expect("python starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), format!("{JOBS} {FREE} guests"));
}

#[test]
fn perfettos_trace_processor_answers_questions_about_it() {
    let program = std::env::var("TRACE_PROCESSOR").unwrap_or_else(|_| "trace_processor_shell".to_owned());
    if Command::new(&program).arg("--version").output().is_err() {
        skip!("trace_processor_shell is not here");
    }
    let user = User::new();
    std::fs::write(user.path("q.sql"), SQL).expect("writable");
    let output = Command::new(program).arg("-q").arg(user.path("q.sql")).arg(exported(&user)).output().expect("starts");
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    let answer = shown.lines().rfind(|line| !line.trim().is_empty());
    assert_eq!(answer, Some(format!("{JOBS},{FREE},1,0").as_str()), "{shown}");
}

#[test]
fn paraver_gets_four_files_that_belong_together() {
    let user = User::new();
    exported(&user);
    let journal = user.path("run.journal").display().to_string();
    let output = user.output(["trace", "export", "--format", "paraver", &journal]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for ending in ["prv", "pcf", "row", "cfg"] {
        let file = user.path(&format!("run.{ending}"));
        assert!(said.contains(&file.display().to_string()) && file.exists(), "{said}");
    }
}
