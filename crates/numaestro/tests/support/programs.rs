//! The test programs in `client/tests` and the torture programs in `client/torture`, built once with every compiler that is here.

use super::skip;
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
    match Command::new("make").args(["-s", "-j2", "-C"]).arg(root().join("client").join(directory)).output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => panic!("make -C client/{directory}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => skip(&format!("every program of client/{directory}"), &format!("make: {error}")),
    }
    root().join("build").join(directory)
}

/// The program as this compiler made it; a message and `None` where there is none.
pub fn program(compiler: &str, name: &str) -> Option<String> {
    found(built(), compiler, name)
}

/// The same of a torture program.
pub fn torture(compiler: &str, name: &str) -> Option<String> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    found(BUILT.get_or_init(|| make("torture")), compiler, name)
}

fn found(built: &Path, compiler: &str, name: &str) -> Option<String> {
    let path = built.join(compiler).join(name);
    if path.is_file() {
        return Some(path.to_str().expect("a plain path").to_owned());
    }
    skip(&format!("{name} made by {compiler}"), "the compiler, or a library it needs, is not here");
    None
}

/// A program from the first compiler that is here.
pub fn any(name: &str) -> Option<String> {
    let there = COMPILERS.iter().find(|compiler| built().join(compiler).join(name).is_file());
    program(there.unwrap_or(&"gcc"), name)
}

/// A source file of `client/tests`.
pub fn source(name: &str) -> String {
    root().join("client/tests").join(name).to_str().expect("a plain path").to_owned()
}

/// A Python that has `NumPy`: `$NUMAESTRO_PYTHON`, else the project's own environment.
pub fn python() -> Option<String> {
    let chosen = std::env::var("NUMAESTRO_PYTHON")
        .unwrap_or_else(|_| root().join("build/venv/bin/python").to_str().expect("a plain path").to_owned());
    let works = Command::new(&chosen).args(["-c", "import numpy"]).output().is_ok_and(|o| o.status.success());
    if !works {
        skip("NumPy", &format!("{chosen} cannot import it; set NUMAESTRO_PYTHON to a Python that can"));
    }
    works.then_some(chosen)
}
