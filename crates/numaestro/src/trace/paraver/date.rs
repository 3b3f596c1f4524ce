//! The date in the header of Paraver's files.

/// Day and minute in universal time of seconds since 1970, as Paraver writes them.
pub fn of(seconds: u64) -> String {
    // Years begin in March here, so that the day which is not in every year is the last one. Eras
    // are of 400 years, which all have equally many days.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(month <= 2);
    let minute = seconds / 60 % 1440;
    format!("{day:02}/{month:02}/{year} at {:02}:{:02}", minute / 60, minute % 60)
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
