//! Compiles the code that looks at images (`client/stub/look.c`) into this crate. The stub has the
//! same code, so command and stub judge alike.

use std::path::Path;

fn main() {
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../client/stub");
    for file in ["look.c", "runtime.c", "search.c", "look.h", "system.h"] {
        println!("cargo::rerun-if-changed={}", stub.join(file).display());
    }
    let mut build = cc::Build::new();
    build
        .files(["look.c", "runtime.c", "search.c"].map(|file| stub.join(file)))
        .std("c11")
        .define("_GNU_SOURCE", None)
        .flag("-fvisibility=hidden")
        .pic(true);
    build.compile("numaestro_look");
}
