//! The mixes: programs that run side by side, the amount of work of each, and the set-ups under
//! which it makes sense to measure them.
//!
//! It holds names and amounts of work only; `launch.rs` starts the programs.

use super::setup::Setup;

/// The runtime that a program is built with, and so the way to tell it its number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runtime {
    /// A C program built by gcc: libgomp.
    Gcc,
    /// A C program built by clang: libomp.
    Clang,
    /// A Python program: the pools of `NumPy` and scikit-learn.
    Python,
    /// A Python program that works with one library: `lab/bench/programs/library.py`.
    Library,
    /// A Rust program: rayon's pool or threads with a barrier.
    Rust,
}

impl Runtime {
    /// As it appears in the names of mixes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
            Self::Python => "python",
            Self::Library => "library",
            Self::Rust => "rust",
        }
    }
}

/// One program, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    /// Kernel, script, library or example.
    pub name: String,
    /// The runtime that it is built with.
    pub runtime: Runtime,
}

/// One program in a mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The program.
    pub program: Program,
    /// Its work, relative to the work that keeps its share of the machine busy for the length of an
    /// ideal run.
    pub work: f64,
    /// Seconds after the common start, in lengths of an ideal run.
    pub start: f64,
    /// Threads it is told to use, in multiples of the processors; `None` = it is told nothing.
    pub threads_per_processor: Option<usize>,
}

/// A number of programs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// `kind/runtime/programs`.
    pub name: String,
    /// The programs, in the order of their start.
    pub members: Vec<Member>,
    /// A sequential program that nobody manages runs beside it.
    pub hog: bool,
    /// The set-ups under which it is measured.
    pub setups: Vec<Setup>,
}

impl Mix {
    /// Number of programs that take part in the division of the machine, the hog included.
    pub fn parts(&self) -> usize {
        self.members.len() + usize::from(self.hog)
    }

    /// The set-up all others are compared with: the ideal one, or the static split where no
    /// constant split is ideal.
    pub fn reference(&self) -> Setup {
        if self.setups.contains(&Setup::Ideal) { Setup::Ideal } else { Setup::Static }
    }

    /// The set-up whose commands are the very same as this one's for this mix, so that one set of
    /// runs serves both.
    ///
    /// The ideal division of equal programs *is* a static split; a program alone is split from
    /// nobody.
    pub fn same_as(&self, setup: Setup) -> Setup {
        match setup {
            Setup::Static if self.setups.contains(&Setup::Ideal) => Setup::Ideal,
            Setup::Plain if self.parts() == 1 => Setup::Ideal,
            other => other,
        }
    }
}

/// The kernels that are measured in equal pairs and quadruples.
const KERNELS: [&str; 10] = ["sor", "cg", "ft", "ep", "mm", "sorp", "hough", "neural", "fft", "simplex"];
/// Pairs of unlike programs.
const UNEQUAL: [[&str; 2]; 3] = [["cg", "ft"], ["sor", "ep"], ["mm", "sor"]];
/// Kernels whose waiting suffers most: for the mixes with more threads than processors and beside a
/// hog.
const FINE: [&str; 2] = ["sor", "cg"];

/// The workloads of `lab/bench/programs/library.py`, each with its library, and Numba with its
/// three layers.
pub const LIBRARIES: [&str; 9] =
    ["torch", "torch-small", "xgboost", "lightgbm", "numba-omp", "numba-tbb", "numba-workqueue", "polars", "duckdb"];

/// Every mix there is.
pub fn all() -> Vec<Mix> {
    let mut mixes = Vec::new();
    for runtime in [Runtime::Gcc, Runtime::Clang] {
        openmp(&mut mixes, runtime);
    }
    for (runtime, kind, name, copies) in [
        (Runtime::Python, "pair", "matmul", 2),
        (Runtime::Python, "quad", "matmul", 4),
        (Runtime::Python, "pair", "learn", 2),
        (Runtime::Rust, "pair", "rayon", 2),
        (Runtime::Rust, "pair", "barrier", 2),
    ] {
        mixes.push(equal(kind, runtime, name, copies));
    }
    mixes.push(turns(Runtime::Rust));
    mixes.extend(LIBRARIES.map(|library| equal("pair", Runtime::Library, library, 2)));
    mixes.extend(LIBRARIES.map(|library| equal("quad", Runtime::Library, library, 4)));
    for (runtime, name) in
        [(Runtime::Python, "matmul"), (Runtime::Python, "learn"), (Runtime::Rust, "rayon"), (Runtime::Rust, "barrier")]
    {
        mixes.push(alone(runtime, name));
    }
    mixes
}

fn openmp(mixes: &mut Vec<Mix>, runtime: Runtime) {
    mixes.extend(KERNELS.map(|kernel| equal("pair", runtime, kernel, 2)));
    mixes.extend(KERNELS.map(|kernel| equal("quad", runtime, kernel, 4)));
    for [one, other] in UNEQUAL {
        mixes.push(mix(
            "unequal",
            runtime,
            vec![member(runtime, one, 1.0), member(runtime, other, 1.0)],
            &Setup::SIDE_BY_SIDE,
        ));
    }
    for kernel in FINE {
        let mut many = equal("threads", runtime, kernel, 2);
        many.members.iter_mut().for_each(|member| member.threads_per_processor = Some(2));
        mixes.push(many);
        let mut hog = equal("hog", runtime, kernel, 1);
        hog.hog = true;
        mixes.push(hog);
    }
    mixes.push(mix("early", runtime, vec![member(runtime, "sor", 1.5), member(runtime, "ep", 0.45)], &Setup::CHANGING));
    mixes.push(mix(
        "evolving",
        runtime,
        vec![member(runtime, "ltomcatv", 1.0), member(runtime, "sor", 1.0)],
        &Setup::CHANGING,
    ));
    mixes.push(turns(runtime));
    mixes.extend(KERNELS.map(|kernel| alone(runtime, kernel)));
}

/// Two programs of which one waits while the other is parallel, and the other way round.
fn turns(runtime: Runtime) -> Mix {
    mix("turns", runtime, vec![member(runtime, "phases", 1.0), member(runtime, "phases-late", 1.0)], &Setup::CHANGING)
}

fn equal(kind: &str, runtime: Runtime, name: &str, copies: usize) -> Mix {
    let setups: &[Setup] = if copies > 2 { &Setup::CROWDED } else { &Setup::SIDE_BY_SIDE };
    let mut mix = mix(kind, runtime, vec![member(runtime, name, 1.0); copies], setups);
    mix.name = format!("{kind}/{}/{name}", runtime.name());
    mix
}

fn alone(runtime: Runtime, name: &str) -> Mix {
    mix("alone", runtime, vec![member(runtime, name, 1.0)], &Setup::ALONE)
}

fn mix(kind: &str, runtime: Runtime, members: Vec<Member>, setups: &[Setup]) -> Mix {
    let names: Vec<&str> = members.iter().map(|member| member.program.name.as_str()).collect();
    Mix { name: format!("{kind}/{}/{}", runtime.name(), names.join("+")), members, hog: false, setups: setups.to_vec() }
}

fn member(runtime: Runtime, name: &str, work: f64) -> Member {
    Member { program: Program { name: name.to_owned(), runtime }, work, start: 0.0, threads_per_processor: None }
}

/// Does `name` match `pattern`, in which `*` stands for any text?
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len()).filter(|&i| tail.is_char_boundary(i)).any(|i| matches(rest, &tail[i..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_mix_has_a_reference_and_numaestro() {
        let mixes = all();
        let names: BTreeSet<&str> = mixes.iter().map(|mix| mix.name.as_str()).collect();
        assert_eq!(names.len(), mixes.len());
        for mix in &mixes {
            assert!(mix.setups.contains(&mix.reference()), "{}", mix.name);
            assert!(mix.setups.contains(&Setup::Numaestro), "{}", mix.name);
            assert!(mix.setups.contains(&Setup::Plain), "{}", mix.name);
        }
    }

    #[test]
    fn every_kind_of_the_matrix_is_there_for_both_runtimes() {
        let mixes = all();
        for runtime in ["gcc", "clang"] {
            for kind in ["pair", "quad", "unequal", "threads", "early", "evolving", "turns", "hog", "alone"] {
                assert!(mixes.iter().any(|mix| matches(&format!("{kind}/{runtime}/*"), &mix.name)), "{kind}/{runtime}");
            }
        }
        for name in
            ["pair/python/matmul", "quad/python/matmul", "pair/python/learn", "quad/library/duckdb", "pair/rust/rayon"]
        {
            assert!(mixes.iter().any(|mix| mix.name == name), "{name}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("pair/gcc/sor", "pair/gcc/sor", true),
            ("pair/gcc/sor", "pair/gcc/sorp", false),
            ("pair/*/sor", "pair/clang/sor", true),
            ("*sor", "pair/gcc/sor", true),
            ("*sor", "pair/gcc/sorp", false),
            ("*", "", true),
            ("a*b*c", "abbbc", true),
            ("a*b*c", "acb", false),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
