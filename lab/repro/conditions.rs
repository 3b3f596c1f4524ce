//! The conditions of a lab's runs: its seeds, the values of the model's open constants, and the
//! perturbation.
//!
//! An experiment reads constants by name, so it is the same experiment under all conditions, and
//! one claim can be judged under many of them.

use crate::perturbation::Perturbation;
use serde::Serialize;
use std::collections::BTreeMap;

/// A set of seeds. The sets have no seed in common, as no experiment has [`Seeds::IN_A_SET`] runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Seeds {
    set: u32,
}

impl Seeds {
    /// Seeds of a set.
    pub const IN_A_SET: u64 = 1000;

    /// The set with this number; 0 is the one that findings are judged by.
    pub const fn set(set: u32) -> Self {
        Self { set }
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.set
    }

    /// Its first seed; run number n of an experiment has the n-th seed from here on.
    pub fn first(self) -> u64 {
        1 + u64::from(self.set) * Self::IN_A_SET
    }
}

/// Values of the model's constants by name, in the units that the paper's file of inputs gives.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Constants(BTreeMap<String, f64>);

impl Constants {
    /// The value of this constant, if there is one of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Names and values, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl FromIterator<(String, f64)> for Constants {
    fn from_iter<T: IntoIterator<Item = (String, f64)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The conditions of a lab's runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Conditions {
    /// The seeds of all experiments.
    pub seeds: Seeds,
    /// The values of the model's constants.
    pub constants: Constants,
    /// The mechanism that is taken away.
    pub perturbation: Option<Perturbation>,
}
