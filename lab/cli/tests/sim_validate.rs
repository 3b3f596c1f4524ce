//! `numaestro sim learn` and `sim validate` as a user has them: real programs, a real manager, and
//! a model that is not believed when it is wrong.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use numaestro_skip::skip;
use serde_json::Value;
use std::path::Path;
use user::{User, text};

/// A loop of a shell, for about a third of a second.
const LOOP: &str = "b() { i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; }";

/// Programs of one and of two processes, and two mixes of them.
fn mixes() -> String {
    format!(
        "policies = [\"equi\", \"batch\"]\n\
         [[program]]\nname = \"one\"\ncommand = [\"/bin/sh\", \"-c\", \"{LOOP}; b\"]\n\
         [[program]]\nname = \"two\"\ncommand = [\"/bin/sh\", \"-c\", \"{LOOP}; b & b & wait\"]\n\
         [[mix]]\nname = \"pair\"\nprograms = [\"two\", \"two\"]\n\
         [[mix]]\nname = \"late\"\nprograms = [\"two\"]\narrivals = [{{ at = \"0.1 s\", program = \"one\" }}]\n"
    )
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// The simulated makespans, in order of the cells, nanoseconds.
fn simulated(document: &Value) -> Vec<f64> {
    let cells = document["cells"].as_array().expect("cells");
    cells.iter().map(|cell| cell["simulated"]["makespan"].as_f64().expect("a number")).collect()
}

/// A line of the state file; a run alone takes twice its time.
fn doubled(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).expect("JSON");
    for span in value.pointer_mut("/alone/run/spans").and_then(Value::as_array_mut).into_iter().flatten() {
        let length = span["length_ns"].as_u64().expect("a number");
        span["length_ns"] = Value::from(2 * length);
    }
    value.to_string()
}

#[test]
fn a_right_model_is_near_and_a_wrong_one_fails() {
    if std::thread::available_parallelism().is_ok_and(|all| all.get() < 2) {
        skip!("one processor only");
    }
    let _turn = user::turn();
    let user = User::new();
    let path = |name: &str| user.path(name).to_str().expect("text").to_owned();
    std::fs::write(user.path("mixes.toml"), mixes()).expect("writable");
    let (file, state, first, second) = (path("mixes.toml"), path("s.jsonl"), path("a.json"), path("b.json"));
    let words = |json: &str, further: &[&str]| {
        let fixed = ["sim", "validate", &file, "--runs", "2", "--foreign", "100", "--state", &state, "--json", json];
        fixed.iter().chain(further).map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let output = user.output(words(&first, &["--keep", &path("kept")]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let good = json(Path::new(&first));
    let error = good["makespan"]["median"].as_f64().expect("a number");
    assert!(error < 0.35, "{error}: {}", text(&output.stdout));
    assert_eq!(good["cells"].as_array().map(Vec::len), Some(4));
    let kept = user.output(["sim", "run", &path("kept/pair.toml")]);
    assert!(kept.status.success(), "{}", text(&kept.stderr));

    // The same runs beside programs with twice the work.
    let lines = std::fs::read_to_string(&state).expect("readable");
    let changed: Vec<String> = lines.lines().map(doubled).collect();
    std::fs::write(&state, changed.join("\n") + "\n").expect("writable");
    let output = user.output(words(&second, &["--resume", "--check"]));
    assert_eq!(output.status.code(), Some(1), "a wrong model passes: {}", text(&output.stdout));
    let wrong = json(Path::new(&second));
    for (good, wrong) in simulated(&good).iter().zip(simulated(&wrong)) {
        // Twice the work, but not twice the start of the programs: these runs are short.
        assert!(wrong > 1.4 * good, "{wrong} {good}");
    }
    assert_eq!(good["done"].as_array().map(Vec::len), wrong["done"].as_array().map(Vec::len), "nothing ran again");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let user = User::new();
    std::fs::write(user.path("m.toml"), mixes().replace("\"batch\"", "\"bash\"")).expect("writable");
    let output = user.output(["sim", "validate", user.path("m.toml").to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("m.toml:1") && said.contains("policy list"), "{said}");
    for words in [["sim", "learn", "--help"], ["sim", "validate", "--help"]] {
        let help = text(&user.output(words).stdout);
        assert!(help.contains("Examples") && help.contains("Exit codes"), "{help}");
    }
    let list = text(&user.output(["sim", "validate", "--list"]).stdout);
    assert!(list.lines().count() >= 24, "{list}");
}

#[test]
fn a_program_is_learned_from_a_simulated_journal() {
    let user = User::new();
    let path = |name: &str| user.path(name).to_str().expect("text").to_owned();
    let scenario = "machine = \"xeon-4\"\nseeds = 1\n[[program]]\nname = \"app\"\nprocessors = 4\n\
        phases = [{ do = \"parallel\", iterations = 50, work = \"40 ms\" }]\n";
    std::fs::write(user.path("s.toml"), scenario).expect("writable");
    let run = user.output(["sim", "run", &path("s.toml"), "--journal", &path("j")]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let learned = user.output(["sim", "learn", "--journal", &path("j"), "--name", "app", "--json", &path("l.json")]);
    assert!(learned.status.success(), "{}", text(&learned.stderr));
    let found = json(&user.path("l.json"));
    let widest = found["curve"].as_array().and_then(|curve| curve.last().cloned()).expect("a point");
    assert!((widest["length_s"].as_f64().expect("a number") - 0.5).abs() < 0.02, "{found}");
    let unknown = user.output(["sim", "learn", "--journal", &path("j"), "--name", "nobody"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("there is app"), "{}", text(&unknown.stderr));
}

/// A staged run in the source tree.
fn staged(name: &str) -> String {
    let file = format!("../../testdata/staged/{name}.jsonl");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file).to_str().expect("text").to_owned()
}

#[test]
fn a_recording_agrees_with_the_simulator_and_not_with_another_policy_or_machine() {
    let user = User::new();
    let path = |name: &str| user.path(name).to_str().expect("text").to_owned();
    let files = [staged("four-hs-con-narrow"), staged("two-first-fit-rigid")];
    let validate = |files: &[String], further: &[&str]| {
        let words = ["sim", "validate", "--staged"].into_iter().chain(files.iter().map(String::as_str));
        user.output(words.chain(further.iter().copied()))
    };
    let output = validate(&files, &["--json", &path("a.json")]);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("narrow  HS-Con"), "{}", text(&output.stdout));
    let document = json(&user.path("a.json"));
    assert_eq!(document["holds"], true);
    let steps = document["staged"][0]["comparison"]["steps"].as_array().expect("steps");
    assert!(steps.len() > 4 && steps.iter().all(|step| step["aspects"][0][0] == "kernel"), "{document}");

    let other = validate(&files[..1], &["--policies", "worst-fit"]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other.stdout));
    assert!(text(&other.stdout).contains("HS-Con, simulated worst-fit"), "{}", text(&other.stdout));
    let machine = "name = \"three\"\nabout = \"One node fewer\"\ntopology = \"numa:3 core:2 pu:1\"\ncycle = \"1 ns\"\n\
        [memory]\npage_bytes = 4096\nnode_pages = 1000\n[access]\nunit = \"ns\"\nhit = 1\n\
        [[access.class]]\nname = \"all\"\nwithin = \"machine\"\nline = 10\n";
    std::fs::write(user.path("three.toml"), machine).expect("writable");
    let smaller = validate(&files[..1], &["--machine", &path("three.toml")]);
    assert_eq!(smaller.status.code(), Some(1), "{}", text(&smaller.stdout));

    let whole = std::fs::read_to_string(&files[0]).expect("readable");
    std::fs::write(user.path("cut.jsonl"), whole.lines().take(2).collect::<Vec<_>>().join("\n")).expect("writable");
    let cut = validate(&[path("cut.jsonl")], &[]);
    assert_eq!(cut.status.code(), Some(2));
    let said = text(&cut.stderr);
    assert!(said.contains("cut.jsonl:2: expected `at_rest` after step 2") && said.contains("make test-numa"), "{said}");
    assert_eq!(validate(&files, &["--policies", "equi,batch"]).status.code(), Some(64));
    assert_eq!(validate(&files, &["--policies", "eqi"]).status.code(), Some(2));
}
