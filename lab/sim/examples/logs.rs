//! How long whole simulations of logs of rigid jobs take, under FCFS and EASY: reading, simulating,
//! everything. Prints JSON lines.
//!
//! `cargo run --release -p numaestro-sim --example logs [LOG.swf|JOBS [PUS [LOAD]]]`
//!
//! A number makes that many jobs of Lublin and Feitelson's model; LOAD scales their intervals so
//! that they offer it.

use numaestro_engine::Settings;
use numaestro_sim::machine::{self, Model};
use numaestro_sim::memory::Contention;
use numaestro_sim::read::{NoFiles, Text};
use numaestro_sim::workload::batch::{Batch, BatchJob, Estimates, Fit, Turn, offered};
use numaestro_sim::workload::lublin::{Lublin, Types};
use numaestro_sim::workload::swf::{Log, LogJobs};
use numaestro_sim::world::{Setup, World};
use std::sync::Arc;
use std::time::Instant;

/// Processors, all alike.
fn machine(pus: u32) -> Arc<Model> {
    let text = format!(
        "name = \"flat\"\nabout = \"Processors that are all alike\"\ntopology = \"core:{pus} pu:1\"\ncycle = \"1 ns\"\n\
         [memory]\npage_bytes = 4096\nnode_pages = 1048576\n\
         [cache]\nlevel = \"pu\"\nlines = 1024\nline_bytes = 64\nreplacement = \"lru\"\n\
         [access]\nunit = \"cycles\"\nhit = 1\n\
         [[access.class]]\nname = \"memory\"\nwithin = \"machine\"\nline = 100\n\
         [system]\nscheduler = \"round-robin\"\n"
    );
    Arc::new(machine::read(Text::new("flat", &text), &NoFiles).unwrap_or_else(|mistake| panic!("{mistake}")))
}

fn jobs(which: &str, pus: Option<u32>) -> (Arc<[BatchJob]>, u32) {
    if let Ok(count) = which.parse() {
        let pus = pus.unwrap_or(256);
        return (Lublin::new(Types::Whole, pus, 1).take(count).collect(), pus);
    }
    let text = std::fs::read_to_string(which).unwrap_or_else(|error| panic!("{which}: {error}"));
    let log = Log::read(Text::new(which, &text)).unwrap_or_else(|mistake| panic!("{mistake}"));
    (log.jobs().0.into(), pus.unwrap_or_else(|| log.processors()))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let which = arguments.next().unwrap_or_else(|| "10000".to_owned());
    let pus = arguments.next().map(|text| text.parse().expect("a number of processors"));
    let load: Option<f64> = arguments.next().map(|text| text.parse().expect("an offered load"));
    for policy in ["fcfs", "easy"] {
        let begun = Instant::now();
        let (jobs, pus) = jobs(&which, pus);
        let mut fit = Fit { pus, sizes: 1.0, intervals: 1.0, turn: Turn::Rigid, estimates: Estimates::Log };
        let present = offered(jobs.iter().cloned(), &fit);
        fit.intervals = load.map_or(1.0, |load| present / load);
        let read = begun.elapsed();
        let count = jobs.len();
        let source = Batch::new(Box::new(LogJobs::new(jobs, 0, count)), fit, 1, Some(count as u64));
        let settings = Settings { policy: policy.to_owned(), positions: 0, ..Settings::default() };
        let contention = Contention::None;
        let setup = Setup { settings, contention, ..Setup::new(machine(pus)) };
        let mut world = World::new(setup, Box::new(source)).unwrap_or_else(|rejected| panic!("{rejected}"));
        let mut longest = 0;
        while world.step(&mut ()) {
            longest = longest.max(world.engine().queue_len());
        }
        let outcome = world.outcome();
        let all = begun.elapsed();
        let waited = |job: &numaestro_sim::outcome::JobRecord| job.started.saturating_sub(job.arrived) as f64 / 1e9;
        println!(
            "{}",
            serde_json::json!({
                "policy": policy, "jobs": outcome.jobs.len(), "pus": pus, "offered": present, "load": load,
                "read_s": read.as_secs_f64(), "all_s": all.as_secs_f64(), "engine_events": outcome.engine_events,
                "longest_queue": longest,
                "mean_wait_s": outcome.jobs.iter().map(waited).sum::<f64>() / outcome.jobs.len().max(1) as f64,
                "fingerprint": format!("{:016x}", outcome.fingerprint),
            })
        );
    }
}
