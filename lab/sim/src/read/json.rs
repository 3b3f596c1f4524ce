//! Reads JSON as a tree with places. Members keep their order and may repeat, as imported formats
//! need it. A comma before a closing bracket and comments of `/* */` and `//` are allowed, because
//! the tools of those formats allow them.

use super::tree::{Entry, Node, Value};
use super::{Mistake, Text};

/// Deeper than any job description; deeper texts are refused instead of filling the stack.
const DEPTH_MAX: u32 = 100;

/// The tree of a JSON text.
///
/// # Errors
/// The text is not JSON; the mistake has the place.
pub fn parse(text: Text<'_>) -> Result<Node, Mistake> {
    let mut parser = Parser { text, bytes: text.text.as_bytes(), at: 0 };
    let node = parser.value(0)?;
    parser.blank()?;
    if parser.at < parser.bytes.len() { Err(parser.expected("the end of the file")) } else { Ok(node) }
}

struct Parser<'t> {
    text: Text<'t>,
    bytes: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn expected(&self, what: &str) -> Mistake {
        let found = match self.text.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(character) => format!("`{character}`"),
            None => "the end of the file".to_owned(),
        };
        self.text.mistake(self.at..self.at, "", format!("expected {what}, found {found}"))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips blanks and comments.
    fn blank(&mut self) -> Result<(), Mistake> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') => {
                    let rest = &self.text.text[self.at..];
                    let length = if rest.starts_with("//") {
                        rest.find('\n').unwrap_or(rest.len())
                    } else if rest.starts_with("/*") {
                        rest.find("*/").map(|end| end + 2).ok_or_else(|| self.expected("a comment that ends"))?
                    } else {
                        return Err(self.expected("a value"));
                    };
                    self.at += length;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Whether the next sign is this one; if so, skips it.
    fn take(&mut self, sign: u8) -> Result<bool, Mistake> {
        self.blank()?;
        let there = self.peek() == Some(sign);
        self.at += usize::from(there);
        Ok(there)
    }

    fn value(&mut self, depth: u32) -> Result<Node, Mistake> {
        self.blank()?;
        let start = self.at;
        if depth > DEPTH_MAX {
            return Err(self.expected("less nesting"));
        }
        let value = match self.peek() {
            Some(b'{') => self.table(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { span: start..self.at, value })
    }

    fn table(&mut self, depth: u32) -> Result<Value, Mistake> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            if self.take(b'}')? {
                return Ok(Value::Table(entries));
            }
            if !entries.is_empty() && !self.take(b',')? {
                return Err(self.expected("`,` or `}`"));
            }
            if self.take(b'}')? {
                return Ok(Value::Table(entries));
            }
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.expected("a name in quotes"));
            }
            let key = self.string()?;
            let at = start..self.at;
            if !self.take(b':')? {
                return Err(self.expected("`:`"));
            }
            entries.push(Entry { key, at, node: self.value(depth + 1)? });
        }
    }

    fn list(&mut self, depth: u32) -> Result<Value, Mistake> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            if self.take(b']')? {
                return Ok(Value::List(items));
            }
            if !items.is_empty() && !self.take(b',')? {
                return Err(self.expected("`,` or `]`"));
            }
            if self.take(b']')? {
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
        }
    }

    /// The characters between quotes; escapes are serde's business.
    fn string(&mut self) -> Result<String, Mistake> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(self.text.mistake(start..start, "", "expected a closing quote")),
            }
        }
        self.at += 1;
        let quoted = &self.text.text[start..self.at];
        serde_json::from_str(quoted)
            .map_err(|_| self.text.mistake(start..self.at, "", format!("cannot read the text {quoted}")))
    }

    fn number(&mut self) -> Result<Value, Mistake> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let digits = &self.text.text[start..self.at];
        let whole = digits.parse().map(Value::Whole).ok();
        whole
            .or_else(|| digits.parse().map(Value::Real).ok())
            .ok_or_else(|| self.text.mistake(start..self.at, "", format!("cannot read the number {digits}")))
    }

    fn word(&mut self) -> Result<Value, Mistake> {
        let rest = &self.text.text[self.at..];
        for (word, value) in [("true", Value::Yes(true)), ("false", Value::Yes(false)), ("null", Value::Nothing)] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, Mistake> {
        parse(Text::new("a.json", text))
    }

    #[test]
    fn order_and_repetition_are_kept() {
        let node = read(r#"{ "run": 10, "sleep": 1.5, "run": [true, null, "a\"b"], /* c */ }"#).unwrap();
        let Value::Table(entries) = node.value else { panic!("no table") };
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(keys, ["run", "sleep", "run"]);
        assert_eq!(entries[1].node.value, Value::Real(1.5));
        let Value::List(items) = &entries[2].node.value else { panic!("no list") };
        assert_eq!(items[2].value, Value::Text("a\"b".to_owned()));
    }

    #[test]
    fn mistakes_have_lines() {
        let check = |text, line, part: &str| {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.line, line, "{text}: {mistake}");
            assert!(mistake.problem.contains(part), "{text}: {mistake}");
        };
        check("{\n \"a\": }", 2, "a value");
        check("{\n \"a\" 1}", 2, "`:`");
        check("[1\n 2]", 2, "`,` or `]`");
        check("{\"a\": \"x", 1, "closing quote");
        check("{} x", 1, "the end of the file");
        check("/* never ends", 1, "comment");
        check("[1e]", 1, "number");
        check(&"[".repeat(200), 1, "nesting");
    }
}
