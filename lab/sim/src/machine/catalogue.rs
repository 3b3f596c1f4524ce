//! The machines that come with the simulator, by name.

use super::file;
use super::model::Model;
use crate::read::{NoFiles, Text};

macro_rules! machines {
    ($($name:literal),+ $(,)?) => {
        /// Name and file of each machine.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../machines/", $name, ".toml")))),+];
        /// Names of the machines, in the order of the papers.
        const NAMES: &[&str] = &[$($name),+];
    };
}

machines!(
    "hector",
    "hector-worst",
    "dash",
    "ksr1",
    "k64",
    "origin2000-64",
    "xeon-4",
    "epyc-256",
    "quad-1024",
    "numa-256",
    "numa-1024"
);

/// The names that [`named`] knows.
pub const fn names() -> &'static [&'static str] {
    NAMES
}

/// The machine of this name, its delay switches (where it has them) at `delay` cycles; `None` if
/// there is no such machine.
pub fn named(name: &str, delay: u32) -> Option<Model> {
    let &(_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    let file = format!("{name}.toml");
    let model = file::read_with_delay(Text::new(&file, text), &NoFiles, Some(delay));
    Some(model.unwrap_or_else(|mistake| panic!("an embedded machine has a mistake: {mistake}")))
}
