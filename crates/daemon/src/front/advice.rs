//! Answers people and programs which processors and nodes a program would get if it came now: asks
//! a copy of the engine, within the rights, the party and the cgroup's limits of the asking
//! process. Nothing is given.

use numaestro_abi::attach::{Query, code};
use numaestro_abi::control::{self, Options};
use numaestro_engine::{Advice, Class, Wish};
use numaestro_host::numa;
use numaestro_topology::Machine;

use super::Front;
use crate::machine::node_list;
use crate::rights::{Refusal, Who};
use crate::shell::Shell;
use crate::wire;
use crate::wishes::Limits;

impl Front {
    /// Advice for people, with the numbers that Linux gives processors and nodes.
    pub(super) fn advise(
        &mut self,
        number: u64,
        who: Who,
        options: &Options,
        shell: &mut Shell,
    ) -> Result<control::Advice, Refusal> {
        let advice = self.advice(number, who, options, shell)?;
        let machine = &shell.site().machine;
        Ok(control::Advice {
            count: advice.count,
            cpus: machine.os_cpuset(&advice.pus).to_string(),
            free: machine.os_cpuset(&advice.free).to_string(),
            shared: advice.shared,
            position: advice.position,
            nodes: node_list(machine, &advice.nodes).to_string(),
            memory_nodes: node_list(machine, &advice.memory_nodes).to_string(),
            memory_free: advice.memory_free,
            why: advice.why,
        })
    }

    /// A program asks on the attach socket.
    pub(super) fn advise_program(&mut self, number: u64, who: Who, question: Query, shell: &mut Shell) {
        let positive = |value: u32| (value > 0).then_some(value);
        let options = Options {
            min: positive(question.min),
            max: positive(question.processors),
            memory: (question.memory > 0).then_some(question.memory),
            ..Options::default()
        };
        let answer = match self.advice(number, who, &options, shell) {
            Ok(advice) => wire::advised(&advice, &shell.site().machine),
            Err(refusal) => wire::advised_against(code::REFUSED, &refusal.reason),
        };
        // A program that does not read has asked in vain.
        self.connections.send(number, &answer, None);
    }

    /// Says what `run` with these options would get, or why it would be refused.
    fn advice(&mut self, number: u64, who: Who, options: &Options, shell: &mut Shell) -> Result<Advice, Refusal> {
        let peer = self.live(number)?;
        self.may_start(who, &peer, options, shell)?;
        let party = self.user_of(peer.uid(), peer.pid(), shell).party;
        let most = shell.site().processors();
        let allowed = shell.allowed_for(&peer);
        let wanted = options.max.unwrap_or(most).clamp(1, most);
        let Limits { min, max, weight_milli } = Limits::of(options);
        let wish = Wish {
            min,
            max,
            weight_milli,
            class: Class::Fold,
            wait: options.wait,
            estimate_ns: options.estimate_ns,
            memory: options.memory.unwrap_or(0),
            party,
            ..Wish::new(allowed.within(wanted))
        };
        let found = shell.advise(&wish, &free_memory(&shell.site().machine));
        let mut found = found.map_err(|reason| Refusal::new(reason, "ask for less, or look at `numaestro status`"))?;
        if allowed.most.is_some_and(|most| most < wanted) {
            found.why = format!("{}; {}", found.why, allowed.why);
        }
        Ok(found)
    }
}

/// Bytes by NUMA node of the machine; empty where the system does not say.
fn free_memory(machine: &Machine) -> Vec<u64> {
    let Ok(found) = numa::node_memory() else { return Vec::new() };
    let free = |os: u32| found.iter().find(|memory| memory.node == os).map_or(0, |memory| memory.free);
    machine.numa_nodes().iter().map(|node| free(node.os_index)).collect()
}
