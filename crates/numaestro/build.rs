//! Builds the shim from the C sources of `client/` and hands it to `src/shim.rs`, which carries it
//! inside the command.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "libnumaestro_preload.so";

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let client = Path::new(&manifest).join("../../client");
    for place in ["Makefile", "fold", "glibc", "include", "src", "shim"] {
        println!("cargo::rerun-if-changed={}", client.join(place).display());
    }
    let build = Path::new(&out).join("client");
    let library = build.join(LIBRARY);
    let mut make = Command::new("make");
    // A make around cargo must not hand its job server to this one.
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
    make.arg("-C").arg(&client).arg(format!("BUILD={}", build.display())).arg(&library);
    let outcome = make.output().expect("`make` and a C compiler are needed to build the shim: install make and gcc");
    assert!(outcome.status.success(), "the shim does not build:\n{}", String::from_utf8_lossy(&outcome.stderr));
    let bytes = std::fs::read(&library).expect("make has just made it");
    std::fs::write(Path::new(&out).join(LIBRARY), &bytes).expect("OUT_DIR is writable");
    let mut content = DefaultHasher::new();
    content.write(&bytes);
    println!("cargo::rustc-env=NUMAESTRO_SHIM_CONTENT={:016x}", content.finish());
    // The command needs no newer C library than the shim: it is linked against the same one.
    println!("cargo::rustc-link-arg-bins=@{}", build.join("glibc/flags").display());
}
