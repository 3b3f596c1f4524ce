//! Takes over from a killed manager: its policy, its applications, and the programs that waited in
//! its queue.

use std::collections::BTreeSet;

use numaestro_engine::Event;
use numaestro_host::{PidFd, procfs};
use tracing::info;

use super::Front;
use crate::shell::{Newcomer, Shell};
use crate::state::{SavedApp, former_state};

impl Front {
    /// Takes over from a former manager that was killed.
    pub(super) fn take_over(&mut self, shell: &mut Shell) {
        let Some(state) = former_state(self.directory.runtime()) else {
            self.take_jobs_over(false, shell);
            return;
        };
        shell.remember_masks(state.masks);
        shell.skip_numbers(state.app_next.min(u64::MAX / 2));
        // The file is there only after a death: an orderly end removes it, and then the configured
        // policy counts.
        if state.policy != shell.policy_text() {
            shell.feed(Event::Policy { policy: state.policy });
        }
        // Programs find their jobs by the steps.
        self.take_jobs_over(true, shell);
        let origin = |entry: &SavedApp| Some((entry.app, entry.origin.clone()?));
        let origins = state.apps.iter().filter_map(origin).collect();
        let living = |entry: &&SavedApp| is_alive(entry.pid, entry.start_time);
        let wrappers: BTreeSet<u64> = state.apps.iter().filter(living).filter_map(|entry| entry.wrapper).collect();
        let mut without = Vec::new();
        let (queue, running): (Vec<SavedApp>, Vec<SavedApp>) = state.apps.into_iter().partition(|entry| entry.waiting);
        let given = shell.programs().next_number();
        for saved in running.iter().filter(|saved| saved.app < given) {
            let Some(process) = self.find(saved, shell) else { continue };
            info!(app = saved.app, pid = saved.pid, "taken over");
            let newcomer = self.known_before(process, saved, shell);
            let wraps = wrappers.contains(&saved.app);
            // Applications without processors must not be given those that a later one will claim.
            if shell.take_over(newcomer, saved, wraps) && !wraps {
                without.push(saved.app);
            }
        }
        for app in without {
            let wish = shell.programs().get(app).map_or(1, |entry| entry.wants.wish());
            shell.ask_for(app, wish);
        }
        // In the order of their arrival, behind all that run.
        for saved in queue {
            self.queue_again(&saved, shell);
        }
        shell.clear_former_groups(&origins);
    }

    /// The process of a saved application; `None` if it is gone, or its number is another process's
    /// by now.
    fn find(&self, saved: &SavedApp, shell: &Shell) -> Option<PidFd> {
        let process = PidFd::open_verified(saved.pid, saved.start_time).ok()?;
        let known = shell.programs().of_pid(saved.pid).is_some();
        let others = self.config.system && self.users.owner_of(saved.pid) != saved.uid;
        (!known && !others).then_some(process)
    }

    fn known_before(&mut self, process: PidFd, saved: &SavedApp, shell: &mut Shell) -> Newcomer {
        let newcomer = self.newcomer(process, &saved.name, saved.options.clone(), shell);
        Newcomer { own: saved.original.parse().ok(), ..newcomer }
    }

    /// Its command waits, has seen the former manager die, and is about to come to us.
    fn queue_again(&mut self, saved: &SavedApp, shell: &mut Shell) {
        let Some(process) = self.find(saved, shell) else { return };
        // Numbers of applications are given in the order of arrival, and others have arrived since.
        let newcomer = self.known_before(process, saved, shell);
        let app = shell.insert(newcomer);
        self.expected.insert(app);
        info!(app, pid = saved.pid, "waits here now");
        // If it is refused now, its command asks anew when it comes.
        let _ = shell.arrive(app, None);
    }
}

fn is_alive(pid: u32, start_time: u64) -> bool {
    procfs::stat(pid).is_ok_and(|stat| stat.start_time == start_time && stat.state != 'Z')
}
