//! Patterns on names: `*` stands for any characters, also none and also `/`; `?` for one; `[a-z]`
//! for one of a class, `[!a-z]` for one that is not; `\` takes the next character as it is. The
//! whole name must match.
//!
//! A pattern is translated to a regular expression, which matches in time that is linear in the
//! name. Crates for patterns on paths (globset) give `{`, `**/` and bytes other meanings.

use std::str::Chars;

use regex_lite::Regex;

/// A checked pattern.
#[derive(Debug, Clone)]
pub(crate) struct Glob(Regex);

impl Glob {
    /// Reads a pattern; the error is one clause.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let mut expression = String::from(r"(?s)\A");
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            expression += &match character {
                '*' => ".*".to_owned(),
                '?' => ".".to_owned(),
                '[' => class(&mut characters)?,
                '\\' => literal(characters.next().ok_or("it ends with a `\\` that takes nothing")?),
                other => literal(other),
            };
        }
        expression.push_str(r"\z");
        Regex::new(&expression).map(Self).map_err(|cause| cause.to_string())
    }

    /// Whether the whole of `text` is as the pattern says.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn literal(character: char) -> String {
    regex_lite::escape(character.encode_utf8(&mut [0; 4]))
}

/// Translates what stands between `[` and `]`; a `]` at its beginning is one of the characters.
fn class(characters: &mut Chars<'_>) -> Result<String, String> {
    const OPEN: &str = "a `[` has no `]`";
    let mut class = String::from("[");
    if characters.as_str().starts_with(['!', '^']) {
        characters.next();
        class.push('^');
    }
    let mut is_empty = true;
    loop {
        let first = match characters.next().ok_or(OPEN)? {
            ']' if !is_empty => return Ok(class + "]"),
            '\\' => characters.next().ok_or(OPEN)?,
            other => other,
        };
        let mut ahead = characters.clone();
        let last = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) if last != ']' => {
                *characters = ahead;
                if last == '\\' { characters.next().ok_or(OPEN)? } else { last }
            }
            _ => first,
        };
        if last < first {
            return Err(format!("the class `[{first}-{last}]` ends before it begins"));
        }
        class.extend([literal(first), "-".to_owned(), literal(last)]);
        is_empty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_and_names() {
        for (pattern, yes, no) in [
            ("", &[""][..], &["a"][..]),
            ("*", &["", "a", "/usr/bin/x"], &[]),
            (
                "/user.slice/*",
                &["/user.slice/", "/user.slice/user-7.slice/session-1.scope"],
                &["/user.slice", "x/user.slice/"],
            ),
            ("python3*", &["python3", "python3.11"], &["python", "xpython3"]),
            ("*/bin/so?ver", &["/opt/a/bin/solver", "/bin/so/ver"], &["/bin/sover"]),
            ("[a-c]x[!0-9]", &["axx", "cx-"], &["dxx", "ax5", "ax"]),
            ("[]]", &["]"], &["["]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[^a]", &["b"], &["a", "^^"]),
            ("\\*", &["*"], &["a", "\\*"]),
            ("[\\]a]", &["]", "a"], &["\\"]),
            ("*a*b*c", &["abc", "xaxbxc", "aabbcc"], &["acb", "abcd"]),
            // A `*` beside another one, and one between two `/`, is only a `*`.
            ("**/x", &["/x", "a/b/x"], &["x"]),
            ("a/**/b", &["a//b", "a/x/y/b"], &["a/b"]),
            ("{a,b}", &["{a,b}"], &["a", "b"]),
            (".+(x)|^$", &[".+(x)|^$"], &["xx(x)", ""]),
            // Characters, not bytes; an end of line is one of them.
            ("so?ver", &["soüver"], &["soüüver"]),
            ("[ä-ü]", &["ö"], &["a", "ÿ"]),
            ("[!a]", &["ö", "\n"], &["öö", "a"]),
            ("a*b?", &["a\nb\n"], &["a\nb"]),
            ("[a\\-c]", &["a", "-", "c"], &["b", "\\"]),
            ("[+-\\]]", &["+", "A", "\\", "]"], &["^", "*"]),
            ("[a-c-e]", &["b", "-", "e"], &["d"]),
            ("[--/]", &["-", ".", "/"], &["+", "0"]),
            ("[!]a]", &["b"], &["]", "a"]),
            ("[&&~~]", &["&", "~"], &["a", "&&"]),
            ("[[:alpha:]]", &["a]", ":]", "[]"], &["a", "b]"]),
        ] {
            let glob = Glob::new(pattern).unwrap();
            for name in yes {
                assert!(glob.matches(name), "{pattern} should match {name}");
            }
            for name in no {
                assert!(!glob.matches(name), "{pattern} should not match {name}");
            }
        }
    }

    #[test]
    fn wrong_patterns_say_why() {
        for (pattern, why) in [
            ("[a", "no `]`"),
            ("[", "no `]`"),
            ("[]", "no `]`"),
            ("x\\", "takes nothing"),
            ("[z-a]", "before it begins"),
        ] {
            let message = Glob::new(pattern).unwrap_err();
            assert!(message.contains(why), "{pattern}: {message}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let glob = Glob::new(&"a*".repeat(200)).unwrap();
        assert!(!glob.matches(&format!("{}b", "a".repeat(199))));
        assert!(glob.matches(&"a".repeat(5000)));
    }

    /// The definition, as short as it can be said; exponential. Classes have no ranges here.
    fn by_definition(pattern: &[char], text: &[char]) -> bool {
        let one = |pattern: &[char], takes: &dyn Fn(char) -> bool| match text {
            [first, rest @ ..] => takes(*first) && by_definition(pattern, rest),
            [] => false,
        };
        match pattern {
            [] => text.is_empty(),
            ['*', rest @ ..] => (0..=text.len()).any(|taken| by_definition(rest, &text[taken..])),
            ['?', rest @ ..] => one(rest, &|_| true),
            ['[', rest @ ..] => {
                let mut parts = rest.splitn(2, |character| *character == ']');
                let (class, rest) = (parts.next().unwrap(), parts.next().unwrap());
                match class {
                    ['!', class @ ..] => one(rest, &|character| !class.contains(&character)),
                    class => one(rest, &|character| class.contains(&character)),
                }
            }
            [wanted, rest @ ..] => one(rest, &|character| character == *wanted),
        }
    }

    proptest! {
        #[test]
        fn it_does_what_the_definition_says(pattern in "[ab*?/]{0,8}|[ab*]{0,5}\\[!?[abc]{1,2}\\][ab*]{0,3}", text in "[abc/]{0,9}") {
            let glob = Glob::new(&pattern).unwrap();
            let (items, characters): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(glob.matches(&text), by_definition(&items, &characters), "{} on {}", pattern, text);
        }

        #[test]
        fn any_text_is_read_or_refused(pattern in ".{0,40}", text in ".{0,40}") {
            if let Ok(glob) = Glob::new(&pattern) {
                let _ = glob.matches(&text);
            }
        }

        #[test]
        fn a_name_with_everything_escaped_matches_itself_only(text in ".{0,20}", other in ".{0,20}") {
            let pattern: String = text.chars().flat_map(|character| ['\\', character]).collect();
            let glob = Glob::new(&pattern).unwrap();
            prop_assert!(glob.matches(&text));
            prop_assert_eq!(glob.matches(&other), text == other);
        }
    }
}
