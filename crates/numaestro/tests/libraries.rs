//! The libraries of Python that people run, while the allocation changes every 5 ms: each computes
//! byte for byte what it computes alone.
//!
//! The workloads are the benchmark's (`lab/bench/programs/library.py`), which print a digest of
//! all their results. `NUMAESTRO_LIBRARIES_REPS` says how often each works, usually 12.
//!
//! A wheel of `PyPI` brings runtimes of its own, often several copies of one; Debian's packages
//! share the system's. So both are tried.

mod support;

use numaestro_skip::{part, whole};
use std::path::PathBuf;
use std::time::Duration;
use support::ended::{self, Ended};
use support::flipper::{Flipper, Pattern, Sleepers};
use support::manager::{Manager, alone};
use support::{Dice, hang, number, processors, programs, turn};

/// The allocation of a run must change so often, or nothing was shown.
const CHANGES_MIN: u64 = 4;
const PATTERN: Pattern = Pattern { neighbours: 1, period: Duration::from_millis(5), crowded: false };

/// The workloads, and the module without which a Python cannot run them.
const LIBRARIES: [(&str, &str); 10] = [
    ("xgboost", "xgboost"),
    ("lightgbm", "lightgbm"),
    ("sklearn", "sklearn"),
    ("numba-omp", "numba"),
    ("numba-tbb", "numba.np.ufunc.tbbpool"),
    ("numba-workqueue", "numba"),
    ("polars", "polars"),
    ("duckdb", "duckdb"),
    ("torch", "torch"),
    ("torch-small", "torch"),
];

fn script() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lab/bench/programs/library.py");
    path.to_str().expect("a plain path").to_owned()
}

/// What it has computed.
fn digest(what: &str, ended: &Ended) -> String {
    assert!(ended.status.success(), "{what} ends with {}: {}{}", ended.code(), ended.stdout, ended.stderr);
    let said: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a line of JSON");
    said["digest"].as_str().expect("a digest").to_owned()
}

fn within(what: &str, command: &mut std::process::Command) -> Ended {
    ended::start(command).end_within(2 * hang()).unwrap_or_else(|description| panic!("{what} hangs\n{description}"))
}

#[test]
fn a_library_from_a_wheel_computes_the_same_while_its_processors_change() {
    let _turn = turn();
    let Some(python) = programs::python() else { return whole("no Python that has NumPy; `make venv` makes one") };
    computes_the_same(&python, &[]);
}

#[test]
fn a_library_from_a_package_computes_the_same_while_its_processors_change() {
    let _turn = turn();
    let python = "/usr/bin/python3";
    if !imports(python, "numpy") {
        return whole("the system's Python has no NumPy");
    }
    // Debian's torch multiplies by OpenBLAS, whose last bits depend on its number of threads. It is
    // the one library whose number follows the processors.
    computes_the_same(python, &[("OPENBLAS_NUM_THREADS", "1")]);
}

fn imports(python: &str, module: &str) -> bool {
    // The user's own packages are wheels.
    let look = format!("import importlib.util, sys; sys.exit(importlib.util.find_spec('{module}') is None)");
    alone([python, "-s", "-c", &look]).output().is_ok_and(|output| output.status.success())
}

fn computes_the_same(python: &str, variables: &[(&str, &str)]) {
    let first = number("NUMAESTRO_LIBRARIES_REPS", 12);
    let (manager, sleepers, script) = (Manager::started(), Sleepers::new(1), script());
    for (number, (library, module)) in LIBRARIES.into_iter().enumerate() {
        if !imports(python, module) {
            part(&format!("{library}: {module} is not here"));
            continue;
        }
        // On a fast machine some are over before much has changed. While others keep a processor
        // busy there is little to change. Then they do more.
        let mut reps = first;
        loop {
            let count = reps.to_string();
            let command = [python, "-s", &script, library, "--reps", &count];
            let plain = digest(library, &within(library, alone(command).envs(variables.iter().copied())));
            let running = ended::start(manager.run_command(command).envs(variables.iter().copied()));
            let dice = Dice::seeded(1, number as u64);
            let flipper = Flipper::start(&manager, &sleepers, running.pid(), PATTERN, dice);
            let ended = running.end_within(2 * hang());
            let changes = flipper.end();
            let ended = ended.unwrap_or_else(|description| panic!("{library} hangs\n{description}"));
            assert_eq!(digest(library, &ended), plain, "{library}, whose allocation has changed {changes} times");
            if changes >= CHANGES_MIN || processors() == 1 {
                break;
            }
            assert!(reps < 64 * first, "{library}: its allocation has changed {changes} times in {reps} repetitions");
            reps *= 2;
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
    }
    manager.expect_all_free();
}
