//! Parts of a journal against the whole.

use super::*;
use crate::recordings::{numbered, story};
use numaestro_engine::explain::Chronicle;

const MS: u64 = 1_000_000;
/// The wall clock when the journal's clock began.
const EPOCH: u64 = 1_700_000_000_000_000_000;

/// The first nine events of the story, a stamp behind each third.
fn journal(is_stamped: bool) -> Vec<String> {
    let (story, _) = story::journal();
    let mut lines = Vec::new();
    for (number, line) in (0..=9).zip(story) {
        lines.push(line);
        if is_stamped && number > 0 && number % 3 == 0 {
            lines.push(Stamp { at: number * MS, wall: EPOCH + number * MS }.encode());
        }
    }
    lines
}

fn cut(lines: &[String], since: Option<Moment>, until: Option<Moment>) -> anyhow::Result<Vec<String>> {
    story::part(lines, Part { since, until })?.map(|line| Ok(line?.1)).collect()
}

fn events(lines: &[String]) -> Vec<&String> {
    lines.iter().skip(1).filter(|line| !journal::is_aside(line)).collect()
}

fn heard(lines: &[String]) -> Chronicle {
    let mut chronicle = Chronicle::new(&lines[0], 100).unwrap();
    lines[1..].iter().for_each(|line| chronicle.line(line).unwrap());
    chronicle
}

/// The whole journal up to a time.
fn up_to(lines: &[String], at: u64) -> Vec<String> {
    let is_in = |line: &&String| time_of_history(line).is_none_or(|time| time <= at);
    lines.iter().filter(is_in).cloned().collect()
}

#[test]
fn a_part_has_its_events_and_the_state_before_them() {
    for is_stamped in [true, false] {
        let whole = journal(is_stamped);
        for (since, until) in (1..=10).flat_map(|since| (since..=11).map(move |until| (since, until))) {
            // The first event is at 1 ms.
            let after = |at: u64| Moment::After((at - 1) * MS);
            let wall = |at: u64| Moment::Wall(EPOCH + at * MS);
            let part = cut(&whole, Some(after(since)), Some(after(until))).unwrap();
            if is_stamped {
                assert_eq!(part, cut(&whole, Some(wall(since)), Some(wall(until))).unwrap(), "{since} to {until}");
            }
            let expected: Vec<&String> = events(&whole)
                .into_iter()
                .filter(|line| time_of_history(line).is_some_and(|at| (since * MS..=until * MS).contains(&at)))
                .collect();
            assert_eq!(events(&part), expected, "{since} to {until}");
            let (told, known) = (heard(&part), heard(&up_to(&whole, until * MS)));
            let names = |chronicle: &Chronicle| {
                let apps = chronicle.snapshot().apps.iter();
                apps.map(|app| chronicle.names().get(&app.app).cloned()).collect::<Vec<_>>()
            };
            assert_eq!(told.snapshot().apps, known.snapshot().apps, "{since} to {until}");
            assert_eq!(told.snapshot().pus, known.snapshot().pus, "{since} to {until}");
            assert_eq!(told.snapshot().policy, known.snapshot().policy, "{since} to {until}");
            assert_eq!(names(&told), names(&known), "{since} to {until}");
            assert_eq!(Begins::decode(&part[1]).unwrap().continues, since > 1);
            assert_eq!(part.iter().any(|line| stamp_of(line).is_some()), is_stamped);
        }
    }
}

#[test]
fn a_part_of_a_part_is_one() {
    let whole = journal(true);
    let at = |at: u64| Some(Moment::Wall(EPOCH + at * MS));
    let outer = cut(&whole, at(3), at(8)).unwrap();
    let inner = cut(&outer, at(5), at(7)).unwrap();
    let direct = cut(&whole, at(5), at(7)).unwrap();
    assert_eq!(events(&inner), events(&direct));
    assert_eq!(heard(&inner).snapshot(), heard(&direct).snapshot());
}

#[test]
fn an_end_alone_changes_nothing_before_it() {
    let whole = journal(true);
    let part = cut(&whole, None, Some(Moment::After(4 * MS))).unwrap();
    assert_eq!(part[..6], whole[..6]);
    assert_eq!(events(&part).len(), 5);
}

#[test]
fn a_part_that_ends_behind_the_journal_has_its_end_unless_that_is_long_after() {
    let whole = journal(true);
    let end_of = |since: Option<u64>, until: u64| {
        let wall = |at: u64| Moment::Wall(EPOCH + at * MS);
        let part = cut(&whole, since.map(wall), Some(wall(until))).unwrap();
        stamp_of(part.last().unwrap()).map(|stamp| (stamp.at / MS, (stamp.wall - EPOCH) / MS))
    };
    let quiet = QUIET_MOST_NS / MS;
    for since in [None, Some(4), Some(20)] {
        assert_eq!(end_of(since, 5000), Some((5000, 5000)), "{since:?}");
        assert_eq!(end_of(since, 9 + quiet + 5000), Some((9 + quiet, 9 + quiet)), "{since:?}");
    }
    let begin = 9 + quiet + 100;
    assert_eq!(end_of(Some(begin), begin + 100), Some((begin, begin)), "no word of its end");
}

#[test]
fn what_cannot_be_cut_is_said() {
    let problem = |lines: &[String], since, until| cut(lines, since, until).unwrap_err().to_string();
    let wall = Some(Moment::Wall(EPOCH));
    assert!(problem(&journal(false), wall, None).contains("no times of day"));
    assert!(problem(&journal(false), None, wall).contains("no times of day"));
    let (early, late) = (Some(Moment::After(MS)), Some(Moment::After(2 * MS)));
    assert!(problem(&journal(true), late, early).contains("ends before it begins"));
    // A line that cannot be heard is handed on, with its number: the reader says what is wrong.
    let mut wrong = journal(true);
    wrong[2] = "{\"at\":2000000,\"event\":".to_owned();
    let lines = || numbered(wrong.iter().map(|line| Ok(line.clone())));
    let mut part = Cut::new(lines(), Part { since: late, until: None }, Origin::of(lines()).unwrap()).unwrap();
    assert!(part.any(|line| line.is_ok_and(|line| line == (3, wrong[2].clone()))));
    let mut torn = journal(true);
    torn.truncate(3);
    torn[2].truncate(40);
    assert_eq!(cut(&torn, late, None).unwrap().last(), torn.last(), "a last line may be cut off");
}

/// The machine sleeps for an hour before the seventh event: the clock of the journal stands still.
#[test]
fn a_stamp_is_about_the_lines_before_it() {
    const HOUR: u64 = 3600 * 1000 * MS;
    let mut whole = journal(true);
    let last = whole.iter().rposition(|line| stamp_of(line).is_some()).unwrap();
    whole[last] = Stamp { at: 9 * MS, wall: EPOCH + 9 * MS + HOUR }.encode();
    let morning = Some(Moment::Wall(EPOCH + 7 * MS + HOUR));
    assert_eq!(events(&cut(&whole, morning, None).unwrap()).len(), 3);
    let evening = Some(Moment::Wall(EPOCH + 8 * MS));
    assert_eq!(events(&cut(&whole, None, evening).unwrap()).len(), 6);
}

#[test]
fn a_state_in_the_middle_begins_the_picture_anew() {
    let mut whole = journal(true);
    let before = heard(&up_to(&whole, 5 * MS));
    let place = whole.iter().position(|line| time_of_history(line) == Some(6 * MS)).unwrap();
    let (state, names) = (before.snapshot().clone(), before.names().clone());
    whole.insert(place, State { at: 5 * MS, state, names }.encode());
    let plain = journal(true);
    for since in 3..=9 {
        let since = Some(Moment::Wall(EPOCH + since * MS));
        let (with, without) = (cut(&whole, since, None).unwrap(), cut(&plain, since, None).unwrap());
        assert_eq!(events(&with), events(&without), "{since:?}");
        assert_eq!(heard(&with).snapshot(), heard(&without).snapshot(), "{since:?}");
        assert_eq!(heard(&with).names(), heard(&without).names(), "{since:?}");
    }
}
