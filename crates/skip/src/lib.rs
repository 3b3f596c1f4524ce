//! What a test says of the machine. That it cannot run here: [`skip!`] ends it, [`part`] leaves one
//! case of it out. That it needs the machine for itself: [`machine::alone`].
//!
//! [`programs`] makes programs that a test then starts.
//!
//! Cargo's harness knows tests that pass and tests that fail. A test that returns early would count
//! as passed. So both write one line to standard error, past the harness, which keeps what a
//! passing test prints to itself:
//!
//! ```text
//! skipped test manager::users::everybody_sees_their_own: only root can be several users
//! skipped in part blis: clang is not here
//! ```
//!
//! `scripts/count-tests.awk` reads these lines: it takes the first kind from the passed tests and
//! adds it to the skipped ones. `scripts/check-skips.sh` compares both kinds with the list of skips
//! that are allowed, `.ci/allowed-skips`.

pub mod machine;
pub mod programs;

use std::io::Write as _;

/// Ends the test as skipped. The reason is a format string: what is missing here, in a few words.
///
/// It returns from the function that it stands in, which must be the test itself or end it.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        $crate::whole(&format!($($reason)+));
        return;
    }};
}

/// Says that this test is skipped; [`skip!`] also ends it.
///
/// # Panics
/// On a thread that the harness has not started for a test: the line would name no test, and
/// nothing would be counted.
#[track_caller]
pub fn whole(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main");
    say(&line("skipped test", test.expect("only the thread of a test can skip it"), reason));
}

/// Says that one case of this test cannot be had here; the test goes on with the others and counts
/// as passed, so it must have others.
pub fn part(reason: &str) {
    let thread = std::thread::current();
    say(&line("skipped in part", thread.name().unwrap_or("main"), reason));
}

/// One line, and an end for the line that the harness may have begun (`test NAME ... `).
fn line(kind: &str, test: &str, reason: &str) -> String {
    format!("\n{kind} {test}: {}\n", reason.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// In one call, so that tests that run at the same time do not mix their lines.
fn say(line: &str) {
    let _ = std::io::stderr().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_several_lines_is_one_line() {
        assert_eq!(line("skipped test", "a::b", "no\n  such\tthing "), "\nskipped test a::b: no such thing\n");
    }

    /// The counter needs the name that the harness prints, also where tests run one at a time.
    #[test]
    fn a_test_runs_on_a_thread_of_its_name() {
        let thread = std::thread::current();
        assert_eq!(thread.name(), Some("tests::a_test_runs_on_a_thread_of_its_name"));
    }

    #[test]
    #[should_panic(expected = "only the thread of a test can skip it")]
    fn another_thread_cannot_skip_a_test() {
        let other = std::thread::spawn(|| whole("no reason"));
        std::panic::resume_unwind(other.join().expect_err("it has no name"));
    }
}
