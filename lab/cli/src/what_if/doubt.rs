//! Policies about which the simulation knows too little: what they need is not in the recording, or
//! not in the model.

use super::scene::Past;
use numaestro_engine::{Bus, Engine, Needs, Settings};

const ALL: Needs = Needs { requests: true, speedup: true, bandwidth: true, page_control: true, preemption: true };

/// The reason, if there is one.
pub fn doubt(policy: &str, past: &Past) -> Option<&'static str> {
    if needs(policy, Needs { bandwidth: false, ..ALL }) {
        return Some("the model has no bandwidth of memory");
    }
    let has_reports = past.recorded.iter().any(|app| !app.run.reports.is_empty());
    (!has_reports && needs(policy, Needs { speedup: false, ..ALL })).then_some("no program reported its speedup")
}

/// The policy cannot run on a host that lacks something.
fn needs(policy: &str, rest: Needs) -> bool {
    let Ok(machine) = numaestro_topology::synthetic::parse("numa:2 core:4 pu:1") else { return false };
    let buses = vec![Bus { pus: machine.all(), saturation: 1 }];
    let runs = |host: Needs| {
        let settings = Settings { policy: policy.to_owned(), host, buses: buses.clone(), ..Settings::default() };
        Engine::new(machine.clone(), settings, 1).is_ok()
    };
    runs(ALL) && !runs(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_go_by_measurements() {
        let bandwidth = |policy| needs(policy, Needs { bandwidth: false, ..ALL });
        let speedup = |policy| needs(policy, Needs { speedup: false, ..ALL });
        assert_eq!(["equi", "dss", "pdpa", "b2arr", "nonsense"].map(bandwidth), [false, false, false, true, false]);
        assert_eq!(["equi", "dss", "pdpa", "b2arr", "nonsense"].map(speedup), [false, false, true, false, false]);
    }
}
