//! Builds the stub and the shim from the C sources of `client/` and hands them to `src/shim.rs`,
//! which carries them inside the command.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::process::Command;

const LIBRARIES: [&str; 2] = ["libnumaestro_preload.so", "libnumaestro_shim.so"];

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let client = Path::new(&manifest).join("../../client");
    for place in ["Makefile", "fold", "include", "src", "shim", "stub"] {
        println!("cargo::rerun-if-changed={}", client.join(place).display());
    }
    let build = Path::new(&out).join("client");
    let mut make = Command::new("make");
    // A make around cargo must not hand its job server to this one.
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
    make.arg("-C").arg(&client).arg(format!("BUILD={}", build.display()));
    make.args(LIBRARIES.map(|library| build.join(library)));
    let outcome = make.output().expect("`make` and a C compiler are needed to build the shim: install make and gcc");
    assert!(outcome.status.success(), "the shim does not build:\n{}", String::from_utf8_lossy(&outcome.stderr));
    let mut content = DefaultHasher::new();
    for library in LIBRARIES {
        let bytes = std::fs::read(build.join(library)).expect("make has just made it");
        std::fs::write(Path::new(&out).join(library), &bytes).expect("OUT_DIR is writable");
        content.write(&bytes);
    }
    println!("cargo::rustc-env=NUMAESTRO_SHIM_CONTENT={:016x}", content.finish());
}
