//! The guests that `numaestro-guest test` boots, and the files that go into them.
//!
//! A boot costs much more than a scenario, so there are three, as different as they can be, and two
//! more for the mixes of `validate`, which take long.

use crate::inside;
use crate::packing::Job;
use anyhow::{Result, ensure};
use std::fmt::Write;
use std::path::Path;

/// A guest with scenarios.
#[derive(Debug)]
pub struct Boot {
    /// Short name; scenarios say it.
    pub name: &'static str,
    /// The guest in words.
    pub what: &'static str,
    /// See [`crate::shape::Shape::parse`].
    pub nodes: &'static str,
    /// See [`crate::shape::Shape::parse`].
    pub distances: &'static str,
    /// Hardware threads of a core.
    pub threads_per_core: u32,
    /// Arguments of the kernel.
    pub append: &'static [&'static str],
    /// Seconds after which it is given up, unless the command line says otherwise.
    pub seconds: u64,
}

impl Boot {
    /// Whether it runs only for somebody who names it, or scenarios of it.
    pub fn takes_long(&self) -> bool {
        self.seconds > SECONDS
    }
}

/// Seconds for a boot with scenarios of seconds.
pub const SECONDS: u64 = 480;
/// Seconds for a boot with all mixes under all policies.
const SECONDS_OF_MIXES: u64 = 5400;

const FOUR: Boot = Boot {
    name: "four",
    what: "four nodes of two processors, two of them near each other, the others farther",
    nodes: "4x2:320",
    distances: "10,12,20,28;12,10,20,28;20,20,10,16;28,28,16,10",
    threads_per_core: 1,
    append: &[],
    seconds: SECONDS,
};

const TWO: Boot = Boot {
    name: "two",
    what: "two nodes of four processors",
    nodes: "2x4:512",
    distances: "10,21;21,10",
    threads_per_core: 1,
    append: &[],
    seconds: SECONDS,
};

/// All guests.
pub const BOOTS: [Boot; 5] = [
    FOUR,
    TWO,
    Boot {
        name: "odd",
        what: "uneven nodes with interleaved processor numbers, one without memory, one with only memory, one-way distances",
        nodes: "@0+2+5:320,@1+4:192,@3:0,0:192",
        distances: "10,15,17,25;18,10,14,25;17,14,10,22;30,25,22,10",
        threads_per_core: 1,
        append: &[],
        seconds: SECONDS,
    },
    Boot { name: "four-mixes", seconds: SECONDS_OF_MIXES, ..FOUR },
    Boot { name: "two-mixes", seconds: SECONDS_OF_MIXES, ..TWO },
];

/// Load programs of `kernels/` that go along, with their OpenMP library.
const KERNELS: [&str; 4] = ["cg", "sor", "mem", "ep"];

/// The job of a guest with its scenarios: the command, the programs of this crate from `programs`,
/// load from `kernels`.
///
/// # Errors
/// One of them has not been built.
pub fn job(boot: &Boot, only: Option<&str>, command: &Path, programs: &Path, kernels: &Path) -> Result<Job> {
    let mut job = Job::default();
    job.programs.extend([command.to_owned(), command.with_file_name("numaestro-lab")]);
    for name in ["guest-inside", "guest-load"] {
        job.programs.push(programs.join(name));
    }
    job.programs.extend(KERNELS.iter().map(|name| kernels.join(name)));
    for program in &job.programs {
        ensure!(program.exists(), "{} has not been built; `make test-numa` builds everything", program.display());
    }
    job.command = ["guest-inside", "scenarios", boot.name, only.unwrap_or_default()].map(str::to_owned).to_vec();
    Ok(job)
}

/// Guests and their scenarios, one a line.
pub fn listing() -> String {
    let mut out = String::new();
    for boot in &BOOTS {
        let _ = writeln!(out, "{}: {}", boot.name, boot.what);
        for scenario in inside::chosen(boot.name, "") {
            let _ = writeln!(out, "  {}", scenario.name);
        }
    }
    out
}
