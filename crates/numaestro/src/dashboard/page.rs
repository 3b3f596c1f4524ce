//! The page as one document: its code and its style are in it. `web/` has their source.

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{BufWriter, Write};

const SCRIPT: &str = include_str!("../../../../web/dist/dashboard.js");
const STYLE: &str = include_str!("../../../../web/dist/dashboard.css");

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>numaestro</title>\n";

/// The page of a manager that runs. `nonce`: what the browser is told that code and style must
/// bear.
pub fn live(nonce: &str) -> String {
    format!(
        "{HEAD}<style nonce=\"{nonce}\">{STYLE}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <script nonce=\"{nonce}\">{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Writes the page of a recording. `messages` writes the messages.
///
/// # Errors
/// Those of `out` and of `messages`.
pub fn file<W: Write>(mut out: W, messages: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    // The browser is told to load nothing, whatever the file says.
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                  script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n";
    write!(out, "{HEAD}{policy}<style>{STYLE}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n")?;
    write!(out, "<script type=\"application/octet-stream\" id=\"recording\" data-encoding=\"gzip\">")?;
    let packed = GzEncoder::new(EncoderWriter::new(&mut out, &STANDARD), Compression::new(3));
    // Messages are written in many small pieces.
    let mut packed = BufWriter::new(packed);
    messages(&mut packed)?;
    packed.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?.finish()?;
    write!(out, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use std::io::Read;

    #[test]
    fn a_file_has_its_messages_packed_and_loads_nothing() {
        let mut page = Vec::new();
        file(&mut page, |out| Ok(out.write_all(b"{\"kind\":\"now\",\"t\":1}\n</script>\n")?)).unwrap();
        let page = String::from_utf8(page).unwrap();
        let begin = "data-encoding=\"gzip\">";
        let packed = page.split_once(begin).unwrap().1.split_once("</script>").unwrap().0;
        let packed = STANDARD.decode(packed).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"kind\":\"now\",\"t\":1}\n</script>\n");
        for foreign in ["src=\"http", "href=\"http", "@import", "url(http"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        assert_eq!(page.matches("</script>").count(), 2, "the code does not end itself");
    }
}
