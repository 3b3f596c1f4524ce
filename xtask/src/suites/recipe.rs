//! A program of a suite: how it is built and run.

use std::fmt;
use std::path::PathBuf;

/// What it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Fortran.
    Fortran,
}

/// Who builds it; with gcc it has libgomp, with clang libomp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compiler {
    /// gcc, g++ or gfortran.
    Gcc,
    /// clang or clang++.
    Clang,
}

impl Compiler {
    /// The command for a language, if there is one.
    pub fn command(self, language: Language) -> Option<&'static str> {
        match (self, language) {
            (Self::Gcc, Language::C) => Some("gcc"),
            (Self::Gcc, Language::Cxx) => Some("g++"),
            (Self::Gcc, Language::Fortran) => Some("gfortran"),
            (Self::Clang, Language::C) => Some("clang"),
            (Self::Clang, Language::Cxx) => Some("clang++"),
            (Self::Clang, Language::Fortran) => None,
        }
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        })
    }
}

/// One way to run it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// What the program wants to be set.
    pub environment: Vec<(String, String)>,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// What a program's own text says about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Further sources, relative to its own.
    pub sources: Vec<String>,
    /// Options for the compiler.
    pub options: Vec<String>,
    /// Each way to run it, one at least.
    pub runs: Vec<Run>,
}

/// A program.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Suite and file, such as `libgomp/libgomp.c/atomic-1.c`.
    pub name: String,
    /// What it is compiled as.
    pub language: Language,
    /// Its file.
    pub source: PathBuf,
    /// Where else headers are.
    pub include: Vec<PathBuf>,
    /// What it says itself.
    pub said: Said,
}

/// A program, its compiler, one of its runs, and the threads that it is given.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// The program.
    pub recipe: &'a Recipe,
    /// Who builds it.
    pub compiler: Compiler,
    /// Which of its runs.
    pub run: usize,
    /// `OMP_NUM_THREADS`, unless the run says it.
    pub threads: Option<u32>,
}

impl Case<'_> {
    /// The program's name, with the number of the run where there are several.
    pub fn program(&self) -> String {
        if self.recipe.said.runs.len() > 1 {
            format!("{}#{}", self.recipe.name, self.run + 1)
        } else {
            self.recipe.name.clone()
        }
    }

    /// The threads in words.
    pub fn threads(&self) -> String {
        self.threads.map_or_else(|| "unset".to_owned(), |threads| threads.to_string())
    }

    /// The whole environment that it is given.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut all = self.recipe.said.runs[self.run].environment.clone();
        if let Some(threads) = self.threads
            && !all.iter().any(|(name, _)| name == "OMP_NUM_THREADS")
        {
            all.push(("OMP_NUM_THREADS".to_owned(), threads.to_string()));
        }
        all
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.program(), self.compiler, self.threads())
    }
}
