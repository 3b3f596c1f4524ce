//! Reads texts and journals whose size nobody has promised.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A text that is read as a whole has this many bytes at most, unpacked: ten times the longest
/// public log of a batch system. Few megabytes of `.gz` may be more than the machine's memory.
const TEXT_BYTES_MAX: u64 = 1 << 30;
/// A line of a journal has this many bytes at most. A manager writes none a quarter as long.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// All of a file; one that ends in `.gz` is unpacked. Bytes that are no UTF-8 (names in old logs)
/// are replaced.
///
/// # Errors
/// It cannot be read, or has more than 1 GiB.
pub fn text(path: &Path) -> io::Result<String> {
    text_within(path, TEXT_BYTES_MAX)
}

fn text_within(path: &Path, most: u64) -> io::Result<String> {
    let file = File::open(path)?;
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    let reader: Box<dyn Read> =
        if packed { Box::new(MultiGzDecoder::new(BufReader::new(file))) } else { Box::new(file) };
    let mut bytes = Vec::new();
    if reader.take(most + 1).read_to_end(&mut bytes)? as u64 > most {
        return Err(too_long("it has", most));
    }
    String::from_utf8(bytes).or_else(|error| Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The lines of a journal, however many there are. A line without an end is an error.
pub fn lines(path: &Path) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
    Ok(lines_within(BufReader::new(File::open(path)?), LINE_BYTES_MAX))
}

fn lines_within(mut file: impl BufRead, most: u64) -> impl Iterator<Item = io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        match (&mut file).take(most + 1).read_line(&mut line) {
            Ok(0) => return None,
            Ok(bytes) if bytes as u64 > most => return Some(Err(too_long("a line has", most))),
            Ok(_) => {}
            Err(cause) => return Some(Err(cause)),
        }
        let end = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).len());
        line.truncate(end.unwrap_or(line.len()));
        Some(Ok(line))
    })
}

fn too_long(what: &str, most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("{what} more than {} MiB", most >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_and_no_line_is_without_a_bound() {
        let place = tempfile::tempdir().expect("a directory");
        let most = 1 << 20;
        let file = |name: &str| place.path().join(name);
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        io::copy(&mut io::repeat(b' ').take(most), &mut packer).expect("packs");
        std::fs::write(file("most.gz"), packer.finish().expect("packs")).expect("writable");
        // A second member, as `cat` makes it, counts too.
        let twice =
            [std::fs::read(file("most.gz")).expect("readable"), std::fs::read(file("most.gz")).expect("readable")];
        std::fs::write(file("more.gz"), twice.concat()).expect("writable");
        assert!(std::fs::metadata(file("more.gz")).expect("a file").len() < 10_000);
        assert_eq!(text_within(&file("most.gz"), most).expect("readable").len() as u64, most);
        for endless in [file("more.gz"), "/dev/zero".into()] {
            let refused = text_within(&endless, most).expect_err("too long");
            assert_eq!(refused.to_string(), "it has more than 1 MiB");
        }
        let refused = lines_within(BufReader::new(io::repeat(0)), most).next().expect("a line");
        assert_eq!(refused.expect_err("too long").to_string(), "a line has more than 1 MiB");
        let read: io::Result<Vec<String>> = lines_within(&b"one\r\n\n two\nend"[..], 5).collect();
        assert_eq!(read.expect("readable"), ["one", "", " two", "end"]);
        let long: Vec<_> = lines_within(&b"123456\n"[..], 5).map(|line| line.is_err()).take(1).collect();
        assert_eq!(long, [true]);
    }
}
