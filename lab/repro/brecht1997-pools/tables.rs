//! Table 2: how well the kernels use a station.

use crate::hector::{Kernel, speedup};
use crate::{Finding, Judge, Lab, Trouble};

/// B97-Tab2.
pub fn speedups(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for kernel in Kernel::ALL {
        let speedup = speedup(lab, kernel)?;
        let printed = kernel.speedup_printed();
        judge.value(format!("S(4) {}", kernel.name()), "", speedup);
        judge.near(format!("S(4) of {} within 5 %", kernel.name()), printed, speedup, 0.05 * printed);
    }
    Ok(judge.verdict(
        "S(4) of the others sets their serial part. MM has none: what it lacks of four is what its children's references cost on the \
         station more than in the parent's module.",
    ))
}
