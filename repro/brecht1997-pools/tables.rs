//! Table 2: how well the kernels use a station.

use crate::brecht1993_placement::LOCALIZED;
use crate::hector::{Alone, Kernel};
use crate::{Finding, Judge, Lab, Trouble, ratio};

/// One process on a processor of station 3.
const ONE: &str = "----/----/----/1---";

/// B97-Tab2.
pub fn speedups(lab: &Lab) -> Result<Finding, Trouble> {
    let mut judge = Judge::new();
    for kernel in Kernel::ALL {
        let one = Alone { processes: 1, ..Alone::new(kernel, ONE, 0) }.seconds(lab)?;
        let four = Alone::new(kernel, LOCALIZED, 0).seconds(lab)?;
        let speedup = ratio(&one, &four);
        let printed = kernel.speedup_printed();
        judge.value(format!("S(4) {}", kernel.name()), "", speedup);
        judge.near(format!("S(4) of {} within 5 %", kernel.name()), printed, speedup, 0.05 * printed);
    }
    Ok(judge.fitted(
        "S(4) sets the serial share of every kernel but MM",
        "S(4) sets the serial share of the others, so that their agreement proves nothing. MM has no serial part to set: what it lacks of four is \
         what its children's references cost on the station more than in the parent's module. As many as > 50 % at d = 16 (figure 1.4) \
         needs, cost more speedup than the paper's 3.4 leaves.",
    ))
}
