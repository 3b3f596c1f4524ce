//! The six kernels (Brecht 1993, table 1.2; 1997, table 2) as programs, for any number of
//! processes.

use crate::lab::Trouble;
use numaestro_sim::program::{Body, Phase, Program, read};
use numaestro_sim::read::Text;
use std::sync::Arc;

/// A kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    Fft,
    Hough,
    Mm,
    Neural,
    Pde,
    Simplex,
}

impl Kernel {
    /// In the order of the papers' tables.
    pub const ALL: [Self; 6] = [Self::Fft, Self::Hough, Self::Mm, Self::Neural, Self::Pde, Self::Simplex];
    /// The kernels of the usual workload (Brecht 1997, §5.2).
    pub const FIVE: [Self; 5] = [Self::Fft, Self::Hough, Self::Mm, Self::Neural, Self::Pde];
    /// The kernels that can use six processors (§5.4).
    pub const SIX_WIDE: [Self; 3] = [Self::Hough, Self::Mm, Self::Simplex];

    /// The name as the papers write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fft => "FFT",
            Self::Hough => "HOUGH",
            Self::Mm => "MM",
            Self::Neural => "NEURAL",
            Self::Pde => "PDE",
            Self::Simplex => "SIMPLEX",
        }
    }

    /// Speedup on the four processors of a station (1993, table 1.2; 1997, table 2).
    pub const fn speedup_printed(self) -> f64 {
        match self {
            Self::Fft => 2.9,
            Self::Hough | Self::Mm => 3.4,
            Self::Neural => 3.8,
            Self::Pde => 3.7,
            Self::Simplex => 2.4,
        }
    }

    /// Seconds non-localized and localized without delay (1993, table 1.3); the rows of the other
    /// three are lost.
    pub const fn seconds_printed(self) -> Option<(f64, f64)> {
        match self {
            Self::Fft => Some((4.84, 4.71)),
            Self::Mm => Some((5.25, 4.93)),
            Self::Pde => Some((5.45, 5.36)),
            _ => None,
        }
    }

    const fn text(self) -> Text<'static> {
        match self {
            Self::Fft => Text::new("fft.toml", include_str!("fft.toml")),
            Self::Hough => Text::new("hough.toml", include_str!("hough.toml")),
            Self::Mm => Text::new("mm.toml", include_str!("mm.toml")),
            Self::Neural => Text::new("neural.toml", include_str!("neural.toml")),
            Self::Pde => Text::new("pde.toml", include_str!("pde.toml")),
            Self::Simplex => Text::new("simplex.toml", include_str!("simplex.toml")),
        }
    }

    /// The program with a master and `processes - 1` slaves.
    pub fn program(self, processes: u32) -> Result<Arc<Program>, Trouble> {
        let wrong = |reason: String| Trouble::new(self.name(), reason);
        let mut programs = read(self.text()).map_err(|mistake| wrong(mistake.to_string()))?;
        let mut program = programs.pop().ok_or_else(|| wrong("its file has no program".to_owned()))?;
        program.processors = processes;
        if let Body::Phases(phases) = &mut program.body {
            for phase in phases {
                if let Phase::Parallel { width, .. } = phase {
                    *width = processes;
                }
            }
        }
        Ok(Arc::new(program))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_sim::program::{PagePlace, Part, Work};

    #[test]
    fn every_file_is_its_kernel() {
        for kernel in Kernel::ALL {
            let program = kernel.program(8).unwrap();
            assert_eq!(program.name, kernel.name());
            assert_eq!(program.processors, 8);
        }
    }

    fn phases(kernel: Kernel) -> (Arc<Program>, Vec<Phase>) {
        let program = kernel.program(4).unwrap();
        let Body::Phases(phases) = &program.body else { panic!("{} has no phases", kernel.name()) };
        let phases = phases.clone();
        (program, phases)
    }

    #[test]
    fn processes_do_the_same_work_on_subsets_of_their_own() {
        // Brecht 1993, §7.4: nothing is handed out.
        for kernel in Kernel::ALL {
            let divided = |phase: &Phase| match phase {
                Phase::Parallel { work: Work::Divided(..), .. } => true,
                Phase::Serial { .. } => false,
                other => panic!("{}: {other:?}", kernel.name()),
            };
            assert_eq!(phases(kernel).1.iter().filter(|phase| divided(phase)).count(), 1, "{}", kernel.name());
        }
    }

    #[test]
    fn every_kernel_refers_to_data_of_its_parent() {
        // Brecht 1993, §7.4: "a few variables" at least.
        for kernel in Kernel::ALL {
            let (program, phases) = phases(kernel);
            let to_parent = phases.iter().any(|phase| match phase {
                Phase::Parallel { refs, .. } => refs.iter().any(|refs| {
                    refs.part == Part::Master && program.data[refs.data].place == PagePlace::Master && refs.per_us > 0.0
                }),
                _ => false,
            });
            assert!(to_parent, "{}", kernel.name());
        }
    }
}
