//! Finds the application that a person names: by its letter in `status`, its number, the id of one
//! of its processes, or its name. Nothing else in the manager or in the command does. Of an earlier
//! time there are no letters and no processes.
//!
//! All four ways are tried, because a word can be of two kinds: a program may be called `A`, and a
//! number may be that of an application and that of a process. A word is good if all that fits it
//! is one application. Letters and numbers of applications are always there to tell two apart.

use std::collections::BTreeSet;

use numaestro_abi::control::{AppName, RefusalKind, letter};
use numaestro_quantity::names::did_you_mean;

use crate::identity::rights::Refusal;

/// Applications that one message names at most.
const LISTED_MOST: usize = 12;

/// An application that the person sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its number.
    pub number: u64,
    /// Its process. `None`: it is not known, because it is about an earlier time.
    pub pid: Option<u32>,
    /// Its name.
    pub name: &'a str,
}

/// The applications that a person sees, in the order in which `status` shows them.
#[derive(Debug)]
pub struct Names<'a> {
    /// See above.
    pub seen: Vec<Named<'a>>,
    /// "there is" or "you have", as the person may know of everybody's applications or not.
    pub there_is: &'static str,
    /// `status` shows them now, so they have letters.
    pub has_letters: bool,
}

impl Names<'_> {
    /// The number of the application with this name. `of_process`: the application of a process.
    ///
    /// # Errors
    /// The name fits none, or several.
    pub fn find(&self, name: &AppName, of_process: impl Fn(u32) -> Option<u64>) -> Result<u64, Refusal> {
        let word = match name {
            AppName::Number(number) if self.has(*number) => return Ok(*number),
            AppName::Number(_) => return Err(self.lacking(name, "")),
            AppName::Word(word) => word.trim(),
        };
        let fitting = self.fitting(word, of_process);
        let mut each = fitting.iter();
        match (each.next(), each.next()) {
            (Some(app), None) => Ok(*app),
            (None, _) => Err(self.lacking(name, &did_you_mean(word, self.seen.iter().map(|app| app.name)))),
            (Some(_), Some(_)) => {
                let what = format!("`{word}` fits {} applications: {}", fitting.len(), self.listed(&fitting));
                let hint = if self.has_letters {
                    "name one by its letter or number, or by the id of its process"
                } else {
                    "name one by its number"
                };
                Err(Refusal::new(what, hint).of_kind(RefusalKind::Usage))
            }
        }
    }

    fn has(&self, number: u64) -> bool {
        self.seen.iter().any(|app| app.number == number)
    }

    /// The numbers of all applications that a word fits.
    fn fitting(&self, word: &str, of_process: impl Fn(u32) -> Option<u64>) -> BTreeSet<u64> {
        let by_letter = |place: usize| self.has_letters && letter(place) != '#' && word == letter(place).to_string();
        let seen = || self.seen.iter().enumerate();
        let fits = |place: usize, app: &Named<'_>| {
            by_letter(place)
                || word == app.name
                || word.parse() == Ok(app.number)
                || app.pid.is_some_and(|pid| word.parse() == Ok(pid))
        };
        let mut fitting: BTreeSet<u64> =
            seen().filter(|(place, app)| fits(*place, app)).map(|(_, app)| app.number).collect();
        fitting.extend(word.parse().ok().and_then(of_process).filter(|app| self.has(*app)));
        if fitting.is_empty() {
            let alike = self.seen.iter().filter(|app| word.eq_ignore_ascii_case(app.name));
            fitting.extend(alike.map(|app| app.number));
        }
        fitting
    }

    fn lacking(&self, name: &AppName, meant: &str) -> Refusal {
        let all = self.seen.iter().map(|app| app.number).collect();
        let hint = match self.seen.len() {
            0 => "no application runs; `numaestro adopt PID` takes over a running program".to_owned(),
            1..=LISTED_MOST => format!("there are: {}", self.listed(&all)),
            _ => "`numaestro status` shows those that there are".to_owned(),
        };
        Refusal::new(format!("{} no application `{name}`{meant}", self.there_is), hint).of_kind(RefusalKind::Absent)
    }

    /// "A lulesh (application 3, process 4711), B …".
    fn listed(&self, which: &BTreeSet<u64>) -> String {
        let all = self.seen.iter().enumerate().filter(|(_, app)| which.contains(&app.number));
        let one = |(place, app): (usize, &Named<'_>)| {
            let letter = if self.has_letters { format!("{} ", letter(place)) } else { String::new() };
            let process = app.pid.map_or_else(String::new, |pid| format!(", process {pid}"));
            format!("{letter}{} (application {}{process})", app.name, app.number)
        };
        let more = if which.len() > LISTED_MOST { ", and more" } else { "" };
        all.take(LISTED_MOST).map(one).collect::<Vec<_>>().join(", ") + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPS: [Named<'_>; 4] = [
        Named { number: 3, pid: Some(4711), name: "lulesh" },
        Named { number: 5, pid: Some(4712), name: "python3" },
        Named { number: 6, pid: Some(4713), name: "python3" },
        Named { number: 9, pid: Some(5), name: "A" },
    ];

    fn find(seen: &[Named<'_>], word: &str) -> Result<u64, Refusal> {
        let names = Names { seen: seen.to_vec(), there_is: "there is", has_letters: true };
        // Process 4720 belongs to the second one; 4730 to somebody whom this person does not see.
        let of_process = |pid| match pid {
            4720 => Some(5),
            4730 => Some(8),
            _ => None,
        };
        names.find(&AppName::Word(word.to_owned()), of_process)
    }

    #[test]
    fn by_letter_number_process_and_name() {
        for (word, app) in
            [("B", 5), ("3", 3), ("4713", 6), ("4720", 5), ("lulesh", 3), (" Lulesh ", 3), ("D", 9), ("6", 6), ("9", 9)]
        {
            assert_eq!(find(&APPS, word), Ok(app), "{word}");
        }
    }

    #[test]
    fn a_word_that_fits_two_lists_both() {
        for (word, both) in [
            ("python3", ["B python3 (application 5, process 4712)", "C python3 (application 6, process 4713)"]),
            // A letter and a name; a number and the id of a process.
            ("A", ["A lulesh (application 3", "D A (application 9"]),
            ("5", ["B python3 (application 5", "D A (application 9"]),
        ] {
            let refusal = find(&APPS, word).unwrap_err();
            assert!(refusal.reason.contains("fits 2 applications"), "{refusal:?}");
            assert!(both.iter().all(|one| refusal.reason.contains(one)), "{refusal:?}");
            assert_eq!(refusal.kind, RefusalKind::Usage);
        }
    }

    #[test]
    fn a_word_that_fits_nothing_says_what_there_is() {
        let refusal = find(&APPS, "luesh").unwrap_err();
        assert_eq!(refusal.reason, "there is no application `luesh`; did you mean `lulesh`?");
        assert!(refusal.hint.contains("D A (application 9, process 5)"), "{refusal:?}");
        assert_eq!(refusal.kind, RefusalKind::Absent);
        for word in ["", "E", "4730", "8", "-3", "18446744073709551616", "\u{1b}[2J"] {
            assert_eq!(find(&APPS, word).unwrap_err().kind, RefusalKind::Absent, "{word}");
        }
        assert!(find(&[], "A").unwrap_err().hint.contains("no application runs"));
    }

    #[test]
    fn an_earlier_time_has_no_letters_and_no_processes() {
        let seen: Vec<Named<'_>> = APPS.iter().map(|app| Named { pid: None, ..*app }).collect();
        let names = Names { seen, there_is: "there is", has_letters: false };
        let find = |word: &str| names.find(&AppName::Word(word.to_owned()), |_| None);
        assert_eq!((find("A"), find("5"), find("lulesh")), (Ok(9), Ok(5), Ok(3)));
        assert_eq!(find("B").unwrap_err().kind, RefusalKind::Absent);
        let refusal = find("python3").unwrap_err();
        let what = "`python3` fits 2 applications: python3 (application 5), python3 (application 6)";
        assert_eq!((refusal.reason.as_str(), refusal.hint.as_str()), (what, "name one by its number"));
    }

    #[test]
    fn a_number_from_a_program_is_exact() {
        let names = Names { seen: APPS.to_vec(), there_is: "you have", has_letters: true };
        assert_eq!(names.find(&AppName::Number(5), |_| None), Ok(5));
        let refusal = names.find(&AppName::Number(4711), |_| None).unwrap_err();
        assert_eq!(refusal.reason, "you have no application `4711`");
    }
}
