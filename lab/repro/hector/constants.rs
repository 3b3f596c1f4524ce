//! The constants of Hector and its kernels, by the names that the inputs of both papers give them.

use super::Kernel;
use crate::lab::{Lab, Trouble};

/// Every constant that the experiments ask for.
pub const NAMES: [&str; 30] = [
    "FFT time",
    "MM time",
    "PDE time",
    "HOUGH time",
    "NEURAL time",
    "SIMPLEX time",
    "FFT speedup",
    "HOUGH speedup",
    "NEURAL speedup",
    "PDE speedup",
    "SIMPLEX speedup",
    "FFT cost of spreading",
    "MM cost of spreading",
    "PDE cost of spreading",
    "HOUGH gain",
    "MM lines",
    "SIMPLEX references",
    "FFT tables",
    "HOUGH tables",
    "NEURAL system calls",
    "SIMPLEX system calls",
    "parent's variables",
    "meetings",
    "variation",
    "creation",
    "longest pause",
    "module cycles",
    "bus cycles",
    "ring cycles",
    "snapshots",
];

/// What the papers say of a kernel's references to shared data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shared {
    /// Each of four processes makes so many.
    Count(f64),
    /// Spreading four processes over three stations costs so many seconds without delay.
    Cost(f64),
    /// At a delay of 16 cycles localization gains this share of the time.
    Gain(f64),
}

/// The constants of one kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfKernel {
    /// Seconds with four processes on one station, without delay.
    pub time: f64,
    /// Speedup with these; none where the kernel has no serial part.
    pub speedup: Option<f64>,
    /// References to shared data.
    pub shared: Shared,
    /// References to tables, for each one to shared data.
    pub tables: f64,
    /// Share of the time in system calls.
    pub system: f64,
    /// References to variables of the parent, for each other one.
    pub variables: f64,
    /// Times that the processes meet.
    pub meetings: u32,
    /// Coefficient of variation of a process's work between two meetings.
    pub variation: f64,
    /// Seconds that the parent needs to create a process.
    pub creation: f64,
}

/// Rows of a factor of MM.
const ROWS: f64 = 192.0;
/// Processes with which the papers measure.
pub const PROCESSES: f64 = 4.0;

impl OfKernel {
    /// The constants of a kernel, from the file of inputs.
    #[allow(clippy::cast_sign_loss)] // The range of the meetings is above 0.
    pub fn of(lab: &Lab, kernel: Kernel) -> Result<Self, Trouble> {
        let own = |what: &str| lab.constant(&format!("{} {what}", kernel.name()));
        let shared = match kernel {
            Kernel::Mm => Shared::Count(lines_of_mm(lab)?),
            Kernel::Fft | Kernel::Pde => Shared::Cost(own("cost of spreading")?),
            Kernel::Hough => Shared::Gain(own("gain")? / 100.0),
            Kernel::Simplex => Shared::Count(own("references")? * own("time")? * 1e6),
            Kernel::Neural => Shared::Count(0.0),
        };
        let has_tables = matches!(kernel, Kernel::Fft | Kernel::Hough);
        let calls_system = matches!(kernel, Kernel::Neural | Kernel::Simplex);
        let variation = lab.constant("variation")? / 100.0;
        let meets = kernel != Kernel::Mm;
        // A process of MM does a quarter of the rows before it meets, so its work varies less than
        // that of a row.
        let of_rows = (ROWS / PROCESSES).sqrt();
        Ok(Self {
            time: own("time")?,
            speedup: if meets { Some(own("speedup")?) } else { None },
            shared,
            tables: if has_tables { own("tables")? } else { 0.0 },
            system: if calls_system { own("system calls")? } else { 0.0 },
            variables: libm::pow(10.0, lab.constant("parent's variables")?),
            meetings: if meets { lab.constant("meetings")?.round() as u32 } else { 1 },
            variation: if meets { variation } else { variation / of_rows },
            creation: lab.constant("creation")? / 1000.0,
        })
    }
}

/// Lines that each of four processes of MM loads.
pub fn lines_of_mm(lab: &Lab) -> Result<f64, Trouble> {
    Ok(lab.constant("MM lines")? * ROWS * ROWS * ROWS / PROCESSES)
}

#[cfg(test)]
mod tests {
    use crate::inputs::{Constant, Inputs};
    use crate::{Paper, brecht1993_placement, brecht1997_pools};

    #[test]
    fn both_papers_declare_the_same_constants_and_rows() {
        let read = |Paper { basis, claims, .. }: Paper| -> (Vec<Constant>, Vec<String>) {
            let inputs = Inputs::read(basis.file, basis.constants, basis.rows, claims);
            let inputs = inputs.unwrap_or_else(|mistake| panic!("{mistake}"));
            let rows = inputs.rows().iter().map(|row| format!("{} {:?}", row.row.name, row.agreement));
            (inputs.constants().to_vec(), rows.collect())
        };
        assert_eq!(read(brecht1993_placement::PAPER), read(brecht1997_pools::PAPER));
    }
}
