//! What a page that hears the steps knows, against the engine.

use super::*;
use crate::recordings::story;
use numaestro_engine::journal::State;
use numaestro_engine::{Event, PuState};
use std::collections::BTreeMap;

/// What a page knows that has heard the steps.
#[derive(Debug, Default, PartialEq)]
struct Page {
    pus: BTreeMap<u32, (&'static str, Option<u64>, Vec<u64>)>,
    apps: BTreeMap<u64, App>,
    policy: String,
}

impl Page {
    fn hear(&mut self, step: &Step) {
        for (place, state, owner, guests) in &step.pus {
            self.pus.insert(*place, (state, *owner, guests.clone()));
        }
        self.apps.retain(|app, _| !step.gone.contains(app));
        self.apps.extend(step.apps.iter().map(|app| (app.number, app.clone())));
        self.policy = step.policy.clone().unwrap_or_else(|| self.policy.clone());
    }
}

fn told(lines: &[String]) -> (Teller, Vec<Step>) {
    let mut teller = Teller::new(&lines[0]).unwrap();
    let steps = lines[1..].iter().filter_map(|line| teller.line(line).unwrap()).collect();
    (teller, steps)
}

#[test]
fn a_page_that_hears_the_steps_knows_the_state() {
    let (lines, engine) = story::journal();
    let (mut teller, steps) = told(&lines);
    let mut page = Page::default();
    for step in &steps {
        page.hear(step);
    }
    assert_eq!(page.policy, "dss");
    assert_eq!(page.apps.keys().collect::<Vec<_>>(), [&3]);
    for pu in &engine.snapshot().pus {
        let (_, owner, _) = &page.pus[&pu.pu.0];
        assert_eq!(*owner, pu.owner.map(|app| app.0), "{pu:?}");
    }
    // Who comes late knows the same.
    let mut late = Page::default();
    late.hear(&teller.whole());
    assert_eq!(late, page);
    assert_eq!(teller.difference(), Step::default(), "nothing has changed since");
}

#[test]
fn processors_of_others_and_of_load_outside_stay_what_a_state_says() {
    let (lines, engine) = story::journal();
    let mut state = engine.snapshot();
    let free: Vec<usize> = (0..8).filter(|&pu| state.pus[pu].owner.is_none()).collect();
    let (hers, load) = (free[0], free[1]);
    state.pus[hers].state = PuState::Owned;
    state.pus[load].state = PuState::Unmanaged;
    let (at, names) = (20_000_000_000, BTreeMap::new());
    let mut teller = Teller::new(&lines[0]).unwrap();
    teller.line(&State { at, state, names }.encode()).unwrap();
    let event = Event::Request { app: AppId(3), processors: 1 };
    teller.line(&journal::encode_named(at + 1, None, &event, &[])).unwrap();
    let mut page = Page::default();
    page.hear(&teller.whole());
    let (hers, load) = (hers as u32, load as u32);
    assert_eq!((page.pus[&hers].0, page.pus[&load].0), ("owned", "unmanaged"));
    let event = Event::Unmanaged { processors: 0 };
    let gone = teller.line(&journal::encode_named(at + 2, None, &event, &[])).unwrap().unwrap();
    assert!(gone.pus.iter().all(|pu| pu.1 == "free") && gone.pus.iter().any(|pu| pu.0 == load), "{gone:?}");
}

#[test]
fn times_begin_at_the_first_event_and_decisions_name_what_led_to_them() {
    let (lines, _) = story::journal();
    let (_, steps) = told(&lines);
    assert_eq!(steps[0].t, 0);
    assert!(steps.iter().zip(&steps[1..]).all(|(one, next)| one.t < next.t && next.t.is_multiple_of(1000)));
    let decisions: Vec<&Decision> = steps.iter().flat_map(|step| &step.decisions).collect();
    assert!(decisions.iter().all(|one| one.because.is_none_or(|because| because < one.number)));
    assert!(decisions.iter().any(|one| one.because.is_some()), "a processor is handed over");
    assert!(decisions.iter().zip(&decisions[1..]).all(|(one, next)| one.number <= next.number), "each once");
    let shrunk = decisions.iter().find(|one| one.app == Some(1) && one.after < one.before).unwrap();
    assert!(shrunk.event.contains("<b>ft</b>") && shrunk.rule.starts_with("share=equi"), "{shrunk:?}");
}

#[test]
fn a_recording_in_the_middle_of_a_run_begins_with_its_state_and_its_time_of_day() {
    let (lines, engine) = story::journal();
    let names = [(AppId(3), "lu".to_owned())].into();
    let at = 20_000_000_000;
    let state = State { at, state: engine.snapshot(), names }.encode();
    let stamp = Stamp { at: at + 500, wall: 1_764_150_000_000_000_000 }.encode();
    let later = journal::encode_named(at + 1_000_000, None, &Event::Depart { app: AppId(3) }, &[]);
    let mut teller = Teller::new(&lines[0]).unwrap();
    let first = teller.line(&state).unwrap().unwrap();
    assert_eq!((first.t, first.pus.len(), first.apps[0].name.as_str()), (0, 8, "lu"));
    assert!(!teller.has_begun());
    assert_eq!(teller.line(&stamp).unwrap(), None);
    let hello = teller.hello("recording 1".to_owned(), false, Vec::new(), May::default());
    assert_eq!(hello.began_ms, Some(1_764_149_999_999));
    assert_eq!(hello.cpus.iter().map(|cpu| cpu.node).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1]);
    let step = teller.line(&later).unwrap().unwrap();
    assert_eq!((step.t, step.gone), (1000, vec![3]));
}

#[test]
fn a_recording_that_is_on_from_the_begin_starts_at_its_first_event() {
    let (lines, _) = story::journal();
    let (booted, first) = (1_764_150_000_000_000_000, 8_000_000_000_000);
    let stamp = |at: u64| Stamp { at, wall: booted + at }.encode();
    let mut teller = Teller::new(&lines[0]).unwrap();
    assert_eq!(teller.line(&stamp(first - 30_000_000_000)).unwrap(), None);
    assert!(!teller.has_begun(), "its time of day is known, its first event is not");
    let arrive = Event::Arrive { app: AppId(1), wish: numaestro_engine::Wish::new(2) };
    let step = teller.line(&journal::encode_named(first, Some("ft"), &arrive, &[])).unwrap().unwrap();
    assert_eq!((step.t, teller.has_begun()), (0, true));
    let hello = teller.hello(String::new(), false, Vec::new(), May::default());
    assert_eq!(hello.began_ms, Some((booted + first) / 1_000_000));
    // Nothing happens, and time passes.
    teller.line(&stamp(first + 10_000_000_000)).unwrap();
    assert_eq!(teller.end(), 10_000_000);

    let mut idle = Teller::new(&lines[0]).unwrap();
    idle.line(&stamp(first)).unwrap();
    let hello = idle.hello(String::new(), true, Vec::new(), May::default());
    assert_eq!(hello.began_ms, Some((booted + first) / 1_000_000), "no event: the first stamp, not the boot");
    assert_eq!((idle.whole().t, idle.whole().pus.len()), (0, 8));
}

#[test]
fn load_outside_is_counted_where_nobody_says_which_processors_it_keeps() {
    let (lines, _) = story::journal();
    let mut teller = Teller::new(&lines[0]).unwrap();
    let line = |at, processors| journal::encode_named(at, None, &Event::Unmanaged { processors }, &[]);
    let more = teller.line(&line(1000, 2)).unwrap().unwrap();
    assert_eq!(more.unmanaged, Some(2));
    assert!(more.pus.iter().all(|pu| pu.1 != "unmanaged"), "{more:?}");
    assert_eq!(teller.whole().unmanaged, Some(2), "a page that comes late knows it, too");
    assert_eq!(teller.line(&line(2000, 0)).unwrap().unwrap().unmanaged, Some(0));
}
