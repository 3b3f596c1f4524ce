//! Explanations as people read them.

use numaestro_engine::explain::{Change, Chronicle, Heard, Life, Rule};
use numaestro_engine::journal::{self, State};
use numaestro_engine::{AppId, AppState, Class, Engine, Event, Nanos, Needs, Settings, Wish};
use numaestro_topology::{PuId, synthetic};

const MS: Nanos = 1_000_000;

/// An engine, and the journal of what it has heard.
struct Told {
    engine: Engine,
    journal: String,
    now: Nanos,
}

impl Told {
    fn new(machine: &str, policy: &str) -> Self {
        let machine = synthetic::parse(machine).unwrap();
        let host = Needs { requests: true, speedup: true, bandwidth: true, page_control: true, preemption: true };
        let settings = Settings { policy: policy.to_owned(), host, ..Settings::default() };
        let journal = journal::encode_head(&machine, &settings, 1);
        Self { engine: Engine::new(machine, settings, 1).unwrap(), journal, now: 0 }
    }

    /// After so many milliseconds, an event.
    fn after(&mut self, ms: u64, event: &Event) -> &mut Self {
        self.now += ms * MS;
        let mut actions = Vec::new();
        self.engine.step(self.now, event, &mut actions);
        let name = match event {
            Event::Arrive { app: AppId(1), .. } => Some("cg"),
            Event::Arrive { app: AppId(2), .. } => Some("lu"),
            _ => None,
        };
        self.journal.push('\n');
        self.journal += &journal::encode_named(self.now, name, event, &actions);
        self
    }

    fn arrives(&mut self, ms: u64, app: u64, request: u32) -> &mut Self {
        self.after(ms, &Event::Arrive { app: AppId(app), wish: Wish::new(request) })
    }

    fn adopts(&mut self, app: u64, epoch: u32) -> &mut Self {
        self.after(1, &Event::Adopted { app: AppId(app), epoch })
    }

    fn chronicle(&self) -> Chronicle {
        let mut lines = self.journal.lines();
        let mut chronicle = Chronicle::new(lines.next().unwrap(), 1000).unwrap();
        lines.for_each(|line| chronicle.line(line).unwrap());
        chronicle
    }

    /// The chain of an application: rule, event and effect of each link.
    fn chain(&self, app: u64) -> Vec<(Rule, String, String)> {
        let links = self.chronicle().chain(AppId(app)).into_iter();
        links.map(|link| (link.rule.rule, link.event, link.effect)).collect()
    }

    fn full_reason(&self, app: u64) -> String {
        let chronicle = self.chronicle();
        chronicle.full_reason(chronicle.app(AppId(app)).expect("it is there"))
    }

    fn last(&self, app: u64) -> (Rule, String, String) {
        self.chain(app).pop().expect("something has led to it")
    }
}

fn link(rule: Rule, event: &str, effect: &str) -> (Rule, String, String) {
    (rule, event.to_owned(), effect.to_owned())
}

#[test]
fn a_processor_goes_from_one_to_the_other_and_the_chain_begins_at_the_arrival() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 4).adopts(1, 1).arrives(10, 2, 4).adopts(1, 2);
    let arrival = "lu (2) arrived and could use 4 processors";
    assert_eq!(
        told.chain(2),
        [
            link(
                Rule::Share,
                arrival,
                "cg (1) gets 2 processors instead of 4: processors 0-1 (it leaves processors 2-3)"
            ),
            link(Rule::Handover, "cg (1) carried out what it had been told", "lu (2) gets processors 2-3"),
        ]
    );
    assert_eq!(told.last(1).1, arrival);
    told.after(5, &Event::Depart { app: AppId(2) });
    let back = "cg (1) gets 4 processors instead of 2: processors 0-3 (processors 2-3 new)";
    assert_eq!(told.chain(1), [link(Rule::Share, "lu (2) ended", back)]);
    let chronicle = told.chronicle();
    let owners: Vec<_> = chronicle.passes_of(PuId(2)).map(|(_, pass)| (pass.from, pass.to)).collect();
    let (cg, lu) = (Some(AppId(1)), Some(AppId(2)));
    assert_eq!(owners, [(lu, cg), (cg, lu), (None, cg)]);
    assert_eq!(
        chronicle.pass(chronicle.passes_of(PuId(2)).nth(1).unwrap().1),
        "processor 2 went from cg (1) to lu (2)"
    );
}

#[test]
fn who_does_not_leave_in_time_is_folded_because_of_the_one_that_came() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 4).adopts(1, 1).arrives(10, 2, 4).after(1000, &Event::Timer);
    let chronicle = told.chronicle();
    let decision = chronicle.decisions().next_back().unwrap();
    let effect = decision.on(AppId(1)).next().unwrap();
    let link = chronicle.link(decision, effect);
    assert_eq!((link.rule.rule, link.event.as_str()), (Rule::Grace, "the time to leave was over"));
    assert_eq!(link.effect, "the threads of cg (1) are folded onto processors 0-1");
    let cause = chronicle.decision(effect.cause.unwrap()).unwrap();
    assert!(matches!(&cause.heard, Heard::Event(Event::Arrive { app: AppId(2), .. })));
}

#[test]
fn lending_limits_load_presence_and_policies_have_their_rules() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(3000, 1, 4).adopts(1, 1).arrives(10, 2, 4).adopts(1, 2).adopts(2, 1);
    told.after(1, &Event::Sequential { app: AppId(1) });
    assert_eq!(told.last(1).0, Rule::Lending);
    assert_eq!(told.last(1).1, "cg (1) became sequential");
    told.adopts(1, 3);
    assert_eq!(told.last(2).0, Rule::Handover, "what is lent is left first");
    told.after(1, &Event::Parallel { app: AppId(1) }).adopts(2, 3).adopts(1, 4);
    told.after(1, &Event::Limits { app: AppId(1), min: 1, max: 1, weight_milli: 1000 });
    let limits = "the limits of cg (1) were changed: at most 1, at least 1, weight 1";
    assert_eq!((told.last(1).0, told.last(1).1.as_str()), (Rule::Share, limits));
    assert_eq!(told.chronicle().reason(told.chronicle().app(AppId(1)).unwrap()), "its limit is 1");
    told.adopts(1, 5).after(1, &Event::Unmanaged { processors: 2 });
    let busy = "load outside keeps 2 processors busy";
    assert_eq!((told.last(2).0, told.last(2).1.as_str()), (Rule::Load, busy));
    assert!(told.last(2).2.contains("it leaves"), "{}", told.last(2).2);
    let epoch = told.engine.snapshot().apps[1].epoch;
    told.adopts(2, epoch).after(1, &Event::Unmanaged { processors: 0 }).after(60_000, &Event::Timer);
    let less = told.chain(2);
    assert_eq!(less.last().unwrap().1, "there had been less load outside for long enough");
    told.after(1, &Event::Offline { pu: PuId(3) });
    assert_eq!((told.last(2).0, told.last(2).1.as_str()), (Rule::Presence, "processor 3 went away"));
    told.after(1, &Event::Policy { policy: "dss".to_owned() });
    assert_eq!(told.chronicle().policy().share.info().name, "dss");
}

#[test]
fn turns_and_queues_have_theirs() {
    let mut told = Told::new("core:2 pu:1", "rr");
    told.arrives(1, 1, 2).adopts(1, 1).arrives(1, 2, 2);
    let until = told.engine.deadline().expect("a turn ends");
    told.after(until / MS + 1, &Event::Timer);
    let chain = told.chain(1);
    assert!(chain.iter().any(|(rule, event, effect)| {
        *rule == Rule::Turns && event == "a turn ended" && effect == "cg (1) is stopped until its turn"
    }));
    let mut told = Told::new("core:2 pu:1", "fifo");
    told.arrives(1, 1, 2).arrives(1, 2, 2).arrives(1, 3, 2);
    assert_eq!(told.last(3).0, Rule::Admission);
    assert_eq!(told.last(3).2, "application 3 waits: number 1 in the queue");
    let chronicle = told.chronicle();
    let reason = chronicle.reason(chronicle.app(AppId(3)).unwrap());
    assert_eq!(reason, "it waits for processors of its own: number 1 in the queue");
}

#[test]
fn it_goes_on_from_a_state_and_passes_over_what_it_does_not_know_of() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 4).adopts(1, 1);
    let head = told.journal.lines().next().unwrap().to_owned();
    let names = [(AppId(1), "cg".to_owned())].into();
    let state = State { at: told.now, state: told.engine.snapshot(), names };
    let mut chronicle = Chronicle::new(&head, 2).unwrap();
    for line in ["{\"at\":1,\"wall\":2}", &state.encode(), "{\"at\":5,\"veiled\":[]}"] {
        chronicle.line(line).unwrap();
    }
    let app = chronicle.app(AppId(1)).unwrap();
    assert_eq!(chronicle.reason(app), "alone: 4 of 4 processors", "the engine's own reason");
    assert!(chronicle.chain(AppId(1)).is_empty() && chronicle.called(AppId(1)) == "cg (1)");
    for (number, request) in [3, 2, 1].into_iter().enumerate() {
        chronicle.hear(told.now, Heard::Event(Event::Request { app: AppId(1), processors: request }), Vec::new());
        let pus = (0..request).map(PuId).collect();
        let target = numaestro_engine::Action::Target {
            app: AppId(1),
            epoch: number as u32 + 2,
            count: request,
            pus,
            shared: false,
            lent: false,
        };
        chronicle.hear(told.now, Heard::Event(Event::Class { app: AppId(1), class: Class::Fold }), vec![target]);
    }
    assert_eq!(chronicle.decisions().count(), 2, "only the latest are kept");
    assert!(chronicle.line("{\"at\":").is_err() && Chronicle::new("{}", 1).is_err());
}

#[test]
fn a_rule_has_the_name_of_the_policy_that_was_in_force() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 4).adopts(1, 1).arrives(10, 2, 4).adopts(1, 2).adopts(2, 1);
    told.after(1, &Event::Policy { policy: "dss".to_owned() });
    let chronicle = told.chronicle();
    assert_eq!(chronicle.policy().share.info().name, "dss");
    let chain = chronicle.chain(AppId(2));
    assert_eq!(chain[0].rule.name, "share=equi", "{chain:?}");
}

#[test]
fn a_refused_event_has_changed_nothing() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 4).adopts(1, 1);
    let before = told.chronicle().snapshot().apps.clone();
    // More than there is, and a policy that is none.
    told.after(1, &Event::Arrive { app: AppId(2), wish: Wish { min: 9, ..Wish::new(9) } });
    told.after(1, &Event::Policy { policy: "bathc".to_owned() });
    let chronicle = told.chronicle();
    assert_eq!(chronicle.snapshot().apps.len(), before.len(), "{:?}", chronicle.snapshot().apps);
    assert_eq!(chronicle.snapshot().policy, "equi");
    let refused = chronicle.decisions().rev().take(2).all(|decision| decision.effects[0].rule == Rule::Refusal);
    assert!(refused, "both are explained");
}

#[test]
fn a_wrapper_holds_nothing() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 4).adopts(1, 1).after(1, &Event::Request { app: AppId(1), processors: 0 });
    told.arrives(1, 2, 4).adopts(2, 1);
    let (chronicle, engine) = (told.chronicle(), told.engine.snapshot());
    assert_eq!(chronicle.app(AppId(1)).unwrap().state, engine.apps[0].state);
    for (shown, known) in chronicle.snapshot().pus.iter().zip(&engine.pus) {
        assert_eq!((shown.owner, &shown.guests), (known.owner, &known.guests), "{shown:?}");
    }
    told.after(1, &Event::Request { app: AppId(1), processors: 2 });
    assert_eq!(told.chronicle().app(AppId(1)).unwrap().state, told.engine.snapshot().apps[0].state);
}

#[test]
fn more_load_that_free_processors_take_is_not_the_cause_of_what_follows() {
    let mut told = Told::new("core:8 pu:1", "equi");
    told.arrives(3000, 1, 6).adopts(1, 1).after(3000, &Event::Unmanaged { processors: 1 });
    told.after(200, &Event::Limits { app: AppId(1), min: 1, max: 2, weight_milli: 1000 }).adopts(1, 2);
    let chronicle = told.chronicle();
    let (decision, pass) = chronicle.passes_of(PuId(5)).next().expect("it was left");
    let chain = chronicle.chain_of(decision, pass.from.expect("somebody had it"));
    assert!(chain[0].event.starts_with("the limits of cg (1) were changed"), "{chain:?}");
}

#[test]
fn load_outside_is_told_live_and_in_recordings() {
    let mut told = Told::new("core:2 pu:1", "equi");
    told.arrives(3000, 1, 2).adopts(1, 1).after(1, &Event::Unmanaged { processors: 1 });
    let epoch = told.engine.snapshot().apps[0].epoch;
    told.adopts(1, epoch);
    let live = told.engine.snapshot().apps[0].why.clone();
    assert_eq!(live, "alone: 1 of 1 processors; load outside keeps 1 of 2 processors busy");
    assert_eq!(told.full_reason(1), "it is alone; load outside keeps 1 of 2 processors busy");
    assert_eq!(told.chronicle().load_outside().as_deref(), Some("load outside keeps 1 of 2 processors busy"));
    told.arrives(1, 2, 2);
    let live = told.engine.snapshot().apps[1].why.clone();
    assert_eq!(live, "2 applications on 1 processor: it shares with others; load outside keeps 1 of 2 processors busy");
    assert!(told.full_reason(1).ends_with("; load outside keeps 1 of 2 processors busy"), "{}", told.full_reason(1));
    told.after(1, &Event::Unmanaged { processors: 0 }).after(60_000, &Event::Timer);
    assert!(!told.full_reason(1).contains("load outside"), "{}", told.full_reason(1));
}

#[test]
fn those_beside_are_named_and_their_arrival_is_a_cause() {
    let mut told = Told::new("core:2 pu:1", "equi");
    for app in 1..=4 {
        told.arrives(1, app, 1).adopts(app, 1);
    }
    let shared: Vec<u64> =
        told.engine.snapshot().apps.iter().filter(|app| app.pus.contains(PuId(0))).map(|app| app.app.0).collect();
    assert_eq!(shared, [1, 3], "two on each");
    assert_eq!(told.full_reason(1), "it runs beside application 3 on processor 0 and shares with them");
    for app in 5..=12 {
        told.arrives(1, app, 1).adopts(app, 1);
    }
    let on_first = |told: &Told| -> Vec<u64> {
        let apps = told.engine.snapshot().apps;
        apps.iter().filter(|app| app.pus.contains(PuId(0))).map(|app| app.app.0).collect()
    };
    assert_eq!(on_first(&told), [1, 3, 5, 7, 9, 11], "six on each");
    let reason = "it runs beside application 3, application 5, application 7 and 2 other programs on processor 0 and \
                  shares with them";
    assert_eq!(told.full_reason(1), reason);
    let chain = told.chain(1);
    assert_eq!(
        chain.last().unwrap(),
        &link(
            Rule::Sharing,
            "application 11 arrived and could use 1 processor",
            "application 11 gets processor 0, beside others"
        )
    );
    assert!(chain.iter().any(|(_, event, effect)| event.starts_with("application 3") && effect.starts_with("cg (1)")));
    // Live, the engine's own reason has the names added.
    let head = told.journal.lines().next().unwrap().to_owned();
    let mut live = Chronicle::new(&head, 10).unwrap();
    let state = State { at: told.now, state: told.engine.snapshot(), names: std::collections::BTreeMap::new() };
    live.line(&state.encode()).unwrap();
    let why = live.full_reason(live.app(AppId(3)).unwrap());
    assert!(why.starts_with("12 applications on 2 processors: it shares with others; it runs beside"), "{why}");
}

#[test]
fn the_one_that_has_its_turn_says_how_many_take_turns() {
    let mut told = Told::new("core:1 pu:1", "rr");
    for app in 1..=4 {
        told.arrives(1, app, 1);
    }
    told.adopts(1, 1);
    let apps = told.engine.snapshot().apps;
    let runs = apps.iter().find(|app| app.state == AppState::Running).expect("one has its turn");
    let waits = apps.iter().find(|app| app.state == AppState::Stopped).expect("others wait");
    assert_eq!(runs.why, "its turn: 1 of 1 processor; 4 applications take turns, by turns=rr");
    assert_eq!(
        waits.why,
        "stopped until its turn: of 4 applications that take turns 1 has processors now, by turns=rr"
    );
    assert_eq!(told.full_reason(runs.app.0), "it has its turn: 4 programs take turns, by turns=rr");
}

#[test]
fn the_rule_of_what_changed_nothing_is_that_of_the_event_and_a_refusal_is_no_change() {
    let mut told = Told::new("core:8 pu:1", "equi");
    told.arrives(3000, 1, 2).adopts(1, 1).after(1, &Event::Unmanaged { processors: 2 });
    told.after(1, &Event::Policy { policy: "dss".to_owned() });
    told.after(1, &Event::Policy { policy: "dsss".to_owned() });
    told.after(1, &Event::Limits { app: AppId(1), min: 9, max: 9, weight_milli: 1000 });
    let chronicle = told.chronicle();
    let links: Vec<_> = chronicle.decisions().rev().take(4).flat_map(|decision| chronicle.links(decision)).collect();
    let seen: Vec<_> = links.iter().rev().map(|link| (link.rule.rule, link.event.as_str())).collect();
    assert_eq!(seen[0], (Rule::Load, "load outside keeps 2 processors busy"));
    assert_eq!(seen[1], (Rule::Share, "the policy was changed to dss"));
    assert_eq!(seen[2], (Rule::Refusal, "a change of the policy to dsss was refused"));
    let limits = "the limits of cg (1) were not changed, as wished, to at most 9, at least 9, weight 1";
    assert_eq!(seen[3], (Rule::Refusal, limits));
}

#[test]
fn what_gives_the_same_is_no_alternative_and_the_end_of_load_outside_is_one() {
    let mut told = Told::new("core:1 pu:1", "equi");
    told.arrives(1, 1, 1).adopts(1, 1).arrives(1, 2, 1).adopts(2, 1);
    // Alone there is something else; a shared processor as its own, or another policy, is not.
    for (app, other) in [(1, 2), (2, 1)] {
        let found = told.engine.alternatives(told.now, AppId(app), &|_| true);
        let changes: Vec<_> = found.iter().map(|found| (&found.change, found.count, found.shared)).collect();
        assert_eq!(changes, [(&Change::End { app: AppId(other) }, 1, false)], "of {app}");
    }
    // With more weight a guest would own the other processor, and have guests there.
    let mut told = Told::new("core:2 pu:1", "equi");
    for app in 1..=5 {
        told.arrives(1, app, 2).adopts(app, 1).adopts(1, 2).adopts(1, 3);
    }
    let found = told.engine.alternatives(told.now, AppId(5), &|_| true);
    assert!(!found.iter().any(|found| matches!(found.change, Change::Weight { .. })), "{found:?}");
    let mut told = Told::new("core:2 pu:1", "equi");
    told.arrives(3000, 1, 2).adopts(1, 1).after(1, &Event::Unmanaged { processors: 1 });
    let epoch = told.engine.snapshot().apps[0].epoch;
    told.adopts(1, epoch);
    let found = told.engine.alternatives(told.now, AppId(1), &|_| true);
    let changes: Vec<_> = found.iter().map(|found| (&found.change, found.count)).collect();
    assert_eq!(changes, [(&Change::LessLoad, 2)]);
}

#[test]
fn no_limit_and_no_use_helps_one_that_is_there_for_its_children() {
    let mut told = Told::new("core:4 pu:1", "equi");
    told.arrives(1, 1, 2).adopts(1, 1).after(1, &Event::Limits { app: AppId(1), min: 1, max: 2, weight_milli: 1000 });
    told.after(1, &Event::Request { app: AppId(1), processors: 0 }).arrives(1, 2, 4).adopts(2, 1);
    let found = told.engine.alternatives(told.now, AppId(1), &|_| true);
    assert_eq!(found, [], "whatever its limits are");
}

#[test]
fn a_life_has_its_begin_and_its_end() {
    let mut told = Told::new("core:2 pu:1", "fifo");
    told.arrives(1, 1, 2).arrives(4, 2, 2).after(5, &Event::Depart { app: AppId(2) });
    told.after(1, &Event::Arrive { app: AppId(3), wish: Wish { min: 9, ..Wish::new(9) } });
    let chronicle = told.chronicle();
    let life = |app| chronicle.life(AppId(app));
    assert_eq!(life(1), Life { arrived: Some(MS), ended: None });
    assert_eq!(life(2), Life { arrived: Some(5 * MS), ended: Some(10 * MS) }, "it waited, and had nothing");
    assert_eq!(life(3), Life::default(), "it was refused");
}
