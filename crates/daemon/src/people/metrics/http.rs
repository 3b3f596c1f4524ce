//! Speaks as much of HTTP/1.1 as a scraper needs: one request, one answer, and the connection ends.
//! Works on bytes, without sockets.

/// The result of reading a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked<'a> {
    /// The page; without its body for `HEAD`.
    Page { body: bool },
    /// A refusal.
    Wrong { status: &'a str, hint: &'a str },
}

/// Reads the head of a request.
pub(super) fn understand(head: &[u8]) -> Asked<'static> {
    let line = head.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words[..] else {
        return Asked::Wrong { status: "400 Bad Request", hint: "this is not HTTP/1.1\n" };
    };
    if !version.starts_with(b"HTTP/1.") {
        return Asked::Wrong { status: "400 Bad Request", hint: "this is not HTTP/1.1\n" };
    }
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => Asked::Page { body: method == b"GET" },
        (b"GET" | b"HEAD", _) => Asked::Wrong { status: "404 Not Found", hint: "what there is is at /metrics\n" },
        _ => Asked::Wrong { status: "405 Method Not Allowed\r\nAllow: GET, HEAD", hint: "this page is only read\n" },
    }
}

/// An answer after which the connection ends.
pub(super) fn response(status: &str, kind: &str, text: &str, body: bool) -> Vec<u8> {
    let length = text.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), if body { text.as_bytes() } else { b"" }].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood() {
        assert_eq!(understand(b"GET /metrics HTTP/1.1\r\n\r\n"), Asked::Page { body: true });
        assert_eq!(understand(b"HEAD /metrics?x=y HTTP/1.0\r\n\r\n"), Asked::Page { body: false });
        for (request, expected) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"\r\n\r\n", "400"),
            (b"\x16\x03\x01 hello\r\n\r\n", "400"),
            (b"GET /metrics HTTP/2\r\n\r\n", "400"),
        ] {
            let Asked::Wrong { status, .. } = understand(request) else { panic!("{request:?}") };
            assert!(status.starts_with(expected), "{status}");
        }
    }
}
