//! Makes names of programs and users fit to be shown: a name comes from outside and could hold
//! characters that disturb a terminal.

/// Longest name that is shown, characters.
const NAME_CHARS_MAX: usize = 64;

/// The name without control characters, cut to a bounded length.
pub(crate) fn label(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).map(|c| if c.is_control() { '?' } else { c }).collect()
}
