//! The contract by itself: an engine, and nothing that carries out what it says.

mod situations;

use numaestro_contract::{Alone, play, stories};
use situations::Watched;

#[test]
fn the_contract_tells_the_stories_and_the_stories_find_the_faults() {
    let problems = stories::check(Alone::new);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_stories_come_to_every_situation_of_the_list() {
    let marks = situations::none();
    for (name, record) in stories::STORIES {
        let played = play(record, |engine| Watched::new(Alone::new(engine), marks.clone()));
        assert!(played.is_ok(), "{name}: {:?}", played.err());
    }
    if let Err(problems) = marks.borrow().check(&[]) {
        panic!("the stories leave situations out:\n{problems}");
    }
}
