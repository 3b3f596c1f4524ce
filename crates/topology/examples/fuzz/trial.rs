//! One input: made from its number, read, and judged.

use super::invariants;
use super::mutation::{self, Dice};
use super::seeds::Seeds;
use numaestro_topology::{CpuSet, Machine, MemTree, TopologyError, list, synthetic, sysfs, xml};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Memory that reading may take at once: this much, and so many times the size of what is read.
const BYTES: u64 = 64 << 20;
const BYTES_FOR_EACH: u64 = 300;

/// Something to read.
#[derive(Debug, Clone)]
pub enum Input {
    /// A tree of sysfs.
    Tree(MemTree),
    /// hwloc's XML.
    Document(String),
    /// A synthetic description.
    Description(String),
    /// A list or mask of processors.
    List(String),
    /// A recorded tree, as text.
    Record(String),
}

/// How reading went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A machine (or set) that is in order.
    Read,
    /// Refused, with a reason.
    Refused,
}

impl Input {
    /// Input `number` of `seed`.
    pub fn make(seeds: &Seeds, seed: u64, number: u64) -> Self {
        let dice = &mut Dice::new(seed, number);
        match dice.below(8) {
            0..=3 => {
                let good = dice.of(&seeds.trees);
                Self::Tree(mutation::tree(dice, good))
            }
            4 => Self::Document(spoiled(dice, &seeds.documents)),
            5 => Self::Description(spoiled(dice, &seeds.descriptions)),
            6 => Self::List(spoiled(dice, &seeds.lists)),
            _ => {
                let good = dice.of(&seeds.trees).to_text();
                Self::Record(mutation::text(dice, &good))
            }
        }
    }

    /// The input as text, to look at.
    pub fn text(&self) -> String {
        match self {
            Self::Tree(tree) => tree.to_text(),
            Self::Document(text) | Self::Description(text) | Self::List(text) | Self::Record(text) => text.clone(),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.iter().map(|(path, content)| (path.len() + content.len()) as u64).sum(),
            Self::Document(text) | Self::Description(text) | Self::List(text) | Self::Record(text) => text.len() as u64,
        }
    }

    /// Reads it. A panic, too much memory, or a machine that is not in order is an error.
    pub fn judge(&self) -> Result<Outcome, String> {
        let mut result = Err(String::new());
        let taken = allocation_counter::measure(|| {
            result = catch_unwind(AssertUnwindSafe(|| self.read())).unwrap_or_else(|panic| Err(said(&*panic)));
        });
        let limit = BYTES + BYTES_FOR_EACH * self.bytes();
        if taken.bytes_max > limit {
            return Err(format!("{} bytes at once, for an input of {}", taken.bytes_max, self.bytes()));
        }
        result
    }

    fn read(&self) -> Result<Outcome, String> {
        match self {
            Self::Tree(tree) => machine(sysfs::read(tree, None)).and_then(|outcome| restricted(tree).map(|()| outcome)),
            Self::Document(text) => machine(xml::parse(text)),
            Self::Description(text) => machine(synthetic::parse(text)),
            Self::List(text) => sets(text),
            Self::Record(text) => record(text),
        }
    }
}

fn spoiled(dice: &mut Dice, good: &[String]) -> String {
    let good: &String = dice.of(good);
    mutation::text(dice, good)
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("of another type"))
}

fn machine(read: Result<Machine, TopologyError>) -> Result<Outcome, String> {
    match read {
        Ok(machine) => invariants::check(&machine).map(|()| Outcome::Read),
        Err(error) if error.to_string().len() > 2000 => Err(format!("a message of {} bytes", error.to_string().len())),
        Err(_) => Ok(Outcome::Refused),
    }
}

/// With a cpuset of the reader's own, nothing else is allowed.
fn restricted(tree: &MemTree) -> Result<(), String> {
    let own: CpuSet = [0, 2, 3].into_iter().collect();
    match sysfs::read(tree, Some(&own)) {
        Ok(machine) if !machine.os_cpuset(machine.allowed()).is_subset(&own) => Err("allowed beyond its cpuset".into()),
        Ok(machine) => invariants::check(&machine),
        Err(_) => Ok(()),
    }
}

/// What is printed of a set is read back as the same set.
fn sets(text: &str) -> Result<Outcome, String> {
    let mut outcome = Outcome::Refused;
    let sets = [text.parse::<CpuSet>().ok(), CpuSet::from_mask(text).ok()];
    for set in sets.into_iter().flatten() {
        outcome = Outcome::Read;
        if set.iter().max() > Some(list::LARGEST) {
            return Err(format!("{:?} is beyond the limit", set.iter().max()));
        }
        if set.to_string().parse().as_ref() != Ok(&set) {
            return Err(format!("{set} is read back as something else"));
        }
    }
    Ok(outcome)
}

fn record(text: &str) -> Result<Outcome, String> {
    let Ok(tree) = MemTree::from_text(text) else { return Ok(Outcome::Refused) };
    machine(sysfs::read(&tree, None))
}
