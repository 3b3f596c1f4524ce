//! Checks that a crate depends only on the crates that `docs/ARCHITECTURE.md` draws arrows to.
//!
//! The lists are allow-lists: a crate that is not named here fails the check, so that a new crate
//! is a decision.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::finding::Finding;

/// Crate, and the crates of this workspace it may use.
const ARROWS: [(&str, &[&str]); 22] = [
    ("numaestro-quantity", &[]),
    ("numaestro-topology", &["numaestro-quantity"]),
    ("numaestro-policy", &["numaestro-quantity", "numaestro-topology"]),
    ("numaestro-engine", &["numaestro-policy", "numaestro-quantity", "numaestro-topology"]),
    ("numaestro-contract", &["numaestro-engine", "numaestro-topology"]),
    ("numaestro-marks", &["numaestro-engine", "numaestro-topology"]),
    ("numaestro-recording", &[]),
    (
        "numaestro-sim",
        &[
            "numaestro-contract",
            "numaestro-engine",
            "numaestro-marks",
            "numaestro-policy",
            "numaestro-quantity",
            "numaestro-topology",
        ],
    ),
    ("numaestro-repro", &["numaestro-engine", "numaestro-policy", "numaestro-sim", "numaestro-topology"]),
    ("numaestro-abi", &[]),
    ("numaestro-skip", &[]),
    ("numaestro-nanothreads", &["numaestro-skip"]),
    ("numaestro-host", &["numaestro-abi", "numaestro-skip", "numaestro-topology"]),
    (
        "numaestro-daemon",
        &[
            "numaestro-abi",
            "numaestro-contract",
            "numaestro-engine",
            "numaestro-host",
            "numaestro-policy",
            "numaestro-quantity",
            "numaestro-recording",
            "numaestro-skip",
            "numaestro-topology",
        ],
    ),
    ("numaestro-say", &["numaestro-host"]),
    (
        "numaestro-manager",
        &["numaestro-abi", "numaestro-daemon", "numaestro-host", "numaestro-link", "numaestro-say", "numaestro-skip"],
    ),
    ("numaestro-link", &[]),
    (
        "numaestro-kit",
        &[
            "numaestro-abi",
            "numaestro-daemon",
            "numaestro-engine",
            "numaestro-host",
            "numaestro-quantity",
            "numaestro-recording",
            "numaestro-say",
            "numaestro-topology",
        ],
    ),
    (
        "numaestro",
        &[
            "numaestro-abi",
            "numaestro-daemon",
            "numaestro-engine",
            "numaestro-host",
            "numaestro-kit",
            "numaestro-link",
            "numaestro-manager",
            "numaestro-quantity",
            "numaestro-recording",
            "numaestro-skip",
            "numaestro-topology",
        ],
    ),
    (
        "numaestro-lab",
        &[
            "numaestro-abi",
            "numaestro-engine",
            "numaestro-host",
            "numaestro-kit",
            "numaestro-link",
            "numaestro-quantity",
            "numaestro-recording",
            "numaestro-repro",
            "numaestro-sim",
            "numaestro-skip",
            "numaestro-topology",
        ],
    ),
    ("numaestro-guest", &["numaestro-abi", "numaestro-sim", "numaestro-topology"]),
    ("xtask", &["numaestro-abi", "numaestro-policy"]),
];

/// What a crate may use in its tests only, besides.
const TESTS: [(&str, &str); 4] = [
    ("numaestro-daemon", "numaestro-sim"),
    ("numaestro-daemon", "numaestro-marks"),
    ("numaestro-engine", "numaestro-marks"),
    ("numaestro-contract", "numaestro-marks"),
];

/// Crates without clock, input, output, threads or ambient randomness, without `numaestro-`.
pub const PURE: [&str; 7] = ["quantity", "topology", "policy", "engine", "contract", "marks", "sim"];

/// Items that a pure crate may not use, not even in its tests: with these it could reach the
/// machine.
const IMPURE: [&str; 14] = [
    "libc",
    "rustix",
    "nix",
    "mio",
    "tokio",
    "signal-hook",
    "rayon",
    "crossbeam",
    "num_cpus",
    "chrono",
    "time",
    "getrandom",
    "rand",
    "dirs",
];

/// Asks `cargo metadata` for the dependencies and compares them with the lists.
pub fn run(root: &Path) -> Result<Vec<Finding>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    check(&serde_json::from_slice(&output.stdout).context("cargo metadata wrote no JSON")?)
}

fn check(metadata: &Value) -> Result<Vec<Finding>> {
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let members: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().context("a package without a name")?;
        let place = place_of(package);
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            findings.push(Finding::new(
                &place,
                0,
                format!("{name} has no arrows yet: add it to xtask/src/layering.rs"),
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let tests = dependency["kind"] == "dev" && TESTS.contains(&(name, used));
            if members.contains(&used) && used != name && !allowed.contains(&used) && !tests {
                findings.push(Finding::new(&place, 0, format!("{name} must not know {used}")));
            }
            if is_pure(name) && IMPURE.contains(&used) {
                findings.push(Finding::new(&place, 0, format!("{name} is pure and must not use {used}")));
            }
        }
    }
    Ok(findings)
}

fn is_pure(package: &str) -> bool {
    package.strip_prefix("numaestro-").is_some_and(|name| PURE.contains(&name))
}

/// The manifest's path from the repository on, as far as it can be told.
fn place_of(package: &Value) -> String {
    let manifest = package["manifest_path"].as_str().unwrap_or("Cargo.toml");
    ["/crates/", "/xtask/"]
        .iter()
        .find_map(|part| manifest.find(part).map(|start| manifest[start + 1..].to_owned()))
        .unwrap_or_else(|| "Cargo.toml".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependencies: &[&str]) -> Value {
        let dependencies: Vec<Value> = dependencies.iter().map(|used| json!({ "name": used, "kind": null })).collect();
        json!({ "name": name, "manifest_path": format!("/x/crates/{name}/Cargo.toml"), "dependencies": dependencies })
    }

    fn findings(packages: &[Value]) -> Vec<String> {
        let found = check(&json!({ "packages": packages })).expect("well-formed");
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_arrows_of_the_architecture_pass() {
        let packages = [
            package("numaestro-topology", &["thiserror"]),
            package("numaestro-policy", &["numaestro-topology"]),
            package("numaestro-engine", &["numaestro-policy", "numaestro-topology", "proptest"]),
        ];
        assert_eq!(findings(&packages), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_backwards_is_found() {
        let packages = [package("numaestro-topology", &["numaestro-policy"]), package("numaestro-policy", &[])];
        assert_eq!(findings(&packages), ["numaestro-topology must not know numaestro-policy"]);
    }

    #[test]
    fn an_arrow_of_tests_is_for_tests_only() {
        let manager = |kind: Value| {
            let simulator = json!({ "name": "numaestro-sim", "kind": kind });
            json!({ "name": "numaestro-daemon", "manifest_path": "", "dependencies": [simulator] })
        };
        assert_eq!(findings(&[manager(json!("dev")), package("numaestro-sim", &[])]), Vec::<String>::new());
        let found = findings(&[manager(Value::Null), package("numaestro-sim", &[])]);
        assert_eq!(found, ["numaestro-daemon must not know numaestro-sim"]);
    }

    #[test]
    fn a_skipped_floor_is_found() {
        let packages = [package("numaestro-host", &["numaestro-engine"]), package("numaestro-engine", &[])];
        assert_eq!(findings(&packages), ["numaestro-host must not know numaestro-engine"]);
    }

    #[test]
    fn a_pure_crate_with_system_calls_is_found() {
        assert_eq!(
            findings(&[package("numaestro-engine", &["libc"])]),
            ["numaestro-engine is pure and must not use libc"]
        );
        assert_eq!(findings(&[package("numaestro-host", &["libc"])]), Vec::<String>::new());
    }

    #[test]
    fn an_unknown_crate_is_found() {
        assert!(findings(&[package("numaestro-new", &[])])[0].contains("no arrows"));
    }
}
