//! The rows of the paper that identify constants of the model.

use super::gangs::{self, BT, FT, SP};
use super::searches::of_table_4;
use crate::claim::Row;

/// Rows of tables 2 and 4.
pub const ROWS: [Row; 8] = [
    Row {
        name: "SP under SSW-DSS",
        quantity: "mean time, s",
        measure: |lab| Ok(gangs::under_ssw(lab, SP)?.estimate()),
    },
    Row {
        name: "FT under SSW-DSS",
        quantity: "mean time, s",
        measure: |lab| Ok(gangs::under_ssw(lab, FT)?.estimate()),
    },
    Row {
        name: "BT under VTQ-DSS/SSW-DSS",
        quantity: "ratio of mean times",
        measure: |lab| Ok(gangs::vtq_over_ssw(lab, BT)?.estimate),
    },
    Row { name: "tomcatv under PDPA", quantity: "mean time, s", measure: |lab| of_table_4(lab, true, "tomcatv") },
    Row { name: "turb3d under PDPA", quantity: "mean time, s", measure: |lab| of_table_4(lab, true, "turb3d") },
    Row {
        name: "tomcatv with the library",
        quantity: "mean time, s",
        measure: |lab| of_table_4(lab, false, "tomcatv"),
    },
    Row { name: "turb3d with the library", quantity: "mean time, s", measure: |lab| of_table_4(lab, false, "turb3d") },
    Row { name: "N-Tab4", quantity: "time of table 4 in all, library/PDPA", measure: super::searches::gain_of_table_4 },
];
