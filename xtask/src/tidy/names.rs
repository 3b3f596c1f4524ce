//! Checks that files are named by their subject. A name that fits everything says nothing.

use crate::finding::Finding;
use crate::sources::Source;

const SAY_NOTHING: [&str; 9] = ["util", "utils", "utility", "common", "helpers", "misc", "stuff", "shared", "v2"];

/// No directory and no file of the program is called by one of the names that say nothing.
pub fn check(source: &Source) -> Option<Finding> {
    if !matches!(source.extension(), "rs" | "c" | "h" | "py" | "sh") {
        return None;
    }
    let empty = source.path.split('/').find_map(|part| {
        let stem = part.split('.').next().unwrap_or(part);
        SAY_NOTHING.contains(&stem).then_some(stem)
    })?;
    Some(Finding::new(&source.path, 0, format!("`{empty}` says nothing: name it by a noun of the field")))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source;

    #[test]
    fn names_that_say_nothing_are_found() {
        assert!(check(&source("crates/policy/src/utils.rs", "")).is_some());
        assert!(check(&source("client/common/a.c", "")).is_some());
        assert!(check(&source("crates/daemon/tests/helpers/mod.rs", "")).is_some());
    }

    #[test]
    fn names_of_the_field_pass() {
        assert!(check(&source("client/src/helper.c", "")).is_none(), "the helper thread is a thing");
        assert!(check(&source("crates/policy/src/share/equi.rs", "")).is_none());
        assert!(check(&source("docs/common.md", "")).is_none());
    }
}
