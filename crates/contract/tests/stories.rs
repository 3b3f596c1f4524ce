//! The contract by itself: an engine, and nothing that carries out what it says.

use numaestro_contract::{Alone, stories};

#[test]
fn the_contract_tells_the_stories_and_the_stories_find_the_faults() {
    let problems = stories::check(Alone::new);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
