//! Makes names of programs and users fit to be shown: a name comes from outside and could hold
//! characters that disturb a terminal, or that make a line read as another one.

/// Longest name that is shown, characters.
const NAME_CHARS_MAX: usize = 64;
/// Longest line, characters.
const LINE_CHARS_MAX: usize = 1000;

/// Characters without a shape of their own, in pairs of the first and the last: Unicode's format
/// characters (class Cf: they turn the direction of a line round, join, or are not seen at all),
/// and its separators of lines and paragraphs.
const SHAPELESS: [(char, char); 20] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e007f}'),
];

/// The name without such characters and without control characters, cut to a bounded length.
pub fn label(name: &str) -> String {
    plain(name).take(NAME_CHARS_MAX).collect()
}

/// A line that repeats what somebody has said, without such characters, cut to a bounded length.
pub fn line(text: &str) -> String {
    plain(text).take(LINE_CHARS_MAX).collect()
}

fn plain(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if is_plain(c) { c } else { '?' })
}

fn is_plain(c: char) -> bool {
    !c.is_control() && !SHAPELESS.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_shown() {
        for c in "\u{1b}\n\u{9b}\u{ad}\u{61c}\u{200b}\u{200f}\u{2028}\u{2029}\u{202e}\u{2066}\u{2069}\u{feff}\u{e0041}"
            .chars()
        {
            assert_eq!(label(&format!("a{c}b")), "a?b", "{c:?}");
            assert_eq!(line(&format!("no {c} here")), "no ? here", "{c:?}");
        }
        let plain = "Lösung-3.x_日本 é😀 ق";
        assert_eq!(label(plain), plain);
        assert_eq!(label(&"x".repeat(100)).len(), NAME_CHARS_MAX);
        assert_eq!(line(&"x".repeat(9000)).len(), LINE_CHARS_MAX);
    }
}
