//! Jobservers of builds: the wish of `run`, the picture for people, and the build tools that the
//! command and the manager know by name.

use serde::{Deserialize, Serialize};

/// What `run` says about the jobserver of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jobserver {
    /// The process has made the pipe of a jobserver, without tokens, and asks the manager to
    /// supply them.
    Pipe {
        /// The number of the reading descriptor in the process.
        read: u32,
    },
    /// There is none.
    Left {
        /// The reason: one clause.
        why: String,
    },
}

/// The jobserver of one application.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobserverStatus {
    /// Tokens that the manager has given out. A build runs one job more than it has tokens.
    pub tokens: u32,
    /// Tokens of these that no job holds now.
    pub free: u32,
    /// The reason why the manager supplies none: one clause; empty where it does.
    pub left: String,
}

/// A program that starts jobs, and asks a jobserver before it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildTool {
    /// GNU make.
    Make,
    /// Ninja.
    Ninja,
    /// Cargo.
    Cargo,
    /// GCC's compilers: a link with `-flto` starts jobs.
    Gcc,
}

impl BuildTool {
    /// The tool of a program's name without its directory.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "make" | "gmake" => return Some(Self::Make),
            "ninja" | "ninja-build" => return Some(Self::Ninja),
            "cargo" => return Some(Self::Cargo),
            _ => {}
        }
        // `x86_64-linux-gnu-g++-12`: the last words are the compiler and its version.
        let without_version = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
        let compiler = without_version.rsplit('-').next().unwrap_or_default();
        ["gcc", "g++", "gfortran", "cc", "c++"].contains(&compiler).then_some(Self::Gcc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_name() {
        let tools = [
            ("make", Some(BuildTool::Make)),
            ("gmake", Some(BuildTool::Make)),
            ("ninja", Some(BuildTool::Ninja)),
            ("cargo", Some(BuildTool::Cargo)),
            ("gcc", Some(BuildTool::Gcc)),
            ("g++-12", Some(BuildTool::Gcc)),
            ("aarch64-linux-gnu-gfortran-12.2", Some(BuildTool::Gcc)),
            ("cmake", None),
            ("gccgo", None),
            ("12", None),
            ("", None),
        ];
        for (name, tool) in tools {
            assert_eq!(BuildTool::of_name(name), tool, "{name}");
        }
    }
}
