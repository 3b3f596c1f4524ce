//! The rows that identify constants of Hector and its kernels.

use super::{Alone, Kernel};
use crate::claim::Row;
use crate::estimate::{Estimate, improvement, ratio};
use crate::lab::{Lab, Trouble};

/// The rows of both papers' files of inputs.
pub const ROWS: [Row; 3] = [
    Row {
        name: "B93-Tab1.3",
        quantity: "largest distance of FFT's, MM's and PDE's improvement from the printed one, points",
        measure: off_table_1_3,
    },
    Row {
        name: "B97-Tab2",
        quantity: "largest relative distance of S(4) from the printed one, all kernels but MM",
        measure: off_speedups,
    },
    Row { name: "HOUGH at d = 16", quantity: "improvement by localization, %", measure: gain_of_hough },
];

/// All processes on station 3 (Brecht 1993, figure 1.2).
pub const LOCALIZED: &str = "----/----/----/1234";
/// On stations 1, 2 and 3.
pub const ON_TWELVE: &str = "----/---3/--42/---1";
/// One process on station 3.
pub const ONE: &str = "----/----/----/1---";

/// Improvement by localization in percent of the non-localized time.
pub fn gain(lab: &Lab, kernel: Kernel, delay: u32) -> Result<Estimate, Trouble> {
    let localized = Alone::new(kernel, LOCALIZED, delay).seconds(lab)?;
    let spread = Alone::new(kernel, ON_TWELVE, delay).seconds(lab)?;
    Ok(improvement(&localized, &spread))
}

/// Speedup of four processes on a station.
pub fn speedup(lab: &Lab, kernel: Kernel) -> Result<Estimate, Trouble> {
    let one = Alone { processes: 1, ..Alone::new(kernel, ONE, 0) }.seconds(lab)?;
    let four = Alone::new(kernel, LOCALIZED, 0).seconds(lab)?;
    Ok(ratio(&one, &four))
}

fn off_table_1_3(lab: &Lab) -> Result<Estimate, Trouble> {
    let mut off = Vec::new();
    for kernel in Kernel::ALL {
        if let Some(printed) = kernel.gain_printed() {
            let gain = gain(lab, kernel, 0)?;
            off.push(Estimate { mean: (gain.mean - printed).abs(), ..gain });
        }
    }
    Ok(largest(off))
}

fn off_speedups(lab: &Lab) -> Result<Estimate, Trouble> {
    let mut off = Vec::new();
    for kernel in Kernel::ALL.into_iter().filter(|&kernel| kernel != Kernel::Mm) {
        let speedup = speedup(lab, kernel)?;
        off.push(Estimate { mean: (speedup.mean / kernel.speedup_printed() - 1.0).abs(), ..speedup });
    }
    Ok(largest(off))
}

fn largest(all: Vec<Estimate>) -> Estimate {
    all.into_iter().max_by(|a, b| a.mean.total_cmp(&b.mean)).expect("some kernel")
}

fn gain_of_hough(lab: &Lab) -> Result<Estimate, Trouble> {
    gain(lab, Kernel::Hough, 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hector::lab;

    #[test]
    fn the_balanced_kernels_take_the_printed_times() {
        let lab = lab();
        for kernel in [Kernel::Fft, Kernel::Mm, Kernel::Pde] {
            let (far, near) = kernel.seconds_printed().unwrap();
            for (placement, printed) in [(LOCALIZED, near), (ON_TWELVE, far)] {
                let found = Estimate::of(&Alone::new(kernel, placement, 0).seconds(&lab).unwrap());
                assert!((found.mean / printed - 1.0).abs() < 0.01, "{} at {placement}: {found}", kernel.name());
            }
            if kernel != Kernel::Mm {
                let found = speedup(&lab, kernel).unwrap();
                assert!((found.mean / kernel.speedup_printed() - 1.0).abs() < 0.02, "{}: {found}", kernel.name());
            }
        }
    }
}
