//! Builds what the command carries inside it: stub and shim from the C sources of `client/`, for
//! `src/shim.rs`, and the programs of the demo from `kernels/`, for `src/demo.rs`.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

const LIBRARIES: [&str; 2] = ["libnumaestro_preload.so", "libnumaestro_shim.so"];

/// The programs of the demo: the compiler and its runtime, the program, and its kind of work.
const DEMO: [(&str, &str, &str, &str); 4] = [
    ("gcc", "libgomp", "sor", "grid sweeps"),
    ("gcc", "libgomp", "cg", "many tiny regions"),
    ("clang", "libomp", "sor", "grid sweeps"),
    ("gcc", "libgomp", "ep", "long regions"),
];

fn main() {
    let flags = numaestro_link::programs();
    numaestro_link::build(&LIBRARIES, &["fold", "include", "src", "shim", "stub"]);
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let build = numaestro_link::place();
    let mut content = DefaultHasher::new();
    for library in LIBRARIES {
        let bytes = std::fs::read(build.join(library)).expect("make has just made it");
        std::fs::write(Path::new(&out).join(library), &bytes).expect("OUT_DIR is writable");
        content.write(&bytes);
    }
    println!("cargo::rustc-env=NUMAESTRO_SHIM_CONTENT={:016x}", content.finish());
    demo(Path::new(&out), &Path::new(&manifest).join("../../kernels"), &flags);
}

/// Writes `demo.rs`, the list of the programs that the compilers here can make. Without any of
/// them the command is whole but for its demo. `flags` is what the shim is linked with, if it is
/// there.
fn demo(out: &Path, kernels: &Path, flags: &Path) {
    for place in ["Makefile", "kernel.c", "kernel.h", "sor.c", "cg.c", "ep.c"] {
        println!("cargo::rerun-if-changed={}", kernels.join(place).display());
    }
    let build = out.join("kernels");
    // The tools here make no program for another machine.
    if std::env::var("HOST") == std::env::var("TARGET") {
        let flags = if flags.exists() { format!("@{}", flags.display()) } else { String::new() };
        let mut make = numaestro_link::make();
        // One compiler may be missing.
        make.arg("--keep-going").arg("-C").arg(kernels).arg(format!("BUILD={}", build.display()));
        make.arg("CFLAGS=-O2").arg(format!("LDFLAGS=-s {flags}"));
        make.args(DEMO.map(|(compiler, _, name, _)| build.join(compiler).join(name)));
        let _ = make.output();
    }
    let mut list = "[".to_owned();
    for (compiler, runtime, name, what) in DEMO {
        let program = build.join(compiler).join(name);
        if program.exists() {
            let bytes = format!("include_bytes!({:?})", program.display().to_string());
            writeln!(list, "({compiler:?}, {runtime:?}, {name:?}, {what:?}, {bytes}),").expect("a text takes it");
        } else if compiler == "gcc" {
            println!("cargo::warning=the demo will be without {compiler}/{name}: install gcc with libgomp");
        }
    }
    std::fs::write(out.join("demo.rs"), list + "]").expect("OUT_DIR is writable");
}
