//! Programs that are jobs of a batch system: what they were allocated bounds them, and malleable
//! ones share what others leave.

use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::{Setup, World};

struct NoFiles;

impl Files for NoFiles {
    fn text(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no {name}"))
    }
}

/// Response times in seconds, in order of arrival, of perfectly parallel jobs of 40 s that can use
/// the four processors of a machine.
fn responses(jobs: &str, arrivals: &str) -> Vec<f64> {
    let text = format!(
        "machine = \"xeon-4\"\ncontention = \"none\"\n{jobs}\n\
         [[program]]\nname = \"p\"\nprocessors = 4\nwork = \"40 s\"\ncurve = \"linear\"\n\
         [workload]\nkind = \"list\"\narrivals = [{arrivals}]\n"
    );
    let scenario = Scenario::read(Text::new("s.toml", &text), &NoFiles).unwrap_or_else(|mistake| panic!("{mistake}"));
    let setup = Setup { checks: true, ..scenario.setup(1) };
    let mut world = World::new(setup, scenario.source(1)).expect("a policy");
    let mut jobs: Vec<_> = world.run(&mut ()).jobs;
    jobs.sort_by_key(|job| job.job);
    jobs.iter().map(|job| (job.ended - job.arrived) as f64 / 1e9).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    let close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 0.05 * expected;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(close), "{found:?} is not {expected:?}");
}

const ONE: &str = "{ at = 0, program = \"p\" }";
const TWO: &str = "{ at = 0, program = \"p\" }, { at = 0, program = \"p\" }";

#[test]
fn a_rigid_job_keeps_to_its_allocation_and_a_malleable_one_takes_what_is_there() {
    near(&responses("", ONE), &[10.0]);
    near(&responses("jobs = { allocated = 0.5 }", ONE), &[20.0]);
    near(&responses("jobs = { allocated = 0.5, malleable = [0.25, 1] }", ONE), &[10.0]);
    near(&responses("jobs = { allocated = 0.5, malleable = [0.25, 0.75] }", ONE), &[40.0 / 3.0]);
}

#[test]
fn a_malleable_job_is_shrunk_for_others_and_grows_again() {
    near(&responses("jobs = { allocated = 0.5 }", TWO), &[20.0, 20.0]);
    // The first one has all four for five seconds; then two, until the other has ended.
    let later = "{ at = 0, program = \"p\" }, { at = \"5 s\", program = \"p\" }";
    near(&responses("jobs = { allocated = 0.5, malleable = [0.25, 1] }", later), &[15.0, 15.0]);
    // Half of the machine that is kept for each leaves nothing for more than its fewest.
    near(&responses("jobs = { allocated = 1, malleable = [0.5, 1] }", TWO), &[20.0, 20.0]);
}

#[test]
fn mistakes_are_named() {
    for (jobs, said) in [
        ("jobs = { allocated = 0 }", "jobs.allocated"),
        ("jobs = { allocated = 0.5, malleable = [0.5, 0.2] }", "the fewest are more than the most"),
        ("jobs = { malleable = [0.5] }", "[fewest, most]"),
        ("jobs = { alocated = 0.5 }", "alocated"),
    ] {
        let text = format!("machine = \"xeon-4\"\n{jobs}\n[[program]]\nname = \"p\"\nprocessors = 8\nwork = \"1 s\"\n");
        let mistake = Scenario::read(Text::new("s.toml", &text), &NoFiles).expect_err(jobs).to_string();
        assert!(mistake.contains(said), "{jobs}: {mistake}");
    }
}
