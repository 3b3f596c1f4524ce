//! Every scenario that comes with the project can be read, with all its points, gives arrivals in
//! order, and runs.

use numaestro_sim::read::{Files, Text};
use numaestro_sim::scenario::Scenario;
use numaestro_sim::world::{Setup, World};
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Files for Folder {
    fn text(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

fn examples() -> Vec<(String, Scenario)> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of scenarios")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name.ends_with("toml"))
        .collect();
    names.sort();
    let read = |name: String| {
        let text = std::fs::read_to_string(folder().join(&name)).expect("a text");
        let scenario = Scenario::read(Text::new(&name, &text), &Folder(folder()));
        let scenario = scenario.unwrap_or_else(|mistake| panic!("{mistake}"));
        (name, scenario)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn every_example_is_right_and_called_as_its_file() {
    let examples = examples();
    assert!(examples.len() >= 5, "{} examples", examples.len());
    for (name, scenario) in examples {
        assert_eq!(format!("{}.toml", scenario.name), name);
        assert!(!scenario.about.is_empty(), "{name} says what it shows");
        assert_eq!(scenario.notes, Vec::<String>::new(), "{name}");
        let points: usize = scenario.sweep.parameters.iter().map(|parameter| parameter.values.len()).product();
        assert_eq!(scenario.points().len(), points * scenario.sweep.policies.len().max(1), "{name}");
    }
}

#[test]
fn points_of_the_same_parameters_see_the_same_arrivals_under_every_policy() {
    for (name, scenario) in examples() {
        let points = scenario.points();
        for pair in points.windows(2).filter(|pair| pair[0].values == pair[1].values) {
            let mut sources = [pair[0].scenario.source(7), pair[1].scenario.source(7)];
            let mut last = 0;
            for _ in 0..300 {
                let [first, second] = sources.each_mut().map(|source| source.next());
                assert_eq!(first, second, "{name}");
                let Some(arrival) = first else { break };
                assert!(arrival.at >= last, "{name}: arrivals in order of time");
                last = arrival.at;
            }
        }
    }
}

#[test]
fn every_point_runs_with_nothing_lost() {
    // Not to its end, which takes a while without optimisation.
    const STEPS: u32 = 2_000;
    for (name, scenario) in examples() {
        for point in scenario.points() {
            let setup = Setup { checks: true, ..point.scenario.setup(3) };
            let world = World::new(setup, point.scenario.source(3));
            let mut world = world.unwrap_or_else(|rejected| panic!("{name}, {}: {rejected}", point.label));
            let steps = (0..STEPS).take_while(|_| world.step(&mut ())).count();
            assert!(steps > 10 && world.now() > 0, "{name}, {}: {steps} steps", point.label);
        }
    }
}
