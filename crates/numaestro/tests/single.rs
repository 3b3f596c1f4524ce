//! A program of one thread stays one of one thread: what the kernel, Python and a user namespace
//! say of it is what they say without numaestro. With a second thread it is managed like any other.

mod support;

use numaestro_skip::{part, skip};
use std::process::Command;
use support::ended::{self, Ended};
use support::manager::{Manager, alone};
use support::programs::{any, builds, python, source};
use support::{eventually, turn};

/// Libraries that would use several threads, told to use one.
const ONE: [(&str, &str); 3] = [("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1"), ("BLIS_NUM_THREADS", "1")];

/// The same with a manager as without, on both streams. False if it cannot run without.
#[track_caller]
fn same(manager: &Manager, words: &[&str], variables: &[(&str, &str)]) -> bool {
    let said = |command: &mut Command| {
        let Ended { status, stdout, stderr } = ended::run(command.envs(variables.iter().copied()));
        (status.code(), stdout, stderr)
    };
    let bare = said(&mut alone(words));
    if bare.0 != Some(0) {
        part(&format!("{}: it cannot run without numaestro: {}", words.join(" "), bare.2));
        return false;
    }
    assert!(bare.1.contains("threads 1\n"), "{}: it is no program of one thread: {}", words.join(" "), bare.1);
    assert_eq!(said(&mut manager.run_command(words)), bare, "{} {variables:?}", words.join(" "));
    true
}

#[test]
fn no_thread_joins_a_program_of_one() {
    let _turn = turn();
    let manager = Manager::started();
    for (_, single) in builds("single") {
        for how in ["nothing", "plain", "asked", "set", "bound"] {
            same(&manager, &[&single, how], &ONE[..usize::from(how == "plain")]);
        }
    }
    manager.expect_all_free();
}

/// A library that could use several threads has none as long as nobody gives it work, or its user
/// allows one.
#[test]
fn no_thread_joins_a_program_with_a_library_of_one() {
    let _turn = turn();
    let manager = Manager::started();
    let single = any("single");
    // The one with threads of its own, where alternatives are installed beside each other.
    let architecture = std::env::consts::ARCH;
    let openblas = format!("/usr/lib/{architecture}-linux-gnu/openblas-pthread/libopenblas.so.0");
    for (library, variables) in [(openblas.as_str(), &ONE[..]), ("libblis.so.4", &ONE), ("libtbb.so.12", &[])] {
        same(&manager, &[&single, "loads", library], variables);
    }
}

#[test]
fn python_forks_without_a_warning() {
    let _turn = turn();
    let Some(python) = python() else { skip!("no Python that has NumPy; NUMAESTRO_PYTHON names one") };
    let manager = Manager::started();
    for how in ["one", "pinned", "child"] {
        same(&manager, &[&python, &source("single.py"), how], &[]);
    }
}

/// It attaches late: before, the manager knows it as it knows every program without a page.
#[test]
fn a_second_thread_makes_it_a_program_like_others() {
    let _turn = turn();
    let manager = Manager::started();
    let single = any("single");
    let app = || manager.status().and_then(|status| status.apps.into_iter().next());
    let running = ended::start(&mut manager.run_command([single.as_str(), "later", "4"]));
    assert!(eventually(|| app().is_some_and(|app| app.runtimes.is_empty())), "it is never there: {:?}", app());
    assert!(
        eventually(|| app().is_some_and(|app| app.libraries.iter().any(|one| one.threads == 2))),
        "its team is never seen: {:?}",
        app()
    );
    let ended = running.end();
    ended.expect("single later", "threads 1\nsingle 200\n");
    assert!(ended.sizes().iter().any(|(size, times)| *size == 2 && *times > 0), "{:?}", ended.sizes());
    manager.expect_all_free();
}
