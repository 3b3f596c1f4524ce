//! The Hector prototype with the constants of a lab: its machine at each delay, and its kernels for
//! any number of processes.

use super::balance::balance;
use super::constants::OfKernel;
use super::kernels::Kernel;
use super::machine::Machines;
use crate::lab::{Lab, Trouble};
use numaestro_sim::dist::Dist;
use numaestro_sim::machine::Model;
use numaestro_sim::program::{Body, Phase, Program};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Hector and its kernels with the constants of a lab.
#[derive(Debug)]
pub struct Hector {
    machines: Machines,
    /// Programs for four processes.
    programs: BTreeMap<Kernel, Program>,
    pause: Dist,
}

impl Hector {
    /// The machine and kernels of this lab, made once.
    pub fn of(lab: &Lab) -> Result<Arc<Self>, Trouble> {
        lab.derived(Self::new)
    }

    fn new(lab: &Lab) -> Result<Self, Trouble> {
        let machines = Machines::of(lab)?;
        let mut programs = BTreeMap::new();
        for kernel in Kernel::ALL {
            let mut program = kernel.template()?;
            balance(&mut program, &OfKernel::of(lab, kernel)?, machines.at(0)?, machines.at(16)?)?;
            programs.insert(kernel, program);
        }
        let pause = Dist::Uniform(0.0, lab.constant("longest pause")? * 1e6);
        Ok(Self { machines, programs, pause })
    }

    /// The machine with the delay switches at so many cycles.
    pub fn machine(&self, delay: u32) -> Result<&Model, Trouble> {
        self.machines.at(delay)
    }

    /// Nanoseconds between two applications of a stream: "unpredictable but small" (Brecht 1997,
    /// §5.2).
    pub fn pause(&self) -> Dist {
        self.pause.clone()
    }

    /// The program of a kernel with a master and `processes - 1` slaves.
    pub fn program(&self, kernel: Kernel, processes: u32) -> Arc<Program> {
        let mut program = self.programs[&kernel].clone();
        program.processors = processes;
        if let Body::Phases(phases) = &mut program.body {
            for phase in phases {
                if let Phase::Parallel { width, .. } = phase {
                    *width = processes;
                }
            }
        }
        Arc::new(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hector::lab;
    use numaestro_sim::program::{PagePlace, Part, Work};

    #[test]
    fn every_file_is_its_kernel() {
        for kernel in Kernel::ALL {
            let program = Hector::of(&lab()).unwrap().program(kernel, 8);
            assert_eq!(program.name, kernel.name());
            assert_eq!(program.processors, 8);
        }
    }

    fn phases(kernel: Kernel) -> (Arc<Program>, Vec<Phase>) {
        let program = Hector::of(&lab()).unwrap().program(kernel, 4);
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
