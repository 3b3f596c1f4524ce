//! The lines of `status` on the libraries in a program that own regions or a pool of threads.

use crate::say;
use crate::status::clean;
use numaestro_abi::control::{LibraryStatus, Status, letter};
use std::fmt::Write;

/// A line for each library of each program.
pub fn lines(text: &mut String, status: &Status) {
    for (place, app) in status.apps.iter().enumerate() {
        for library in &app.libraries {
            let _ = writeln!(text, "{} {}", letter(place), sentence(library));
        }
    }
}

/// The library, how it is steered, and why.
pub fn sentence(library: &LibraryStatus) -> String {
    let runtime = if library.runtime.is_empty() { String::new() } else { format!(" ({})", clean(&library.runtime)) };
    let why = if library.why.is_empty() { String::new() } else { format!(", because {}", library.why) };
    let threads = say::counted(library.threads as usize, "thread");
    let way = match (library.how.as_str(), library.folded_by.as_str()) {
        ("whole", "user") => format!("whole, {threads} folded in user space"),
        ("whole", "kernel") => format!("whole, {threads} folded by the kernel"),
        ("whole", _) => format!("whole, {threads}"),
        ("follows", _) => format!("follows, {threads} now"),
        ("set", _) => format!("set to {threads} through its own setter"),
        ("answered", _) => format!("told the processors when it asks, {threads} now"),
        ("left", _) => "left alone".to_owned(),
        ("absent", _) => return format!("{}: named by its user, and not in the program so far", clean(&library.name)),
        _ => return "has more libraries than it can list".to_owned(),
    };
    format!("{}{runtime}: {way}{why}", clean(&library.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::tests::example;

    fn library(how: &str, folded_by: &str, why: &str) -> LibraryStatus {
        LibraryStatus {
            name: "libx".into(),
            runtime: "libgomp".into(),
            how: how.into(),
            folded_by: folded_by.into(),
            threads: 2,
            why: why.into(),
        }
    }

    #[test]
    fn each_library_has_a_line_of_its_own() {
        let mut status = example();
        let mut text = String::new();
        lines(&mut text, &status);
        assert_eq!(text, "");
        status.apps[0].libraries = vec![library("whole", "kernel", "it opens regions"), library("set", "none", "")];
        status.apps[1].libraries = vec![library("left", "none", "its user said so"), library("absent", "none", "")];
        lines(&mut text, &status);
        let expected = "A libx (libgomp): whole, 2 threads folded by the kernel, because it opens regions\n\
                        A libx (libgomp): set to 2 threads through its own setter\n\
                        B libx (libgomp): left alone, because its user said so\n\
                        B libx: named by its user, and not in the program so far\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_program_cannot_steer_the_terminal_by_a_name() {
        let odd = LibraryStatus { name: "a\x1b[2J".into(), runtime: String::new(), ..library("whole", "none", "") };
        assert_eq!(sentence(&odd), "a?[2J: whole, 2 threads");
    }
}
