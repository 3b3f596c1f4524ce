//! Runs a scenario under some policies and says what became of each program, to look at numbers
//! without the command.
//!
//! `cargo run --release -p numaestro-sim --example scenario -- FILE POLICY...`, and `PATH=VALUE`
//! words that change fields.

use numaestro_sim::outcome::JobRecord;
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::World;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Files for Folder {
    fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let file = words.next().expect("a scenario's file");
    let text = std::fs::read_to_string(&file).expect("a text");
    let folder = Folder(Path::new(&file).parent().map(Path::to_path_buf).unwrap_or_default());
    let (changes, policies): (Vec<String>, Vec<String>) = words.partition(|word| {
        word.split_once('=').is_some_and(|(path, _)| path.contains('.') || path == "seed" || path == "until")
    });
    let mut changes: Vec<(String, String)> = changes
        .iter()
        .filter_map(|word| word.split_once('='))
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect();
    for policy in policies {
        changes.push(("policy".to_owned(), format!("\"{policy}\"")));
        let scenario = Scenario::read_changed(Text::new(&file, &text), &changes, &folder)
            .unwrap_or_else(|mistake| panic!("{mistake}"));
        changes.pop();
        let begun = std::time::Instant::now();
        let mut world = World::new(scenario.setup(scenario.seed), scenario.source(scenario.seed))
            .unwrap_or_else(|no| panic!("{no}"));
        let outcome = world.run(&mut ());
        println!(
            "{policy}: end {:.2} s, work {:.3}, level {:.2}, {} events in {:.2} s, {:?}",
            outcome.end as f64 / 1e9,
            outcome.utilisation(),
            outcome.mean_level(),
            outcome.thread_events,
            begun.elapsed().as_secs_f64(),
            outcome.decisions
        );
        let mut programs: BTreeMap<&str, Vec<&JobRecord>> = BTreeMap::new();
        for job in &outcome.jobs {
            programs.entry(&job.program).or_default().push(job);
        }
        for (program, jobs) in programs {
            let mean = |of: &dyn Fn(&JobRecord) -> f64| jobs.iter().map(|job| of(job)).sum::<f64>() / jobs.len() as f64;
            let run = |job: &JobRecord| (job.ended - job.started) as f64 / 1e9;
            println!(
                "  {program:<10} {:>3} jobs, response {:8.2} s, runs {:8.2} s on {:5.1} processors, waiting {:8.2} s, system {:6.3} s/thread, {:6.0} moved, {:5.1} resized ({:.1} settled), {:5.1} stops, search {:.2} s, misses {:.3e}",
                jobs.len(),
                mean(&|job| job.response() as f64 / 1e9),
                mean(&run),
                mean(&|job| job.cpu_ns as f64 / 1e9 / run(job)),
                mean(&|job| job.spin_ns as f64 / 1e9),
                mean(&|job| job.system_ns as f64 / 1e9 / f64::from(job.threads.max(1))),
                mean(&|job| f64::from(job.migrations)),
                mean(&|job| f64::from(job.resizes)),
                mean(&|job| f64::from(job.settled_resizes)),
                mean(&|job| f64::from(job.stops)),
                mean(&|job| job.searching_ns as f64 / 1e9),
                mean(&|job| job.misses() as f64)
            );
        }
    }
}
