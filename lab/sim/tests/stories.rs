//! The simulator's shell tells the same stories as the manager's, and finds the same faults.

use numaestro_contract::stories;
use numaestro_sim::world::Played;

#[test]
fn the_simulator_tells_the_stories_and_the_stories_find_the_faults() {
    let problems = stories::check(Played::new);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
