//! What repartitioning is worth: every policy of a scenario against the first one, on the same
//! jobs, with 95 % intervals of the paired differences.
//!
//! `cargo run --release -p numaestro-sim --example repartition SCENARIO.toml [SEEDS [POLICY ...]]`

use numaestro_sim::outcome::Outcome;
use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::{Point, Scenario};
use numaestro_sim::stats::Moments;
use numaestro_sim::stats::paired::difference;
use numaestro_sim::world::World;
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Files for Folder {
    fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

/// Numbers of one run: share of references that are remote, mean response in seconds, threads moved
/// for each change of somebody's target, megabytes of pages that followed.
type Numbers = [f64; 4];
const NAMES: [&str; 4] = ["remote share", "response s", "moves/target", "pages MB"];

fn numbers(outcome: &Outcome, warmup: f64) -> Numbers {
    let first = outcome.jobs.len() as f64 * warmup;
    let jobs: Vec<_> = outcome.jobs.iter().filter(|job| job.job as f64 >= first).collect();
    let sum =
        |of: &dyn Fn(&numaestro_sim::outcome::JobRecord) -> u64| jobs.iter().map(|job| of(job)).sum::<u64>() as f64;
    let (local, remote) = (sum(&|job| job.local_refs), sum(&|job| job.remote_refs));
    let response = sum(&|job| job.response()) / 1e9 / jobs.len().max(1) as f64;
    let migrations = outcome.jobs.iter().map(|job| f64::from(job.migrations)).sum::<f64>();
    let moves = migrations / outcome.decisions.targets.max(1) as f64;
    [remote / (local + remote).max(1.0), response, moves, sum(&|job| job.pages_moved) * 4096.0 / 1e6]
}

fn run(point: &Point, seed: u64) -> Numbers {
    let scenario = &point.scenario;
    let world = World::new(scenario.setup(seed), scenario.source(seed));
    let mut world = world.unwrap_or_else(|rejected| panic!("{}: {rejected}", point.label));
    while world.step(&mut ()) {}
    numbers(&world.outcome(), scenario.warmup)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("a scenario"));
    let seeds: Option<u32> = arguments.next().map(|text| text.parse().expect("a number of seeds"));
    let policies: Vec<String> = arguments.collect();
    let mut text = std::fs::read_to_string(&path).expect("a text");
    if !policies.is_empty() {
        // The list of policies is written over several lines, each ending with a comma; the last
        // line is a bracket.
        let begin = text.find("policies = [").expect("a list of policies");
        let end = begin + text[begin..].find("\n]").expect("its end");
        text.replace_range(begin..end, &format!("policies = [\n    \"{}\",", policies.join("\",\n    \"")));
    }
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let scenario = Scenario::read(Text::new("scenario", &text), &Folder(folder));
    let scenario = scenario.unwrap_or_else(|mistake| panic!("{mistake}"));
    let seeds = u64::from(seeds.unwrap_or(scenario.seeds));
    let mut baseline: Vec<Numbers> = Vec::new();
    let mut values = Vec::new();
    for point in scenario.points() {
        let runs: Vec<Numbers> = (0..seeds).map(|seed| run(&point, scenario.seed + seed)).collect();
        if values != point.values || baseline.is_empty() {
            values.clone_from(&point.values);
            println!("\n{:?}", point.values);
            baseline.clone_from(&runs);
        }
        println!("{}", point.scenario.policy);
        for (number, name) in NAMES.iter().enumerate() {
            let column = |runs: &[Numbers]| runs.iter().map(|run| run[number]).collect::<Vec<_>>();
            let mean = Moments::of(&column(&runs)).mean().unwrap_or(0.0);
            let against = difference(&column(&runs), &column(&baseline), 0.95);
            let against = against.map_or(String::new(), |against| {
                format!("{:+.4} ± {:.4}", against.interval.mean, against.interval.half_width)
            });
            println!("    {name:14} {mean:10.4}   {against}");
        }
    }
}
