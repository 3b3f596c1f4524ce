//! The layout as the C compiler sees it: a small program that includes the client's headers and
//! prints it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Constant, Field};

/// The C mirror of the page and of the messages.
pub const HEADERS: [&str; 2] = ["client/src/page.h", "client/src/message.h"];

/// C structure for the first part of a field's name.
const STRUCTURES: [(&str, &str); 6] = [
    ("page", "struct numaestro_page"),
    ("hello", "struct nm_hello"),
    ("welcome", "struct nm_welcome"),
    ("notice", "struct nm_notice"),
    ("query", "struct nm_query"),
    ("advised", "struct nm_advised"),
];

/// One line the probe printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// As in [`Field`] or [`Constant`].
    pub name: String,
    /// Offset or value.
    pub number: u64,
    /// Bytes of a field; 0 for a constant.
    pub size: usize,
}

/// Compiles the probe with the compiler in `CC` (`cc` if unset), runs it and reads its output.
pub fn ask(root: &Path, fields: &[Field], constants: &[Constant]) -> Result<Vec<Answer>> {
    let directory = root.join("build/xtask");
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let (program, source) = (directory.join("abi-probe"), directory.join("abi-probe.c"));
    std::fs::write(&source, text(fields, constants))?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let outcome = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root)
        .arg("-o")
        .args([&program, &source])
        .output()
        .with_context(|| format!("cannot run the C compiler `{compiler}`"))?;
    if !outcome.status.success() {
        bail!("the C side of the page does not compile:\n{}", String::from_utf8_lossy(&outcome.stderr));
    }
    let printed = Command::new(&program).output().context("cannot run the probe")?;
    parse(&String::from_utf8_lossy(&printed.stdout))
}

fn text(fields: &[Field], constants: &[Constant]) -> String {
    let mut text = String::from("/* Written by xtask: prints the layout of the shared page and the messages. */\n");
    for header in ["<stddef.h>", "<stdio.h>"] {
        let _ = writeln!(text, "#include {header}");
    }
    for header in HEADERS {
        let _ = writeln!(text, "#include \"{header}\"");
    }
    text.push_str("int main(void)\n{\n");
    for field in fields {
        let (structure, path) = in_c(&field.name);
        let _ = writeln!(
            text,
            "    printf(\"{} %zu %zu\\n\", offsetof({structure}, {path}), sizeof((({structure} *)0)->{path}));",
            field.name
        );
    }
    for constant in constants.iter().filter(|constant| !constant.c_name.is_empty()) {
        let _ =
            writeln!(text, "    printf(\"{} %llu 0\\n\", (unsigned long long)({}));", constant.name, constant.c_name);
    }
    text.push_str("    return 0;\n}\n");
    text
}

/// `page.manager.epoch` → `struct numaestro_page`, `manager.epoch`.
fn in_c(name: &str) -> (&'static str, &str) {
    let (first, path) = name.split_once('.').unwrap_or((name, ""));
    let structure = STRUCTURES.iter().find(|(known, _)| *known == first).map_or("void", |(_, structure)| structure);
    (structure, path)
}

fn parse(printed: &str) -> Result<Vec<Answer>> {
    printed.lines().map(|line| parse_line(line).with_context(|| format!("the probe printed `{line}`"))).collect()
}

fn parse_line(line: &str) -> Option<Answer> {
    let mut words = line.split(' ');
    let name = words.next()?.to_owned();
    Some(Answer { name, number: words.next()?.parse().ok()?, size: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_translated() {
        assert_eq!(in_c("page.manager.epoch"), ("struct numaestro_page", "manager.epoch"));
        assert_eq!(in_c("notice.app"), ("struct nm_notice", "app"));
    }

    #[test]
    fn what_the_probe_prints_is_read() {
        let expected = Answer { name: "page.a".to_owned(), number: 64, size: 4 };
        assert_eq!(parse("page.a 64 4\n").expect("well-formed"), [expected]);
        assert!(parse("page.a sixty-four 4\n").is_err());
        assert!(parse("page.a\n").is_err());
    }
}
