//! Answers people and programs which processors and nodes a program would get if it came now: asks
//! a copy of the engine, within the rights, the party and the cgroup's limits of the asking
//! process. Nothing is given.

use std::sync::Arc;

use numaestro_abi::attach::{Query, code};
use numaestro_abi::control::{self, Options, Reply};
use numaestro_engine::{Advice, Class, Wish};
use numaestro_host::numa;
use numaestro_topology::Machine;

use super::Front;
use crate::decision::wishes::Limits;
use crate::decision::witness::Witness;
use crate::identity::rights::{Refusal, Who};
use crate::people::connection::line_of;
use crate::people::wire;
use crate::senses::machine::node_list;
use crate::shell::Shell;

impl Front {
    /// Advice for people, with the numbers that Linux gives processors and nodes.
    pub(super) fn advise(
        &mut self,
        number: u64,
        who: Who,
        options: &Options,
        shell: &mut Shell,
    ) -> Result<(), Refusal> {
        let question = self.question(number, who, options, shell)?;
        let copy = self.witness(shell);
        let make = move || {
            let reply = match question.ask(&copy.0) {
                Ok(advice) => Reply::Advice(copy.0.on_machine(|machine| in_words_of_linux(advice, machine))),
                Err(refusal) => refusal.reply(),
            };
            Arc::new(line_of(&reply))
        };
        self.answer_by_thread(vec![number], make, shell);
        Ok(())
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
        let question = match self.question(number, who, &options, shell) {
            Ok(question) => question,
            Err(refusal) => {
                let answer = wire::advised_against(code::REFUSED, &refusal.reason);
                self.connections.send(number, &answer, None);
                return;
            }
        };
        let copy = self.witness(shell);
        let make = move || {
            Arc::new(match question.ask(&copy.0) {
                Ok(advice) => copy.0.on_machine(|machine| wire::advised(&advice, machine)),
                Err(refusal) => wire::advised_against(code::REFUSED, &refusal.reason),
            })
        };
        self.answer_by_thread(vec![number], make, shell);
    }

    /// What `run` with these options would ask the engine, or why it would be refused.
    fn question(&mut self, number: u64, who: Who, options: &Options, shell: &mut Shell) -> Result<Question, Refusal> {
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
        let less = allowed.most.is_some_and(|most| most < wanted).then_some(allowed.why);
        Ok(Question { wish, less })
    }
}

/// What a program asks that would come now.
struct Question {
    wish: Wish,
    /// Why it may have less than it wants.
    less: Option<String>,
}

impl Question {
    fn ask(self, witness: &Witness) -> Result<Advice, Refusal> {
        let free = witness.on_machine(free_memory);
        let found = witness.advise(&self.wish, &free);
        let mut found = found.map_err(|reason| Refusal::new(reason, "ask for less, or look at `numaestro status`"))?;
        if let Some(less) = self.less {
            found.why = format!("{}; {less}", found.why);
        }
        Ok(found)
    }
}

fn in_words_of_linux(advice: Advice, machine: &Machine) -> control::Advice {
    control::Advice {
        count: advice.count,
        cpus: machine.os_cpuset(&advice.pus).to_string(),
        free: machine.os_cpuset(&advice.free).to_string(),
        shared: advice.shared,
        position: advice.position,
        nodes: node_list(machine, &advice.nodes).to_string(),
        memory_nodes: node_list(machine, &advice.memory_nodes).to_string(),
        memory_free: advice.memory_free,
        why: advice.why,
    }
}

/// Bytes by NUMA node of the machine; empty where the system does not say.
fn free_memory(machine: &Machine) -> Vec<u64> {
    let Ok(found) = numa::node_memory() else { return Vec::new() };
    let free = |os: u32| found.iter().find(|memory| memory.node == os).map_or(0, |memory| memory.free);
    machine.numa_nodes().iter().map(|node| free(node.os_index)).collect()
}
