//! Requests that are refused: nothing leaks, and everything goes on.

use crate::server::{Dashboard, manager, program};
use crate::user::{User, json, turn};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A secret that must not appear in any refusal.
const NAME: &str = "secret-program";

/// It still serves, and the manager runs.
fn goes_on(user: &User, dashboard: &Dashboard) {
    let mut messages = dashboard.stream();
    messages.until("a begin", |message| message["kind"] == "hello");
    assert_eq!(json(&user.output(["status", "--json"]))["apps"][0]["name"], NAME);
}

#[test]
fn without_the_token_or_from_elsewhere() {
    let user = User::new();
    let _manager = manager(&user);
    let _program = program(&user, NAME);
    let dashboard = Dashboard::of(&user);
    let host = format!("Host: 127.0.0.1:{}\r\n", dashboard.port);
    let token = format!("Authorization: Bearer {}\r\n", dashboard.token);
    let wrong = format!("Authorization: Bearer {}\r\n", "0".repeat(32));
    let json = "Content-Type: application/json\r\nContent-Length: 16\r\n";
    for (headers, status) in [
        (host.clone(), 401),
        (format!("{host}{wrong}"), 401),
        (format!("{host}Authorization: Basic {}\r\n", dashboard.token), 401),
        (format!("Host: evil.example\r\n{token}"), 403),
        (format!("{host}{token}Origin: http://evil.example\r\n"), 403),
        (format!("{host}{token}Origin: null\r\n"), 403),
    ] {
        let answer = dashboard.get("/stream", &headers);
        assert_eq!(answer.status, status, "{headers}");
        assert!(!answer.body.contains(NAME) && answer.body.is_empty(), "{}", answer.body);
        for path in ["/set", "/policy"] {
            let request =
                format!("POST {path} HTTP/1.1\r\n{headers}{json}Connection: close\r\n\r\n{{\"policy\":\"dss\"}}");
            let answer = dashboard.answer(&request);
            assert_eq!(answer.status, status, "{path}: {headers}");
        }
    }
    // The page itself tells nothing. A name from elsewhere that leads here does not get it.
    let page = dashboard.get("/", &host);
    assert_eq!(page.status, 200);
    assert!(!page.body.contains(NAME) && !page.body.contains(&dashboard.token));
    for header in ["content-security-policy: default-src 'none'", "referrer-policy: no-referrer", "no-store"] {
        assert!(page.head.contains(header), "{header}: {}", page.head);
    }
    assert_eq!(dashboard.get("/", "Host: evil.example\r\n").status, 403);
    assert_eq!(dashboard.get("/status", &host).status, 404);
    assert_eq!(dashboard.get("/../etc/passwd", &host).status, 404);
    assert_eq!(dashboard.answer("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 403, "no host");
    let forms = format!(
        "POST /policy HTTP/1.1\r\n{}Content-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        dashboard.headers()
    );
    assert_eq!(dashboard.answer(&forms).status, 415, "what a form of a foreign page can send");
    goes_on(&user, &dashboard);
}

/// Connections without the token shut no page out, however many there are and whatever they do not
/// say.
#[test]
fn silent_connections_keep_no_page_away() {
    let _turn = turn();
    let user = User::new();
    let _manager = manager(&user);
    let _program = program(&user, NAME);
    let dashboard = Dashboard::of(&user);
    let mut page = dashboard.stream();
    page.until("a begin", |message| message["kind"] == "hello");
    let silent: Vec<TcpStream> = (0..200).map(|_| dashboard.connect()).collect();
    let begin = Instant::now();
    let document = dashboard.get("/", "Host: 127.0.0.1\r\n");
    assert_eq!(document.status, 200);
    goes_on(&user, &dashboard);
    assert!(begin.elapsed() < Duration::from_secs(4), "the page came after {:?}", begin.elapsed());
    // The page that was there stays.
    page.until("a status", |message| message["kind"] == "status");
    drop(silent);
}

#[test]
fn a_gigabyte_halves_and_nonsense() {
    let user = User::new();
    let _manager = manager(&user);
    let _program = program(&user, NAME);
    let mut dashboard = Dashboard::of(&user);
    let megabyte = vec![b'x'; 1 << 20];
    // A gigabyte that is announced, and one that comes.
    let headers = format!("{}Content-Type: application/json\r\n", dashboard.headers());
    let mut stream = dashboard.connect();
    write!(stream, "POST /set HTTP/1.1\r\n{headers}Content-Length: 1073741824\r\n\r\n").unwrap();
    let sent = (0..1024).take_while(|_| stream.write_all(&megabyte).is_ok()).count();
    assert!(sent < 200, "{sent} MB were taken");
    let mut stream = dashboard.connect();
    write!(stream, "GET / HTTP/1.1\r\n").unwrap();
    let sent = (0..1024).take_while(|_| stream.write_all(&megabyte).is_ok()).count();
    assert!(sent < 200, "{sent} MB of a header were taken");
    let answer = dashboard.answer(&format!(
        "POST /set HTTP/1.1\r\n{headers}Content-Length: 40000\r\nConnection: close\r\n\r\n{}",
        " ".repeat(40_000)
    ));
    assert!([413, 0].contains(&answer.status), "{}", answer.status);

    // Halves: the rest of a head, or of a body, never comes.
    let begin = Instant::now();
    let mut halves: Vec<TcpStream> = (0..20).map(|_| dashboard.connect()).collect();
    for (number, stream) in halves.iter_mut().enumerate() {
        let half = match number % 3 {
            0 => "GET /stream HT".to_owned(),
            1 => format!("GET /stream HTTP/1.1\r\n{headers}"),
            _ => format!("POST /set HTTP/1.1\r\n{headers}Content-Length: 100\r\n\r\n{{"),
        };
        stream.write_all(half.as_bytes()).unwrap();
    }
    goes_on(&user, &dashboard);
    for mut stream in halves {
        let mut rest = String::new();
        let _ = stream.read_to_string(&mut rest);
        assert!(!rest.contains(NAME), "{rest}");
    }
    assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", begin.elapsed());

    // Many who ask again and again, and read nothing.
    let begin = Instant::now();
    let greedy: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = dashboard.connect();
            let _ = stream.write_all("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(300).as_bytes());
            stream
        })
        .collect();
    goes_on(&user, &dashboard);
    assert!(begin.elapsed() < Duration::from_secs(50), "{:?}", begin.elapsed());
    drop(greedy);

    for nonsense in [
        "\0\u{1}\u{2}",
        "GET\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "\r\n\r\n\r\n",
    ] {
        let answer = dashboard.answer(&format!("{nonsense}\r\n\r\n"));
        assert!(answer.status == 0 || (400..500).contains(&answer.status), "{nonsense:?}: {}", answer.status);
    }
    goes_on(&user, &dashboard);
    assert!(dashboard.process.try_wait().unwrap().is_none());
}

#[test]
fn addresses_and_files_that_cannot_be() {
    let user = User::new();
    let refused = |words: &[&str]| {
        let output = user.output(["dashboard"].iter().chain(words));
        let said = crate::user::text(&output.stderr);
        (output.status.code().expect("an exit"), said)
    };
    let (code, said) = refused(&["--listen", "0.0.0.0:8300"]);
    assert!(code == 64 && said.contains("only addresses of this machine alone"), "{code} {said}");
    let (code, said) = refused(&["--listen", "8300"]);
    assert!(code == 64 && said.contains("127.0.0.1:8300"), "{code} {said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = user.command(["dashboard", "--listen", &address]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = crate::user::text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("cannot listen on"), "{said}");
    let (code, said) = refused(&["nowhere.journal"]);
    assert!(code == 1 && said.contains("cannot read nowhere.journal"), "{code} {said}");
}
