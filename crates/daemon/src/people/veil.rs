//! The history as a user may see it who is no administrator: as in `status`, only their own
//! programs, and of others' the processors that are taken.
//!
//! A step about somebody else's program is left out, or, where it changed something for the user's
//! own programs, its event is hidden. Other users' entitlements are hidden too.

use numaestro_engine::journal::{self, State};
use numaestro_engine::{Event, PuState, Snapshot};
use numaestro_policy::AppId;

/// The lines of a journal that a user may see. `own`: whether an application is this user's.
pub(crate) fn veiled(lines: &str, own: &dyn Fn(AppId) -> bool) -> String {
    let mut lines = lines.lines();
    let mut out = lines.next().map(without_parties).unwrap_or_default();
    // So the reader knows that events are hidden, even if none is.
    out.push('\n');
    out += &journal::encode_veiled(0, &[]);
    out.push('\n');
    lines.filter_map(|line| seen(line, own)).for_each(|line| push(&mut out, &line));
    out
}

/// The same of lines from the middle of a journal.
pub(crate) fn veiled_rest(lines: &str, own: &dyn Fn(AppId) -> bool) -> String {
    let mut out = String::new();
    lines.lines().filter_map(|line| seen(line, own)).for_each(|line| push(&mut out, &line));
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn without_parties(head: &str) -> String {
    let Ok((machine, mut settings, seed)) = journal::decode_head(head) else { return String::new() };
    settings.parties.clear();
    journal::encode_head(&machine, &settings, seed)
}

/// A line as the user may see it; `None`: not at all.
fn seen(line: &str, own: &dyn Fn(AppId) -> bool) -> Option<String> {
    if let Ok(State { at, state, mut names }) = State::decode(line) {
        names.retain(|app, _| own(*app));
        return Some(State { at, state: own_state(state, own), names }.encode());
    }
    let (at, mut event, mut actions) = journal::decode(line).ok()?;
    actions.retain(|action| action.app().is_none_or(own));
    // The times of the manager's own events tell of others' turns and grace times.
    let open = match &event {
        Event::Parties { .. } => false,
        Event::Timer => !actions.is_empty(),
        event => event.app().is_none_or(own),
    };
    match (open, actions.is_empty()) {
        (true, _) => {
            let mut name = None;
            if let Event::Arrive { wish, .. } = &mut event {
                (wish.party, name) = (0, journal::name(line));
            }
            Some(journal::encode_named(at, name.as_deref(), &event, &actions))
        }
        (false, false) => Some(journal::encode_veiled(at, &actions)),
        (false, true) => None,
    }
}

fn own_state(mut state: Snapshot, own: &dyn Fn(AppId) -> bool) -> Snapshot {
    state.apps.retain(|app| own(app.app));
    state.queue.retain(|app| own(*app));
    state.work_list.retain(|app| own(*app));
    for pu in &mut state.pus {
        if pu.owner.is_some_and(|owner| !own(owner)) {
            (pu.owner, pu.state) = (None, PuState::Owned);
        }
        pu.next = pu.next.filter(|next| own(*next));
        pu.guests.retain(|guest| own(*guest));
    }
    state
}

#[cfg(test)]
mod tests {
    use numaestro_engine::explain::{Chronicle, Heard};
    use numaestro_engine::{Engine, Settings, Wish};

    use super::*;

    #[test]
    fn of_others_only_the_processors_that_they_take() {
        let machine = numaestro_topology::synthetic::parse("core:4 pu:1").unwrap();
        let settings = Settings { parties: vec![numaestro_policy::Party::default()], ..Settings::default() };
        let mut engine = Engine::new(machine.clone(), settings.clone(), 1).unwrap();
        let mut lines = journal::encode_head(&machine, &settings, 1) + "\n";
        let arrive = |app, request| Event::Arrive { app: AppId(app), wish: Wish::new(request) };
        let events = [
            (arrive(1, 4), Some("mine")),
            (arrive(2, 3), Some("secret")),
            (Event::Request { app: AppId(2), processors: 2 }, None),
            (Event::Adopted { app: AppId(1), epoch: 2 }, None),
            (Event::Depart { app: AppId(2) }, None),
        ];
        for (at, (event, name)) in (1..).zip(events) {
            let mut actions = Vec::new();
            engine.step(at, &event, &mut actions);
            lines += &(journal::encode_named(at, name, &event, &actions) + "\n");
            let names = [(AppId(1), "mine".to_owned()), (AppId(2), "secret".to_owned())].into();
            lines += &(State { at, state: engine.snapshot(), names }.encode() + "\n");
        }
        let text = veiled(&lines, &|app| app == AppId(1));
        for secret in ["secret", "\"app\":2", "\"owner\":2", "\"next\":2", "\"2\":", "parties"] {
            assert!(lines.contains(secret) && !text.contains(secret), "{secret} in {text}");
        }
        let (_, rest) = lines.split_once('\n').unwrap();
        assert!(text.ends_with(&veiled_rest(rest, &|app| app == AppId(1))), "the middle of a journal is as veiled");
        let mut lines = text.lines();
        let mut chronicle = Chronicle::new(lines.next().unwrap(), usize::MAX).unwrap();
        lines.for_each(|line| chronicle.line(line).unwrap());
        let latest = chronicle.latest_on(AppId(1)).unwrap();
        assert_eq!(latest.heard, Heard::Veiled, "the end of the other program");
        assert_eq!(chronicle.app(AppId(1)).unwrap().count, 4);
        let link = chronicle.chain(AppId(1)).pop().unwrap();
        assert!(link.event.starts_with("another user's program"), "{link:?}");
    }
}
