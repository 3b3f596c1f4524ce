//! Writes an archive in the form "newc" of cpio, which Linux takes for its first file system.

/// An archive that is being written.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: std::collections::BTreeSet<String>,
}

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTERS: u32 = 0o020_000;

impl Archive {
    /// Adds a directory and all above it; `path` is absolute.
    pub fn directory(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.directories.contains(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        self.directories.insert(path.to_owned());
        self.entry(path, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a file and the directories above it.
    pub fn file(&mut self, path: &str, executable: bool, content: &[u8]) {
        let path = self.above(path);
        self.entry(&path, FILE | if executable { 0o755 } else { 0o644 }, (0, 0), content);
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, to: &str) {
        let path = self.above(path);
        self.entry(&path, LINK | 0o777, (0, 0), to.as_bytes());
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        let path = self.above(path);
        self.entry(&path, CHARACTERS | 0o600, (major, minor), &[]);
    }

    /// Ends the archive and returns all of it.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn above(&mut self, path: &str) -> String {
        let path = path.trim_matches('/');
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        path.to_owned()
    }

    /// Adds an entry: thirteen numbers of eight hexadecimal digits; name and content end at
    /// multiples of four.
    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let length = u32::try_from(content.len()).expect("a file of a guest is below 4 GB");
        let fields = [
            self.entries,
            mode,
            0, // owner
            0, // group
            1, // links
            0, // time
            length,
            0, // device of the file
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0, // checksum, of another form
        ];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an archive back, as the kernel does.
    fn names(bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut out = Vec::new();
        let mut at = 0;
        loop {
            assert_eq!(&bytes[at..at + 6], b"070701");
            let field = |i: usize| {
                let text = &bytes[at + 6 + 8 * i..at + 14 + 8 * i];
                u32::from_str_radix(std::str::from_utf8(text).unwrap(), 16).unwrap()
            };
            let (mode, length, named) = (field(1), field(6) as usize, field(11) as usize);
            let name = String::from_utf8(bytes[at + 110..at + 109 + named].to_vec()).unwrap();
            let begin = (at + 110 + named).next_multiple_of(4);
            if name == "TRAILER!!!" {
                return out;
            }
            out.push((name, mode, bytes[begin..begin + length].to_vec()));
            at = (begin + length).next_multiple_of(4);
        }
    }

    #[test]
    fn an_archive_holds_what_was_put_in() {
        let mut archive = Archive::default();
        archive.file("/a/b/c", true, b"hello");
        archive.file("/a/d", false, b"");
        archive.link("/l", "a/d");
        archive.device("/dev/console", 5, 1);
        let found = names(&archive.finish());
        let expected: [(&str, u32, &[u8]); 7] = [
            ("a", 0o040_755, b""),
            ("a/b", 0o040_755, b""),
            ("a/b/c", 0o100_755, b"hello"),
            ("a/d", 0o100_644, b""),
            ("l", 0o120_777, b"a/d"),
            ("dev", 0o040_755, b""),
            ("dev/console", 0o020_600, b""),
        ];
        assert_eq!(found.len(), expected.len());
        for ((name, mode, content), wanted) in found.iter().zip(expected) {
            assert_eq!((name.as_str(), *mode, content.as_slice()), wanted);
        }
    }
}
