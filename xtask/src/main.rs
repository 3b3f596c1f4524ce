//! `cargo xtask …`: the project's own checks and generators.
//!
//! A statement of `docs/ARCHITECTURE.md` that a program can check is checked here, so that it stays
//! true. Nothing in the product depends on this crate. The crate uses one part of the product: the
//! layout of the shared page.

mod abi;
mod code;
mod finding;
mod layering;
mod new_policy;
mod policies;
mod promises;
mod sources;
mod suites;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::finding::Finding;

const USAGE: &str = "\
cargo xtask CHECK

  check            all of the following
  tidy             headers, sizes, names, paths in the docs, forbidden words in the pure crates
  layering         which crate may depend on which
  abi              shared page and messages: Rust, C and docs/ABI.md agree byte by byte
  policies         write docs/policies.md from the headers of the policy files; --check only compares
  promises         write docs/PROMISES.md and docs/results.md from results/promises.toml; --check only compares
  new-policy PART NAME
                   write a policy to begin with; PART is share, placement, turns, pages or admission
  suites OPTIONS   run the OpenMP runtimes' own tests alone and managed; suites --help
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("suites", words)) = first_and_others(&arguments) {
        return repository_root().and_then(|root| suites::run(&root, &words)).unwrap_or_else(|error| {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        });
    }
    match dispatch(&arguments) {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("{} finding(s)", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn first_and_others(arguments: &[String]) -> Option<(&str, Vec<&str>)> {
    let (first, others) = arguments.split_first()?;
    Some((first, others.iter().map(String::as_str).collect()))
}

fn dispatch(arguments: &[String]) -> Result<Vec<Finding>> {
    let root = repository_root()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => tidy::run(&root),
        ["layering"] => layering::run(&root),
        ["abi"] => abi::run(&root),
        ["policies"] => policies::write(&root).map(|()| Vec::new()),
        ["policies", "--check"] => policies::check(&root),
        ["promises"] => promises::write(&root).map(|()| Vec::new()),
        ["promises", "--check"] => promises::check(&root),
        ["new-policy", part, name] => new_policy::write(&root, part, name).map(|()| Vec::new()),
        ["check"] => {
            let mut findings = tidy::run(&root)?;
            findings.extend(layering::run(&root)?);
            findings.extend(abi::run(&root)?);
            findings.extend(policies::check(&root)?);
            findings.extend(promises::check(&root)?);
            Ok(findings)
        }
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(Vec::new())
        }
        _ => bail!("unknown command: {}\n\n{USAGE}", words.join(" ")),
    }
}

/// The directory above this crate. `cargo run`, which the alias uses, sets the variable.
fn repository_root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask`")?;
    let root = Path::new(&manifest).parent().context("xtask has no parent directory")?;
    Ok(root.to_path_buf())
}
