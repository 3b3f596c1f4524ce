//! Repartitioning with pools is better than processors anywhere, and each part of its cost is there
//! for something. A short version of what docs/guides/repartitioning.md reports; the long one is
//! `cargo run --release -p numaestro-sim --example repartition`.

use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::stats::paired::difference;
use numaestro_sim::world::{Setup, World};
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Files for Folder {
    fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

/// Remote share of references, and mean response in seconds, of some seeds under a policy; fewer
/// programs than in the scenario.
fn runs(policy: &str, seeds: std::ops::Range<u64>) -> (Vec<f64>, Vec<f64>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let text = std::fs::read_to_string(folder.join("repartition-256.toml")).expect("the scenario");
    let sweep = text.find("[sweep]").expect("a sweep")..text.find("[workload]").expect("a workload");
    let text = text.replace(&text[sweep], "").replace("jobs = 240", "jobs = 120");
    let text = text.replace("machine = \"numa-256\"", &format!("machine = \"numa-256\"\npolicy = \"{policy}\""));
    let scenario = Scenario::read(Text::new("repartition-256.toml", &text), &Folder(folder));
    let scenario = scenario.unwrap_or_else(|mistake| panic!("{mistake}"));
    let run = |seed| {
        let setup = Setup { checks: false, ..scenario.setup(seed) };
        let mut world = World::new(setup, scenario.source(seed)).unwrap_or_else(|rejected| panic!("{rejected}"));
        let outcome = world.run(&mut ());
        assert_eq!(outcome.jobs.len(), 120, "{policy}: everybody ends");
        let refs = outcome.jobs.iter().fold((0, 0), |sum, job| (sum.0 + job.local_refs, sum.1 + job.remote_refs));
        let response: u64 = outcome.jobs.iter().map(numaestro_sim::outcome::JobRecord::response).sum();
        (refs.1 as f64 / (refs.0 + refs.1) as f64, response as f64 / 120e9)
    };
    seeds.map(run).unzip()
}

/// The interval of the paired difference, first minus second, is below 0.
fn assert_less(first: &[f64], second: &[f64], what: &str) {
    let interval = difference(first, second, 0.95).expect("several pairs").interval;
    assert!(interval.high() < 0.0, "{what}: {interval:?}");
}

#[test]
fn repartitioning_is_more_local_and_faster_than_processors_anywhere() {
    let seeds = 1..17;
    let (remote, response) = runs("equi-pools", seeds.clone());
    for naive in ["share=equi placement=worst-fit(level=machine)", "share=equi placement=lowest"] {
        let (far, slow) = runs(naive, seeds.clone());
        assert_less(&remote, &far, &format!("remote share against {naive}"));
        assert_less(&response, &slow, &format!("response against {naive}"));
    }
}

#[test]
fn knowing_where_pages_are_is_worth_it() {
    let seeds = 1..17;
    let (remote, _) = runs("equi-pools", seeds.clone());
    let (far, _) = runs("share=equi placement=repartition(memory=0)", seeds);
    assert_less(&remote, &far, "remote share against the same without memory");
}

#[test]
fn pages_follow_where_the_policy_says_so_and_nowhere_else() {
    let (_, stay) = runs("equi-pools", 1..5);
    let (_, follow) = runs("equi-pools pages=home", 1..5);
    assert!(stay != follow, "some pages move");
}
