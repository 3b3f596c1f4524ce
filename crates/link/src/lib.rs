//! For the build scripts of programs: they are linked against the C library of `client/glibc`, as
//! the shim is, and need no newer one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where make builds the files of `client/` for the crate whose build script this is.
///
/// # Panics
/// Outside of a build script.
pub fn place() -> PathBuf {
    Path::new(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("client")
}

/// Make, which hands nothing on from a make around cargo: its job server is not ours.
pub fn make() -> Command {
    let mut make = Command::new("make");
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
    make
}

/// Has make build files of `client/` in [`place`], and cargo look at these sources for changes.
///
/// # Panics
/// If they do not build.
pub fn build(files: &[&str], sources: &[&str]) {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../client");
    for source in sources {
        println!("cargo::rerun-if-changed={}", client.join(source).display());
    }
    let place = place();
    let mut make = make();
    make.arg("-C").arg(&client).arg(format!("BUILD={}", place.display()));
    make.args(files.iter().map(|file| place.join(file)));
    let outcome = make.output().expect("`make` and a C compiler are needed: install make and gcc");
    assert!(outcome.status.success(), "client/ does not build:\n{}", String::from_utf8_lossy(&outcome.stderr));
}

/// Links the programs of this crate so; gives the file with the linker's flags.
pub fn programs() -> PathBuf {
    build(&["glibc/flags"], &["Makefile", "glibc"]);
    let flags = place().join("glibc/flags");
    println!("cargo::rustc-link-arg-bins=@{}", flags.display());
    flags
}
