//! The date in the header of Paraver's files.

use time::OffsetDateTime;
use time::macros::format_description;

/// Day and minute in universal time of seconds since 1970, as Paraver writes them.
pub fn of(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or_default();
    let date = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    date.format(format_description!("[day]/[month]/[year] at [hour]:[minute]")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "01/01/1970 at 00:00"),
            (951_782_399, "28/02/2000 at 23:59"),
            (951_782_400, "29/02/2000 at 00:00"),
            (978_307_199, "31/12/2000 at 23:59"),
            (4_107_542_400, "01/03/2100 at 00:00"),
        ] {
            assert_eq!(of(seconds), expected);
        }
    }
}
