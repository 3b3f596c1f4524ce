//! Who may ask: the page that was opened by the link, in a browser on this machine.
//!
//! Every user of the machine can reach a port of the loopback address, and a foreign page in a
//! browser can make the browser ask it. So each request that tells or changes something must bear
//! the token of the link, which no other page and no other user knows. The name in `Host` must be
//! one of this machine (a foreign name that was made to lead here is refused), and `Origin`, where
//! there is one, the page's own.

use axum::http::{HeaderMap, StatusCode, header};

/// The secret in the link: 128 random bits.
#[derive(Debug, Clone)]
pub struct Token(String);

impl Token {
    /// A new one.
    pub fn new() -> std::io::Result<Self> {
        let mut bits = [0_u8; 16];
        let mut there = 0;
        while there < bits.len() {
            there += rustix::rand::getrandom(&mut bits[there..], rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bits))))
    }

    /// For the link.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Takes the same time whatever is wrong with a token of the right length.
    fn is(&self, other: &str) -> bool {
        let differs = self.0.bytes().zip(other.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other));
        self.0.len() == other.len() && differs == 0
    }
}

/// Whether the names in a request are this machine's.
pub fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let Some(host) = text(header::HOST) else { return false };
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]") && text(header::ORIGIN).is_none_or(is_own)
}

/// # Errors
/// The status to answer with.
pub fn check(headers: &HeaderMap, token: &Token) -> Result<(), StatusCode> {
    if !is_from_here(headers) {
        return Err(StatusCode::FORBIDDEN);
    }
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match given {
        Some(given) if token.is(given) => Ok(()),
        _ => Err(StatusCode::UNAUTHORIZED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(header::HeaderName, &str)], token: &Token) -> Result<(), u16> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        check(&headers, token).map_err(|status| status.as_u16())
    }

    #[test]
    fn only_the_page_of_the_link_may_ask() {
        let token = Token::new().unwrap();
        assert_ne!(token.text(), Token::new().unwrap().text());
        let bearer = format!("Bearer {}", token.text());
        let right = (header::AUTHORIZATION, bearer.as_str());
        for host in ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"] {
            let origin = format!("http://{host}");
            assert_eq!(answer(&[(header::HOST, host), right.clone()], &token), Ok(()), "{host}");
            let with_origin = [(header::HOST, host), right.clone(), (header::ORIGIN, &origin)];
            assert_eq!(answer(&with_origin, &token), Ok(()), "{host}");
        }
        let here = (header::HOST, "127.0.0.1:8000");
        for host in ["evil.example:8000", "127.0.0.1.evil.example", "192.168.1.1:8000", "127.0.0.1:80:80", ""] {
            assert_eq!(answer(&[(header::HOST, host), right.clone()], &token), Err(403), "{host}");
        }
        assert_eq!(answer(std::slice::from_ref(&right), &token), Err(403), "no host");
        for origin in ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:8001"] {
            let headers = [here.clone(), right.clone(), (header::ORIGIN, origin)];
            assert_eq!(answer(&headers, &token), Err(403), "{origin}");
        }
        assert_eq!(answer(std::slice::from_ref(&here), &token), Err(401), "no token");
        let others = Token::new().unwrap();
        for wrong in [others.text(), "", &token.text()[1..], &format!("{}0", token.text())] {
            let bearer = format!("Bearer {wrong}");
            assert_eq!(answer(&[here.clone(), (header::AUTHORIZATION, &bearer)], &token), Err(401), "{wrong}");
        }
    }
}
