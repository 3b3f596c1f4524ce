//! The columns of `top`'s table. Words and contents are those of `status` where they mean the same.
//!
//! A terminal that is too narrow for all of them shows the first ones by rank.

use super::listing::has_users;
use super::model::Entry;
use crate::folding;
use crate::status::{age, class_word, clean, limit_word, state_words, weight_word};
use numaestro_abi::control::{Status, letter};

/// A column: its head, its width, its rank, and its contents.
pub struct Column {
    pub head: &'static str,
    pub width: u16,
    /// 0 is shown first.
    rank: u8,
    text: fn(&Entry<'_>) -> String,
}

const COLUMNS: [Column; 19] = [
    Column { head: "", width: 1, rank: 0, text: |row| letter(row.place).to_string() },
    Column { head: "APP", width: 4, rank: 8, text: |row| row.app.app.to_string() },
    Column { head: "PID", width: 7, rank: 11, text: |row| row.app.pid.to_string() },
    Column { head: "USER", width: 8, rank: 12, text: |row| clean(row.app.user.as_deref().unwrap_or("-")) },
    Column { head: "JOB", width: 9, rank: 13, text: |row| clean(row.app.job.as_deref().unwrap_or("-")) },
    Column { head: "NAME", width: 12, rank: 1, text: |row| clean(&row.app.name) },
    Column { head: "CLASS", width: 9, rank: 6, text: |row| class_word(row.app.class).to_owned() },
    Column { head: "STATE", width: 14, rank: 5, text: |row| state_words(row.app) },
    Column { head: "HAS", width: 3, rank: 2, text: |row| row.app.count.to_string() },
    Column { head: "ASKS", width: 4, rank: 16, text: |row| row.app.request.to_string() },
    Column { head: "MAX", width: 4, rank: 9, text: |row| limit_word(row.app) },
    Column { head: "WEIGHT", width: 6, rank: 15, text: |row| weight_word(row.app) },
    Column { head: "CPUS", width: 7, rank: 3, text: |row| row.app.cpus.clone() },
    Column { head: "TEAM", width: 4, rank: 4, text: |row| row.app.team.to_string() },
    Column { head: "CPU%", width: 5, rank: 7, text: |row| row.cpu.map_or_else(unknown, |cpu| format!("{cpu:.0}")) },
    Column { head: "REG/S", width: 6, rank: 10, text: |row| row.regions.map_or_else(unknown, folding::rate) },
    Column { head: "FOLD", width: 6, rank: 14, text: |row| folding::short(row.app) },
    Column { head: "AGE", width: 6, rank: 17, text: |row| age(row.app.age_s) },
    Column { head: "HELD BY", width: 17, rank: 18, text: |row| row.app.held_by.clone() },
];

fn unknown() -> String {
    "-".to_owned()
}

impl Column {
    /// The contents for a row.
    pub fn text(&self, row: &Entry<'_>) -> String {
        (self.text)(row)
    }
}

/// The columns that a terminal of this width has room for, in the order of the table. Each has a
/// blank behind it.
pub fn shown(status: &Status, width: u16) -> Vec<&'static Column> {
    let (users, jobs) = (has_users(status), status.apps.iter().any(|app| app.job.is_some()));
    let has_rows = |column: &&Column| (users || column.head != "USER") && (jobs || column.head != "JOB");
    let mut ranked: Vec<&Column> = COLUMNS.iter().filter(has_rows).collect();
    ranked.sort_by_key(|column| column.rank);
    let mut room = width;
    let fits = |column: &&Column| {
        let left = room.checked_sub(column.width + 1);
        room = left.unwrap_or(0);
        left.is_some() || column.rank == 0
    };
    let last = ranked.into_iter().take_while(fits).map(|column| column.rank).max();
    COLUMNS.iter().filter(has_rows).filter(|column| Some(column.rank) <= last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;

    fn heads(status: &Status, width: u16) -> Vec<&'static str> {
        shown(status, width).iter().map(|column| column.head).collect()
    }

    #[test]
    fn a_narrow_terminal_shows_what_matters_most() {
        let mut status = example();
        assert_eq!(heads(&status, 0), [""]);
        assert_eq!(heads(&status, 20), ["", "NAME", "HAS"]);
        let usual = ["", "APP", "NAME", "CLASS", "STATE", "HAS", "MAX", "CPUS", "TEAM", "CPU%", "REG/S"];
        assert_eq!(heads(&status, 80), usual);
        assert_eq!(heads(&status, 200).len(), COLUMNS.len() - 2, "all but users and jobs, of which there are none");
        for app in &mut status.apps {
            app.user = Some("bob".into());
        }
        assert_eq!(heads(&status, 80), usual);
        assert_eq!(heads(&status, 200).len(), COLUMNS.len() - 1);
        status.apps[0].job = Some("12.0/3".into());
        assert_eq!(heads(&status, 200).len(), COLUMNS.len());
    }
}
