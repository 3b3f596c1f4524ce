//! Describes the machine of a measurement: the figures without which its numbers say nothing.

use std::fs;
use std::process::Command;

use serde::Serialize;

/// The machine and its compilers.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Processors this command may use.
    pub processors: usize,
    /// Model name of the first processor.
    pub cpu: String,
    /// Release of the kernel.
    pub kernel: String,
    /// First line of `gcc --version`, empty without gcc.
    pub gcc: String,
    /// First line of `clang --version`, empty without clang.
    pub clang: String,
    /// Average number of runnable tasks in 1, 5 and 15 minutes: `OMP_DYNAMIC` of libgomp goes by
    /// the last one.
    pub load: String,
    /// Version of numaestro.
    pub numaestro: &'static str,
}

/// Looks at the machine; a figure that cannot be found out is empty.
pub fn describe(processors: usize) -> Description {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let model = file("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()));
    Description {
        processors,
        cpu: model.unwrap_or_default(),
        kernel: file("/proc/sys/kernel/osrelease").trim().to_owned(),
        gcc: version("gcc"),
        clang: version("clang"),
        load: file("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
        numaestro: env!("CARGO_PKG_VERSION"),
    }
}

fn version(compiler: &str) -> String {
    let output = Command::new(compiler).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
