//! Reads what is asked: a program, a processor, or a time.

use anyhow::{Context, bail};
use numaestro_quantity::DURATION;
use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

/// What an explanation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// All programs.
    All,
    /// A processor, by the number of the operating system.
    Cpu(u32),
    /// A program, as the user named it.
    App(String),
}

/// The time that an explanation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nanoseconds since 1970.
    Wall(u64),
    /// Nanoseconds after the first event.
    After(u64),
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub subject: Subject,
    /// `None`: now.
    pub at: Option<Moment>,
}

impl Question {
    /// Reads the words of the command line. `now`: the present time where the user is.
    pub fn read(words: &[String], at: Option<&str>, now: OffsetDateTime) -> anyhow::Result<Self> {
        let text = words.join(" ");
        let at = at.map(|at| moment(at, now).with_context(|| not_a_time(at))).transpose()?;
        let subject = match text.as_str() {
            "" => Subject::All,
            text => match (cpu(text), moment(text, now)) {
                (Some(cpu), _) => Subject::Cpu(cpu),
                (None, Some(moment)) => {
                    anyhow::ensure!(at.is_none(), "`{text}` is a time, and --at names another one");
                    return Ok(Self { subject: Subject::All, at: Some(moment) });
                }
                (None, None) if words.len() > 1 => bail!("{}", not_a_time(text)),
                (None, None) => Subject::App(text.to_owned()),
            },
        };
        Ok(Self { subject, at })
    }
}

fn not_a_time(text: &str) -> String {
    format!("`{text}` is no time: say 14:05, 14:05:30, `2026-07-09 14:05`, `10 min ago` or +90s")
}

/// `cpu 3`, `cpu3` or `cpu:3`.
fn cpu(text: &str) -> Option<u32> {
    let rest = text.strip_prefix("cpu").or_else(|| text.strip_prefix("CPU"))?;
    rest.trim_start_matches([' ', ':']).parse().ok()
}

fn moment(text: &str, now: OffsetDateTime) -> Option<Moment> {
    let text = text.trim();
    if let Some(after) = text.strip_prefix('+') {
        return Some(Moment::After(span(after)?));
    }
    let wall = match text.strip_suffix("ago") {
        Some(before) => nanoseconds(now)?.checked_sub(span(before)?)?,
        None => nanoseconds(point(text, now)?)?,
    };
    Some(Moment::Wall(wall))
}

fn nanoseconds(at: OffsetDateTime) -> Option<u64> {
    u64::try_from(at.unix_timestamp_nanos()).ok()
}

/// `90s`, `10 min`, `1.5h`: nanoseconds.
fn span(text: &str) -> Option<u64> {
    u64::try_from(DURATION.read(text.trim()).ok()?.rounded()).ok()
}

/// `14:05`, the latest such time, or a date with it.
fn point(text: &str, now: OffsetDateTime) -> Option<OffsetDateTime> {
    if let Some((date, clock)) = text.split_once([' ', 'T']) {
        return Some(on(read_date(date)?, read_clock(clock)?, now.offset()));
    }
    let today = on(now.date(), read_clock(text)?, now.offset());
    Some(if today > now { today - time::Duration::DAY } else { today })
}

fn on(date: Date, clock: Time, offset: UtcOffset) -> OffsetDateTime {
    date.with_time(clock).assume_offset(offset)
}

fn read_date(text: &str) -> Option<Date> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?.parse().ok()?, parts.next()?.parse::<u8>().ok()?, parts.next()?);
    let day = day.parse().ok().filter(|_| parts.next().is_none())?;
    Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()
}

fn read_clock(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let (hour, minute) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let second = parts.next().map_or(Some(0), |second| second.parse().ok())?;
    Time::from_hms(hour, minute, second).ok().filter(|_| parts.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> OffsetDateTime {
        time::macros::datetime!(2026-07-09 14:13:20 +2)
    }

    fn asked(text: &str) -> Question {
        Question::read(&[text.to_owned()], None, now()).unwrap()
    }

    fn ago(text: &str) -> i64 {
        let Some(Moment::Wall(wall)) = asked(text).at else { panic!("{text} is no time") };
        now().unix_timestamp() - (wall / 1_000_000_000).cast_signed()
    }

    #[test]
    fn programs_processors_and_times() {
        assert_eq!(Question::read(&[], None, now()).unwrap(), Question { subject: Subject::All, at: None });
        assert_eq!(asked("lulesh"), Question { subject: Subject::App("lulesh".into()), at: None });
        assert_eq!(asked("4711").subject, Subject::App("4711".into()));
        for text in ["cpu 3", "cpu3", "cpu:3", "CPU 3"] {
            assert_eq!(asked(text).subject, Subject::Cpu(3), "{text}");
        }
        assert_eq!(asked("cpubench").subject, Subject::App("cpubench".into()));
        assert_eq!((ago("14:05"), ago("14:13:19"), ago("14:14")), (500, 1, 24 * 3600 - 40));
        assert_eq!((ago("10 min ago"), ago("90s ago"), ago("1.5h ago")), (600, 90, 5400));
        assert_eq!((ago("2026-07-09 14:00"), ago("2026-07-08T14:13:20")), (800, 24 * 3600));
        assert_eq!(asked("+90s").at, Some(Moment::After(90_000_000_000)));
    }

    #[test]
    fn nonsense_is_refused() {
        let read = |words: &[&str], at| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            Question::read(&words, at, now())
        };
        for at in ["yesterday", "25:00", "14:05:99", "2026-13-01 10:00", "-1s ago", "1e30 h ago", "14", "+", ""] {
            assert!(read(&["cg"], Some(at)).is_err(), "{at}");
        }
        assert!(read(&["two", "words"], None).is_err());
        assert!(read(&["14:05"], Some("14:06")).is_err());
        let both = read(&["cg"], Some("14:05")).unwrap();
        assert!(matches!(both, Question { subject: Subject::App(_), at: Some(Moment::Wall(_)) }));
    }
}
