//! The class of a program, as the user says it. Several commands have it among their options.

use clap::ValueEnum;
use numaestro_abi::control::Class;

/// How a program may be steered, as the user says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClassArg {
    /// OpenMP teams keep their size and are folded, unless the program allows another one
    /// (`OMP_DYNAMIC=true`). BLAS and oneTBB are told their numbers of threads.
    Auto,
    /// The size of OpenMP teams follows the processors: for programs that are right under
    /// `OMP_DYNAMIC=true`.
    Malleable,
    /// As `auto`. `status` shows it for programs whose threads are those of BLAS and oneTBB.
    Setter,
    /// Teams keep their size, whatever the program allows, and no library is told a number.
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
