//! The C API in a C program, with each compiler that is installed, against both kinds of library;
//! the header also as C++.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo has put the libraries of the profile that is tested.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.parent().expect("it lies beside them").to_owned()
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn compilers() -> Vec<&'static str> {
    let (here, missing): (Vec<_>, Vec<_>) = ["gcc", "clang"].into_iter().partition(|compiler| is_there(compiler));
    assert!(!here.is_empty(), "gcc or clang is needed");
    for compiler in missing {
        numaestro_skip::part(&format!("{compiler} is not here"));
    }
    here
}

/// A directory for the programs of one test.
fn scratch(name: &str) -> PathBuf {
    let scratch = std::env::temp_dir().join(format!("nanothreads-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a place for the programs");
    scratch
}

/// Compiles `tests/SOURCE` with every compiler and against both kinds of library, and calls `run`
/// for each program.
fn with_each(source: &str, run: impl Fn(&Path)) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = scratch(source);
    for compiler in compilers() {
        for library in ["libnanothreads.so", "libnanothreads.a"] {
            let program = scratch.join(format!("{compiler}-{library}"));
            let mut compile = Command::new(compiler);
            compile
                .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-rdynamic", "-I"])
                .arg(here.join("include"));
            compile.arg(here.join("tests").join(source)).arg(libraries().join(library));
            succeeds(compile.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
            run(&program);
        }
    }
    std::fs::remove_dir_all(&scratch).expect("the programs can be removed");
}

#[test]
fn a_c_program_can_use_every_function() {
    with_each("program.c", |program| {
        let mut run = Command::new(program);
        succeeds(run.env("LD_LIBRARY_PATH", libraries()).env("NUMAESTRO_ATTACH", "/nonexistent/attach"));
    });
}

#[test]
fn the_header_is_cpp_too() {
    if !is_there("g++") {
        numaestro_skip::skip!("g++ is not here");
    }
    let mut compile = Command::new("g++");
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"]);
    succeeds(compile.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/nanothreads.h")));
}

/// The primitives of the manager, played by the program itself.
#[test]
fn processors_are_given_back_to_a_manager_and_used_when_it_gives_them() {
    with_each("managed.c", |program| {
        for kind in ["tied", "untied"] {
            succeeds(Command::new(program).arg(kind).env("LD_LIBRARY_PATH", libraries()));
        }
    });
}
