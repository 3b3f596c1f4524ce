//! The six kernels (Brecht 1993, table 1.2; 1997, table 2): what the papers print of each, and its
//! structure as a program.

use crate::lab::Trouble;
use numaestro_sim::program::{Program, read};
use numaestro_sim::read::Text;

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

    /// Improvement by localization without delay, percent (1993, table 1.3).
    pub fn gain_printed(self) -> Option<f64> {
        self.seconds_printed().map(|(far, near)| (1000.0 * (1.0 - near / far)).round() / 10.0)
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

    /// The program as its file describes it, without work and numbers of references.
    pub fn template(self) -> Result<Program, Trouble> {
        let wrong = |reason: String| Trouble::new(self.name(), reason);
        let mut programs = read(self.text()).map_err(|mistake| wrong(mistake.to_string()))?;
        programs.pop().ok_or_else(|| wrong("its file has no program".to_owned()))
    }
}
