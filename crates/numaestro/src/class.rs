//! The class of a program, as the user says it. Several commands have it among their options.

use clap::ValueEnum;
use numaestro_abi::control::Class;

/// How a program may be steered, as the user says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClassArg {
    /// Found out by itself. OpenMP programs keep their teams whole: the program sees no difference.
    Auto,
    /// The size of OpenMP teams follows the processors: for programs that are right under
    /// `OMP_DYNAMIC=true`.
    Malleable,
    /// The library's own setter of thread counts is called, as for BLAS and oneTBB.
    Setter,
    /// Thread counts are left alone; threads are kept on the processors by affinity.
    Fold,
}

impl ClassArg {
    /// As it stands in the program's environment.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Malleable => "malleable",
            Self::Setter => "setter",
            Self::Fold => "fold",
        }
    }

    /// The class as the manager takes it.
    pub fn class(self) -> Class {
        match self {
            Self::Auto => Class::Auto,
            Self::Malleable => Class::Malleable,
            Self::Setter => Class::Setter,
            Self::Fold => Class::Fold,
        }
    }
}
