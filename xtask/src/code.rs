//! Rust and C text without comments and literals, so that a check sees only code.
//!
//! Every removed character becomes a space and every line stays where it was: line numbers remain
//! right.

/// `text` with comments, strings and character literals blanked.
pub fn without_comments_and_literals(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('/', Some('/')) => line_comment_end(&chars, at),
            ('/', Some('*')) => block_comment_end(&chars, at),
            ('"', _) => string_end(&chars, at),
            ('r', Some('"' | '#')) if !continues_word(&chars, at) => raw_string_end(&chars, at),
            ('\'', _) => character_end(&chars, at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// `code` with everything from the first `#[cfg(test)] mod … {` on blanked: test modules stand last
/// in a file.
pub fn without_test_module(code: &str) -> String {
    let mut lines: Vec<&str> = code.lines().collect();
    for index in 0..lines.len() {
        if lines[index].trim() != "#[cfg(test)]" {
            continue;
        }
        let next = lines[index + 1..].iter().find(|line| !line.trim().is_empty() && !line.trim().starts_with("#["));
        if next.is_some_and(|line| line.trim().starts_with("mod ") && line.trim().ends_with('{')) {
            lines.truncate(index);
            break;
        }
    }
    lines.join("\n")
}

/// Whether `word` occurs in `line` with nothing that could continue a name on either side.
pub fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        let open_end = !word.ends_with(part_of_name);
        !before.is_some_and(part_of_name) && (open_end || !after.is_some_and(part_of_name))
    })
}

/// Whether the `r` at `at` only ends a name. In `br"…"` it does not.
fn continues_word(chars: &[char], at: usize) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let before: String = chars[at.saturating_sub(2)..at].iter().collect();
    let before = before.strip_suffix('b').filter(|rest| !rest.ends_with(part_of_name)).unwrap_or(&before);
    before.ends_with(part_of_name)
}

fn line_comment_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |offset| at + offset)
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut i = at;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < chars.len() {
        match chars[i] {
            '\\' => i += 2,
            '"' => return i + 1,
            _ => i += 1,
        }
    }
    chars.len()
}

/// End of `r#"…"#`; `at` itself when this is a raw identifier such as `r#type`.
fn raw_string_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let closes =
        |i: usize| chars[i] == '"' && chars[i + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes;
    (open + 1..chars.len()).find(|&i| closes(i)).map_or(chars.len(), |i| i + 1 + hashes)
}

/// End of `'x'` or `'\n'`; `at` itself for a lifetime.
fn character_end(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), _) => {
            chars[at + 3..].iter().take(10).position(|&c| c == '\'').map_or(at, |offset| at + 3 + offset + 1)
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let seen: String = without_comments_and_literals(text).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(seen, expected);
    }

    #[test]
    fn comments_go_and_code_stays() {
        check("let a = 1; // unsafe", "let a = 1;");
        check("a /* unsafe /* nested */ still */ b", "a b");
        check("//! unsafe\nfn f() {}", "fn f() {}");
    }

    #[test]
    fn literals_go_and_lifetimes_stay() {
        check(r#"f("unsafe \" more", x)"#, "f( , x)");
        check("f(r##\"un\"#safe\"##, x)", "f( , x)");
        check("f('\"', '\\'', b'x')", "f( , , b )");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("let r#type = 1;", "let r#type = 1;");
        check("f(br#\"x\"#)", "f(b )");
        check("number\"x\"", "number");
        check("for var in bar {}", "for var in bar {}");
    }

    #[test]
    fn lines_keep_their_numbers() {
        let text = "a /* 1\n2\n3 */ b\n\"x\ny\" c\n";
        let code = without_comments_and_literals(text);
        assert_eq!(code.lines().count(), text.lines().count());
        assert!(code.lines().nth(2).is_some_and(|line| line.contains('b')));
        assert!(code.lines().nth(4).is_some_and(|line| line.contains('c')));
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe {", "unsafe"));
        assert!(!has_word("unsafe_code", "unsafe"));
        assert!(has_word("x: std::time::Instant", "std::time"));
        assert!(has_word("rand::random()", "rand::"));
        assert!(!has_word("operand::x", "rand::"));
    }

    #[test]
    fn only_a_test_module_is_left_out() {
        let code = "a\n#[cfg(test)]\nmod tests {\n std::time\n}\n";
        assert_eq!(without_test_module(code), "a");
        let code = "#[cfg(test)]\nuse x;\nstd::time\n";
        assert!(without_test_module(code).contains("std::time"));
    }
}
