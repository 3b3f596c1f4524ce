//! The test programs in `client/tests` and the torture programs in `client/torture`, built once
//! with every compiler that is here.

use numaestro_skip::part;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Both, as far as they are here.
pub const COMPILERS: [&str; 2] = ["gcc", "clang"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

fn built() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| make("tests"))
}

/// Makes the programs of a directory of `client`, and says where they are.
fn make(directory: &str) -> PathBuf {
    make_in(&root().join("client").join(directory));
    root().join("build").join(directory)
}

fn make_in(directory: &Path) {
    match Command::new("make").args(["-s", "-j2", "-C"]).arg(directory).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("make -C {}: {}", directory.display(), String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("make -C {}: {error}", directory.display()),
    }
}

/// A program of `kernels` from the first compiler that is here.
pub fn kernel(name: &str) -> String {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        make_in(&root().join("kernels"));
        root().join("build/kernels")
    });
    let made = COMPILERS.iter().find_map(|compiler| found(built, compiler, name));
    made.unwrap_or_else(|| panic!("neither gcc nor clang has made kernels/{name}"))
}

/// The program as this compiler made it. `None` where the compiler, or a library that the program
/// needs, is not here.
pub fn program(compiler: &str, name: &str) -> Option<String> {
    found(built(), compiler, name)
}

/// The program as each compiler that is here made it, with the compiler's name. There is one at
/// least.
pub fn builds(name: &str) -> Vec<(&'static str, String)> {
    let build = |compiler: &&'static str| {
        let path = program(compiler, name);
        if path.is_none() {
            part(&format!("{compiler} has not made {name}"));
        }
        Some((*compiler, path?))
    };
    let builds: Vec<_> = COMPILERS.iter().filter_map(build).collect();
    assert!(!builds.is_empty(), "neither gcc nor clang has made client/tests/{name}");
    builds
}

/// The same as [`program`] of a torture program.
pub fn torture(compiler: &str, name: &str) -> Option<String> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    found(BUILT.get_or_init(|| make("torture")), compiler, name)
}

fn found(built: &Path, compiler: &str, name: &str) -> Option<String> {
    let path = built.join(compiler).join(name);
    path.is_file().then(|| path.to_str().expect("a plain path").to_owned())
}

/// A program from the first compiler that is here.
pub fn any(name: &str) -> String {
    let made = COMPILERS.iter().find_map(|compiler| program(compiler, name));
    made.unwrap_or_else(|| panic!("neither gcc nor clang has made client/tests/{name}"))
}

/// A source file of `client/tests`.
pub fn source(name: &str) -> String {
    root().join("client/tests").join(name).to_str().expect("a plain path").to_owned()
}

/// A Python that has `NumPy`: `$NUMAESTRO_PYTHON`, else the project's own environment. `None` where
/// it has not.
pub fn python() -> Option<String> {
    let chosen = std::env::var("NUMAESTRO_PYTHON")
        .unwrap_or_else(|_| root().join("build/venv/bin/python").to_str().expect("a plain path").to_owned());
    let works = Command::new(&chosen).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    works.then_some(chosen)
}
