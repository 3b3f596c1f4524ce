//! Compiles code of the client into this crate, so that the command judges as programs do: what an
//! image is (`client/stub/look.c`), and whom to believe (`client/src/trust.c`).

use std::path::Path;

fn main() {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../client");
    let sources = ["stub/look.c", "stub/runtime.c", "stub/search.c", "src/trust.c"];
    for file in sources.iter().chain(&["stub/look.h", "stub/system.h", "src/trust.h"]) {
        println!("cargo::rerun-if-changed={}", client.join(file).display());
    }
    let mut build = cc::Build::new();
    build
        .files(sources.map(|file| client.join(file)))
        .std("c11")
        .define("_GNU_SOURCE", None)
        .flag("-fvisibility=hidden")
        .pic(true);
    build.compile("numaestro_client");
}
