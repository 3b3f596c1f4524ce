//! The latest events with what followed, in memory: what `numaestro explain` asks for. It is there
//! whether the manager records or not.
//!
//! The lines are those of a journal, and each is made once: the journal's file and the recording
//! take it from here. They are kept in two parts of bounded size, of which each begins with the
//! whole state. When the newer part is full, the older one goes.

use std::collections::BTreeMap;

use numaestro_engine::journal::{self, State};
use numaestro_engine::{Action, Event, Nanos, Snapshot};
use numaestro_policy::AppId;

/// Bytes of a part: about a thousand events.
const PART_BYTES: usize = 128 << 10;

/// See the file's header.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// The journal's first line.
    head: String,
    older: Vec<u8>,
    newer: Vec<u8>,
    /// Bytes of the states with which the older and the newer part begin.
    states: [usize; 2],
    /// Events before the older part, before the newer part, and so far. Never the same for two
    /// engines.
    events: [u64; 3],
    /// The names of the applications that are there.
    names: BTreeMap<AppId, String>,
    /// The users of the applications that the older and the newer part speak of.
    users: [BTreeMap<AppId, u32>; 2],
}

impl History {
    /// Forgets everything: an engine begins that has heard nothing.
    pub(crate) fn begin(&mut self, head: String) {
        self.head = head;
        self.older.clear();
        self.newer.clear();
        self.newer.reserve(2 * PART_BYTES);
        (self.states, self.users) = (Default::default(), Default::default());
        // So that no reader takes the new engine's events for those that follow the old one's.
        self.events = [self.events[2] + 1; 3];
        self.names.clear();
    }

    /// An application arrives with the next event. `user`: its user's number.
    pub(crate) fn arrives(&mut self, app: AppId, user: u32) {
        self.users[1].insert(app, user);
    }

    /// The user of an application that the lines speak of, whether it is still there or not.
    pub(crate) fn user_of(&self, app: AppId) -> Option<u32> {
        self.users.iter().rev().find_map(|users| users.get(&app)).copied()
    }

    /// An event, and what followed. `name`: of the application that arrives with it. Gives the line
    /// with its newline.
    pub(crate) fn step(&mut self, at: Nanos, name: Option<&str>, event: &Event, actions: &[Action]) -> &[u8] {
        match (event, name) {
            // A refused one does not end either.
            (Event::Arrive { app, .. }, Some(name)) if !actions.iter().any(Action::is_refusal) => {
                self.names.insert(*app, name.to_owned());
            }
            (Event::Depart { app }, _) => _ = self.names.remove(app),
            _ => {}
        }
        self.events[2] += 1;
        let begin = self.newer.len();
        journal::write_named(&mut self.newer, at, name, event, actions);
        &self.newer[begin..]
    }

    /// The newer part is full: [`Self::turn_over`] is to follow.
    pub(crate) fn is_full(&self) -> bool {
        self.newer.len() >= self.states[1] + PART_BYTES
    }

    /// The next part begins with this state.
    pub(crate) fn turn_over(&mut self, at: Nanos, state: Snapshot) {
        std::mem::swap(&mut self.older, &mut self.newer);
        self.newer.clear();
        let [older, newer] = &mut self.users;
        *older = std::mem::take(newer);
        // Those that are still there are spoken of in the state.
        newer.extend(older.iter().filter(|(app, _)| self.names.contains_key(app)).map(|(app, user)| (*app, *user)));
        let line = State { at, state, names: self.names.clone() }.encode();
        self.newer.extend_from_slice(line.as_bytes());
        self.newer.push(b'\n');
        self.states = [self.states[1], self.newer.len()];
        self.events = [self.events[1], self.events[2], self.events[2]];
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.events[2]
    }

    /// The lines of the events after so many, without the journal's first line, and `true`. Without
    /// `after`, or where those events are no longer remembered: the whole journal, and `false`. The
    /// last line is the state now, because it has what no event tells; it is left out of the rest
    /// where nothing has happened.
    pub(crate) fn told(&self, after: Option<u64>, at: Nanos, now: &dyn Fn() -> Snapshot) -> (String, bool) {
        let Some(mut lines) = after.and_then(|events| self.after(events)) else {
            return (self.journal(at, now()), false);
        };
        if !lines.is_empty() {
            lines += &State { at, state: now(), names: self.names.clone() }.encode();
            lines.push('\n');
        }
        (lines, true)
    }

    fn after(&self, events: u64) -> Option<String> {
        let [before_older, before_newer, so_far] = self.events;
        if !(before_older..=so_far).contains(&events) {
            return None;
        }
        let (older, newer) = (&self.older[self.states[0]..], &self.newer[self.states[1]..]);
        let mut lines = after_lines(older, events - before_older).to_vec();
        lines.extend_from_slice(after_lines(newer, events.saturating_sub(before_newer)));
        Some(String::from_utf8_lossy(&lines).into_owned())
    }

    /// The names of the applications that are there.
    pub(crate) fn names(&self) -> &BTreeMap<AppId, String> {
        &self.names
    }

    /// The journal of what is remembered, and as its last line the state now.
    fn journal(&self, at: Nanos, state: Snapshot) -> String {
        let mut lines = self.head.clone();
        lines.push('\n');
        lines += &String::from_utf8_lossy(&self.older);
        lines += &String::from_utf8_lossy(&self.newer);
        lines += &State { at, state, names: self.names.clone() }.encode();
        lines.push('\n');
        lines
    }
}

/// All after so many lines.
fn after_lines(lines: &[u8], count: u64) -> &[u8] {
    let mut rest = lines;
    for _ in 0..count {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return &[] };
        rest = &rest[end + 1..];
    }
    rest
}

#[cfg(test)]
mod tests {
    use numaestro_engine::explain::Chronicle;
    use numaestro_engine::{Engine, Settings, Wish};

    use super::*;

    #[test]
    fn it_keeps_the_latest_events_and_reads_as_a_journal() {
        let machine = numaestro_topology::synthetic::parse("core:4 pu:1").unwrap();
        let settings = Settings::default();
        let mut engine = Engine::new(machine.clone(), settings.clone(), 1).unwrap();
        let mut history = History::default();
        history.begin(journal::encode_head(&machine, &settings, 1));
        let mut actions = Vec::new();
        let mut turned = 0;
        // What a reader has who asks for the rest, again and again.
        let (mut read, mut next, mut all) = (String::new(), history.events(), String::new());
        for number in 1..5000 {
            let app = AppId(number);
            for event in [Event::Arrive { app, wish: Wish::new(4) }, Event::Depart { app }] {
                engine.step(number, &event, &mut actions);
                let named = matches!(event, Event::Arrive { .. }).then_some("cg");
                if named.is_some() {
                    history.arrives(app, 500);
                }
                let line = history.step(number, named, &event, &actions).to_vec();
                assert_eq!(line.last(), Some(&b'\n'));
                all += std::str::from_utf8(&line).unwrap();
                if number % 7 == 0 {
                    read += &history.after(next).unwrap();
                    next = history.events();
                }
                engine.recycle(&mut actions);
                if history.is_full() {
                    turned += 1;
                    history.turn_over(number, engine.snapshot());
                }
            }
        }
        assert!(turned > 4 && history.names().is_empty());
        read += &history.after(next).unwrap();
        assert!(read == all, "each event once, in order");
        assert_eq!(history.after(history.events()), Some(String::new()));
        let told = |after| history.told(after, 6000, &|| engine.snapshot());
        assert_eq!(told(Some(history.events())), (String::new(), true));
        assert_eq!(told(Some(1)), (history.journal(6000, engine.snapshot()), false));
        let (rest, is_rest) = told(Some(history.events() - 1));
        assert!(is_rest && rest.lines().count() == 2 && State::decode(rest.lines().last().unwrap()).is_ok(), "{rest}");
        assert_eq!((history.after(1), history.after(history.events() + 1)), (None, None), "forgotten; to come");
        assert_eq!((history.user_of(AppId(4999)), history.user_of(AppId(1))), (Some(500), None));
        let kept = history.older.len() + history.newer.len();
        assert!(kept < 3 * PART_BYTES && kept > PART_BYTES, "{kept}");
        let text = history.journal(6000, engine.snapshot());
        let mut lines = text.lines();
        let mut chronicle = Chronicle::new(lines.next().unwrap(), usize::MAX).unwrap();
        lines.for_each(|line| chronicle.line(line).unwrap());
        assert_eq!(chronicle.snapshot(), &engine.snapshot());
        assert!(chronicle.decisions().count() > 500);
        assert_eq!(chronicle.decisions().next_back().unwrap().at, 4999);
    }

    #[test]
    fn a_refused_application_leaves_no_name_and_a_large_state_is_no_full_part() {
        let mut history = History::default();
        history.begin(String::new());
        let app = AppId(1);
        let refuse = Action::Refuse { app: Some(app), reason: "too much".to_owned() };
        history.step(1, Some("cg"), &Event::Arrive { app, wish: Wish::new(4) }, &[refuse]);
        assert!(history.names().is_empty());
        let machine = numaestro_topology::synthetic::parse("core:4096 pu:1").unwrap();
        let engine = Engine::new(machine, Settings::default(), 1).unwrap();
        history.turn_over(2, engine.snapshot());
        assert!(history.states[1] > PART_BYTES && !history.is_full(), "{:?}", history.states);
        let before = history.events();
        history.begin(String::new());
        assert_eq!((history.after(before), history.after(history.events())), (None, Some(String::new())));
    }
}
