//! Checks conservation, at every event where the set-up wants that: no time, work, processor or
//! thread is lost or there twice.

use super::processors::Processors;
use super::queues::Queues;
use super::tenant::Tenant;
use super::thread::{NONE, State};
use numaestro_topology::PuSet;

/// Checks that time and work are conserved, and that processors, threads and queues agree, for all
/// applications: their teams, and whether their processors are their own.
///
/// # Panics If they do not, which is a mistake in the world.
pub fn check<'a>(cpus: &Processors, queues: &Queues, apps: impl Iterator<Item = (u32, &'a [u32], bool)>) {
    let pus = cpus.pus();
    pus.check();
    for pu in 0..pus.count() {
        let running = pus.running(pu);
        assert!(running != NONE || queues.is_bound_empty(pu), "PU {pu} is idle while threads wait for it");
        if running != NONE {
            let thread = cpus.thread(running);
            assert_eq!((thread.state, thread.pu), (State::Running, pu), "PU {pu}: its thread is elsewhere");
        }
    }
    let mut owned = PuSet::new();
    for (app, team, owns) in apps {
        let mut pending = 0;
        for &id in team {
            let thread = cpus.thread(id);
            assert_eq!(thread.app, app, "thread {id} is another application's");
            assert!(thread.left <= thread.given, "thread {id} has more left than it was given");
            if thread.state == State::Running {
                assert_eq!(pus.running(thread.pu), id, "thread {id} does not run where it says");
            }
            pending += thread.given;
        }
        let Tenant { id, usage, set, .. } = cpus.tenant(app);
        assert_eq!(usage.done + pending, usage.given, "application {id}: work is lost or done twice");
        if owns {
            assert!(!owned.intersects(set), "PUs {} have two owners", owned.intersection(set));
            owned.or_with(set);
        }
    }
}
