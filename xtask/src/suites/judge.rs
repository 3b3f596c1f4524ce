//! Whether a managed run is one that the program could also have made alone.
//!
//! Programs say more or less the same each time. So there are three measures, and a program is
//! measured by the strictest in which its own runs alone agree: every byte, the lines in any order
//! and without their numbers, the exit code.

use super::ended::Ended;

/// The runs of a program alone.
#[derive(Debug, Default)]
pub struct Alone(Vec<Ended>);

impl Alone {
    /// One more run.
    pub fn add(&mut self, ended: Ended) {
        self.0.push(ended);
    }

    /// What is different in the managed run; nothing if it could be one of these.
    pub fn difference(&self, managed: &Ended) -> Option<String> {
        if self.0.contains(managed) {
            return None;
        }
        let first = self.0.first()?;
        let agree = |same: fn(&Ended, &Ended) -> bool| self.0.iter().all(|other| same(first, other));
        let seen = |same: fn(&Ended, &Ended) -> bool| self.0.iter().any(|other| same(other, managed));
        if !seen(same_code) {
            let said = managed.stderr.lines().chain(managed.stdout.lines()).take(3).collect::<Vec<_>>().join(" | ");
            return Some(format!("ends with {} instead of {}: {said}", managed.code, first.code));
        }
        if agree(|a, b| a == b) {
            return Some(first_line(first, managed));
        }
        (agree(same_lines) && !seen(same_lines)).then(|| first_shape(first, managed))
    }
}

fn same_code(a: &Ended, b: &Ended) -> bool {
    a.code == b.code
}

fn same_lines(a: &Ended, b: &Ended) -> bool {
    same_code(a, b) && shape(&a.stdout) == shape(&b.stdout) && shape(&a.stderr) == shape(&b.stderr)
}

/// The lines in order of the alphabet, each number and address a `#`. How many blanks stand before
/// it depends on its width.
fn shape(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(without_numbers).collect();
    lines.sort_unstable();
    lines
}

fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    for c in line.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        text.push_str(if number { "#" } else { &word });
        if c != ' ' || !text.ends_with(' ') {
            text.push(c);
        }
        word.clear();
    }
    text
}

/// The first kind of line that is there more often or less often.
fn first_shape(alone: &Ended, managed: &Ended) -> String {
    for (what, alone, managed) in
        [("stdout", &alone.stdout, &managed.stdout), ("stderr", &alone.stderr, &managed.stderr)]
    {
        let (alone, managed) = (shape(alone), shape(managed));
        let count = |lines: &[String], line: &String| lines.iter().filter(|one| *one == line).count();
        let differs = |line: &&String| count(&alone, line) != count(&managed, line);
        if let Some(line) = managed.iter().chain(&alone).find(differs) {
            return format!("{what}: {:?} {} times instead of {}", line, count(&managed, line), count(&alone, line));
        }
    }
    String::from("nothing")
}

fn first_line(alone: &Ended, managed: &Ended) -> String {
    for (what, alone, managed) in
        [("stdout", &alone.stdout, &managed.stdout), ("stderr", &alone.stderr, &managed.stderr)]
    {
        if alone != managed {
            let same = alone.lines().zip(managed.lines()).take_while(|(a, b)| a == b).count();
            let line = |text: &str| text.lines().nth(same).unwrap_or("the end").chars().take(160).collect::<String>();
            return format!("{what}, line {}: {:?} instead of {:?}", same + 1, line(managed), line(alone));
        }
    }
    String::from("nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: i32, stdout: &str) -> Ended {
        Ended { code, stdout: stdout.to_owned(), stderr: String::new() }
    }

    fn alone(outputs: &[&str]) -> Alone {
        Alone(outputs.iter().map(|output| ended(0, output)).collect())
    }

    #[test]
    fn a_program_that_is_always_the_same_must_be_the_same() {
        let alone = alone(&["sum 3\n", "sum 3\n"]);
        assert_eq!(alone.difference(&ended(0, "sum 3\n")), None);
        assert!(alone.difference(&ended(0, "sum 4\n")).is_some());
    }

    #[test]
    fn an_order_that_varies_may_vary_but_no_line_may_be_missing() {
        let alone = alone(&["thread 1\nthread 2\n", "thread 2\nthread 1\n"]);
        assert_eq!(alone.difference(&ended(0, "thread 0x1f\nthread 1\n")), None);
        assert!(alone.difference(&ended(0, "thread 1\n")).is_some());
    }

    #[test]
    fn a_column_of_numbers_may_have_others_of_another_width() {
        let alone = alone(&["a =  1  2\na =  1  2\n", "a =  1  3\na =  1  2\n"]);
        assert_eq!(alone.difference(&ended(0, "a = 11 12\na =  1  2\n")), None);
        assert!(alone.difference(&ended(0, "a = 11 12\n")).is_some());
    }

    #[test]
    fn of_the_most_restless_programs_only_the_code_counts() {
        let alone = alone(&["a\n", "b\nc\n"]);
        assert_eq!(alone.difference(&ended(0, "d\n")), None);
        assert!(alone.difference(&ended(-11, "a\n")).is_some_and(|what| what.contains("-11")));
    }
}
