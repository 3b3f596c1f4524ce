//! Moments as people say them: a time of day, a date with it, so long ago, or so long after the
//! begin of what is read.

use anyhow::Context;
use numaestro_quantity::DURATION;
use numaestro_recording::Stamp;
use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

/// The time zone of the person who reads; UTC where the system does not say it.
pub fn local_offset() -> UtcOffset {
    UtcOffset::current_local_offset().unwrap_or(UtcOffset::UTC)
}

/// A moment of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nanoseconds since 1970.
    Wall(u64),
    /// Nanoseconds after the first event.
    After(u64),
}

impl Moment {
    /// Reads `14:05` (the latest such time), `14:05:30`, `2026-07-09 14:05`, `10 min ago`, `+90s`.
    /// `now`: the present time where the user is.
    ///
    /// # Errors
    /// It is no time, and the text says what is one; or it is still to come.
    pub fn read(text: &str, now: OffsetDateTime) -> anyhow::Result<Self> {
        let said = text.trim();
        let point = point(said, now);
        if let Some(point) = point.filter(|point| *point > now) {
            anyhow::bail!(
                "`{said}` is still to come: it is {}, and now it is {}",
                day_and_time(point),
                day_and_time(now)
            );
        }
        point.and_then(nanoseconds).map(Self::Wall).or_else(|| span_of(said, now)).with_context(|| {
            format!("`{text}` is no time: say 14:05, 14:05:30, `2026-07-09 14:05`, `10 min ago` or +90s")
        })
    }

    /// The same on a journal's clock, whose first event was at `first`.
    ///
    /// # Errors
    /// The journal does not tell what time of day it was.
    pub fn on_journal(self, first: u64, stamp: Option<Stamp>) -> anyhow::Result<u64> {
        match (self, stamp) {
            (Self::After(after), _) => Ok(first.saturating_add(after)),
            (Self::Wall(wall), Some(stamp)) if wall >= stamp.wall => Ok(stamp.at.saturating_add(wall - stamp.wall)),
            (Self::Wall(wall), Some(stamp)) => Ok(stamp.at.saturating_sub(stamp.wall - wall)),
            (Self::Wall(_), None) => {
                anyhow::bail!("this journal has no times of day: say +90s for 90 seconds after its first event")
            }
        }
    }
}

/// A time (nanoseconds since 1970) for people, to the second, with its day.
pub fn shown(wall: u64, offset: UtcOffset) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(wall.into()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    day_and_time(at.to_offset(offset))
}

fn day_and_time(at: OffsetDateTime) -> String {
    let format = time::macros::format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    at.format(format).unwrap_or_default()
}

/// `+90s`, `10 min ago`.
fn span_of(text: &str, now: OffsetDateTime) -> Option<Moment> {
    if let Some(after) = text.strip_prefix('+') {
        return Some(Moment::After(span(after)?));
    }
    Some(Moment::Wall(nanoseconds(now)?.checked_sub(span(text.strip_suffix("ago")?)?)?))
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

    fn ago(text: &str) -> i64 {
        let Moment::Wall(wall) = Moment::read(text, now()).unwrap() else { panic!("{text} is no time of day") };
        now().unix_timestamp() - (wall / 1_000_000_000).cast_signed()
    }

    #[test]
    fn times_of_people() {
        assert_eq!((ago("14:05"), ago("14:13:19"), ago("14:14")), (500, 1, 24 * 3600 - 40));
        assert_eq!((ago("10 min ago"), ago("90s ago"), ago("1.5h ago")), (600, 90, 5400));
        assert_eq!((ago("2026-07-09 14:00"), ago("2026-07-08T14:13:20")), (800, 24 * 3600));
        assert_eq!(Moment::read("+90s", now()).unwrap(), Moment::After(90_000_000_000));
        for text in ["yesterday", "25:00", "14:05:99", "2026-13-01 10:00", "-1s ago", "1e30 h ago", "14", "+", ""] {
            assert!(Moment::read(text, now()).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_still_to_come_is_said_with_the_time_that_it_is_now() {
        let problem = |text: &str| Moment::read(text, now()).unwrap_err().to_string();
        assert_eq!(
            problem("2027-01-01 00:00"),
            "`2027-01-01 00:00` is still to come: it is 2027-01-01 00:00:00, and now it is 2026-07-09 14:13:20"
        );
        assert!(problem("2026-07-09 14:13:21").contains("still to come"));
        assert_eq!(ago("2026-07-09 14:13:20"), 0, "now is not to come");
    }

    #[test]
    fn moments_on_the_clock_of_a_journal() {
        let stamp = Some(Stamp { at: 1000, wall: 50_000 });
        let at = |moment: Moment, stamp| moment.on_journal(700, stamp).ok();
        assert_eq!(at(Moment::After(5), None), Some(705));
        assert_eq!(at(Moment::Wall(50_300), stamp), Some(1300));
        assert_eq!(at(Moment::Wall(49_900), stamp), Some(900));
        assert_eq!(at(Moment::Wall(1), stamp), Some(0));
        assert_eq!(at(Moment::Wall(50_300), None), None);
    }
}
