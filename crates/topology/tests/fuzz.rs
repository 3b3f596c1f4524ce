//! Two seconds of the fuzzer (`examples/fuzz`), and that it would notice something.

#[path = "../examples/fuzz/invariants.rs"]
mod invariants;
#[path = "../examples/fuzz/mutation.rs"]
mod mutation;
#[path = "../examples/fuzz/seeds.rs"]
mod seeds;
#[path = "../examples/fuzz/trial.rs"]
mod trial;

use numaestro_topology::synthetic;
use seeds::Seeds;
use std::time::{Duration, Instant};
use trial::{Input, Outcome};

const SEED: u64 = 20_261_122;

#[test]
fn readers_read_or_refuse_and_nothing_else() {
    let seeds = Seeds::load();
    let begun = Instant::now();
    let (mut read, mut refused, mut number) = (0, 0, 0);
    // On a slow machine fewer inputs, but never so few that it says nothing.
    while number < 300 || begun.elapsed() < Duration::from_secs(2) {
        match Input::make(&seeds, SEED, number).judge() {
            Ok(Outcome::Read) => read += 1,
            Ok(Outcome::Refused) => refused += 1,
            Err(reason) => panic!("fuzz --seed {SEED} --input {number}: {reason}"),
        }
        number += 1;
    }
    // Inputs that are all refused at the first line would test nothing.
    assert!(read * 20 > number && refused * 20 > number, "{read} read and {refused} refused of {number}");
}

#[test]
fn an_input_can_be_made_again() {
    let seeds = Seeds::load();
    for number in 0..50 {
        assert_eq!(Input::make(&seeds, 7, number).text(), Input::make(&seeds, 7, number).text(), "{number}");
    }
}

#[test]
fn what_is_good_is_read() {
    let seeds = Seeds::load();
    let trees = seeds.trees.iter().cloned().map(Input::Tree);
    let documents = seeds.documents.iter().cloned().map(Input::Document);
    let descriptions = seeds.descriptions.iter().cloned().map(Input::Description);
    for input in trees.chain(documents).chain(descriptions) {
        let text: String = input.text().chars().take(200).collect();
        assert_eq!(input.judge(), Ok(Outcome::Read), "{text}");
    }
}

#[test]
fn a_machine_out_of_order_would_be_noticed() {
    let machine = synthetic::parse("numa:2 core:2 pu:1").unwrap();
    assert_eq!(invariants::check(&machine), Ok(()));
    let nearer = machine.with_node_distances(vec![10, 0, 20, 10]);
    assert!(nearer.is_err());
    let zero = synthetic::parse("numa:2 core:2 pu:1").unwrap().with_node_distances(vec![0, 5, 5, 0]).unwrap();
    assert!(invariants::check(&zero).is_err());
}
