//! Words as a line that a shell reads back as the same words.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Words as one line for `sh`.
pub fn line(words: impl Iterator<Item = OsString>) -> OsString {
    let mut line = joined(words);
    line.push(b'\n');
    OsString::from_vec(line)
}

/// Words as a part of a line for `sh`.
pub fn joined(words: impl Iterator<Item = OsString>) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.map(|word| quoted(word.as_os_str().as_bytes())).collect();
    words.join(&b' ')
}

/// A word as `sh` reads it back.
pub fn quoted(word: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./,:=+@%".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        return word.to_vec();
    }
    let mut out = vec![b'\''];
    for &byte in word {
        if byte == b'\'' {
            out.extend_from_slice(b"'\\''");
        } else {
            out.push(byte);
        }
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_shell_reads_back_every_word() {
        let words = ["a b", "", "it's", "$HOME", "`x`", "{0},{1}", "a\nb", "\\", "*", "plain", "~", "#c", "!"];
        let line = line(std::iter::once("printf".into()).chain(["%s|".into()]).chain(words.map(OsString::from)));
        let out = Command::new("sh").arg("-c").arg(line).output().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), words.map(|word| format!("{word}|")).concat());
    }
}
