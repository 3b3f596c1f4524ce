//! Compiles the C client into this crate, under names of its own: a program that was not started by
//! `numaestro run` finds the manager by it, and one that was has the same functions from the
//! preloaded library instead.

use std::path::Path;

/// What `src/manager.rs` calls.
const FUNCTIONS: [&str; 14] = [
    "api_version",
    "attach",
    "processors",
    "current",
    "asked_back",
    "changed",
    "request",
    "vp_register",
    "vp_release",
    "vp_preempted",
    "vp_claim",
    "vp_handoff",
    "vp_info",
    "report_speedup",
];

fn main() {
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../client");
    println!("cargo::rerun-if-changed={}", client.join("src").display());
    println!("cargo::rerun-if-changed={}", client.join("include").display());
    let mut sources: Vec<_> = std::fs::read_dir(client.join("src"))
        .expect("the client's sources are beside this crate")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    let mut build = cc::Build::new();
    build.files(sources).std("c11").define("_GNU_SOURCE", None).flag("-fvisibility=hidden").pic(true);
    for function in FUNCTIONS {
        let renamed = format!("nth_client_{function}");
        build.define(&format!("numaestro_{function}"), Some(renamed.as_str()));
    }
    build.compile("nth_client");
}
