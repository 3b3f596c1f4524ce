//! Reads levels from text. This file has the grammar; `expansion` gives the levels their meaning.

use crate::error::TopologyError;
use crate::machine::PUS_MAX;
use numaestro_quantity::SIZE;

/// The kind of a level's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Package,
    NumaNode,
    /// Number of the cache level, and whether it holds data.
    Cache(u8, bool),
    Core,
    Pu,
    /// A level that only multiplies.
    Other,
}

/// The attributes in parentheses after a level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    pub memory: Option<u64>,
    pub size: Option<u64>,
    pub indexes: Option<Vec<u32>>,
    /// Column of `indexes=`.
    pub indexes_column: usize,
}

/// One `type:count(attributes)`, or one `[numa(attributes)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Term {
    pub kind: Kind,
    /// `None` = attached to the level before it.
    pub count: Option<u32>,
    pub attributes: Attributes,
    pub column: usize,
    pub text: String,
}

const LEVEL: &str = "a level such as pack:2, numa:2, l3:4, core:8, pu:2 or [numa]";

/// Reads all terms.
pub(super) fn read(text: &str) -> Result<Vec<Term>, TopologyError> {
    let mut scan = Scan { rest: text, column: 1 };
    let mut terms = Vec::new();
    scan.skip_spaces();
    if scan.accept('(') {
        // Attributes of the whole machine: hwloc allows a memory-less root to carry memory here and
        // drops it too.
        scan.attributes(Kind::NumaNode)?;
    }
    loop {
        scan.skip_spaces();
        if scan.rest.is_empty() {
            return Ok(terms);
        }
        terms.push(scan.term()?);
    }
}

struct Scan<'a> {
    rest: &'a str,
    column: usize,
}

impl<'a> Scan<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn skip_spaces(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.rest.starts_with(wanted);
        if found {
            self.take(wanted.len_utf8());
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), TopologyError> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(format!("'{wanted}'"))) }
    }

    fn error(&self, expected: impl Into<String>) -> TopologyError {
        let word = self.rest.split_whitespace().next().unwrap_or("");
        TopologyError::synthetic(self.column, expected, word)
    }

    fn term(&mut self) -> Result<Term, TopologyError> {
        let column = self.column;
        let attached = self.accept('[');
        let name_column = self.column;
        let name = self.take_while(char::is_alphanumeric);
        let kind = kind(name).ok_or_else(|| TopologyError::synthetic(name_column, LEVEL, name_or(name, self.rest)))?;
        if attached && kind != Kind::NumaNode {
            return Err(TopologyError::synthetic(name_column, "numa: only NUMA nodes can be attached", name));
        }
        let count = if attached { None } else { Some(self.count()?) };
        let attributes = if self.accept('(') { self.attributes(kind)? } else { Attributes::default() };
        if attached {
            self.expect(']')?;
        }
        if !self.rest.is_empty() && !self.rest.starts_with(char::is_whitespace) && !self.rest.starts_with('[') {
            return Err(self.error("a space before the next level"));
        }
        Ok(Term { kind, count, attributes, column, text: name.to_owned() })
    }

    fn count(&mut self) -> Result<u32, TopologyError> {
        self.expect(':')?;
        let column = self.column;
        let digits = self.take_while(|c| c.is_ascii_digit());
        match digits.parse::<u32>() {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(TopologyError::synthetic(column, "a count from 1", name_or(digits, self.rest))),
        }
    }

    /// After the opening parenthesis, up to and with the closing one.
    fn attributes(&mut self, kind: Kind) -> Result<Attributes, TopologyError> {
        let mut out = Attributes::default();
        loop {
            self.skip_spaces();
            if self.accept(')') {
                return Ok(out);
            }
            let column = self.column;
            let name = self.take_while(char::is_alphanumeric);
            if !known(name, kind) {
                let expected = "memory= (nodes), size= (caches), indexes= (nodes and PUs) or ')'";
                return Err(TopologyError::synthetic(column, expected, name_or(name, self.rest)));
            }
            self.expect('=')?;
            let value_column = self.column;
            let value = self.take_while(|c| !c.is_whitespace() && c != ')');
            match name {
                "memory" => out.memory = Some(bytes(value, value_column)?),
                "size" => out.size = Some(bytes(value, value_column)?),
                "indexes" => {
                    out.indexes = Some(indexes(value, value_column)?);
                    out.indexes_column = value_column;
                }
                // A memory-side cache changes nothing for placement; checked and left out.
                _ => drop(bytes(value, value_column)?),
            }
        }
    }
}

fn known(attribute: &str, kind: Kind) -> bool {
    match kind {
        Kind::NumaNode => matches!(attribute, "memory" | "indexes" | "memorysidecachesize"),
        Kind::Cache(..) => attribute == "size",
        Kind::Pu => attribute == "indexes",
        _ => false,
    }
}

/// The name that was read, or the text that stands there instead.
fn name_or<'a>(name: &'a str, rest: &'a str) -> &'a str {
    if name.is_empty() { rest.split_whitespace().next().unwrap_or("") } else { name }
}

fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "pack" | "package" | "socket" => Kind::Package,
        "numa" | "node" | "numanode" => Kind::NumaNode,
        "core" => Kind::Core,
        "pu" => Kind::Pu,
        "group" | "die" | "cluster" | "tile" | "book" | "drawer" | "module" => Kind::Other,
        _ => return cache(&name),
    })
}

/// `l3`, `l3u`, `l2d`, `l1i`, `l2cache`, `l1dcache`.
fn cache(name: &str) -> Option<Kind> {
    let name = name.strip_suffix("cache").unwrap_or(name);
    let rest = name.strip_prefix('l')?;
    let level = rest.chars().next().and_then(|c| c.to_digit(10)).filter(|level| (1..=5).contains(level))?;
    match &rest[1..] {
        "" | "u" | "d" => Some(Kind::Cache(level as u8, true)),
        "i" => Some(Kind::Cache(level as u8, false)),
        _ => None,
    }
}

/// `64GB`, `512KiB`, `1073741824`.
fn bytes(text: &str, column: usize) -> Result<u64, TopologyError> {
    let size = SIZE.or_bare("B");
    let error = || TopologyError::synthetic(column, size.expected(), text);
    size.read(text).ok().and_then(|amount| u64::try_from(amount.whole()).ok()).ok_or_else(error)
}

/// `0,2,1,3`, or loops as hwloc writes them: `4*2:1*4` counts OS indices up while the logical index
/// takes 2 steps of 4, then 4 steps of 1 around that.
fn indexes(text: &str, column: usize) -> Result<Vec<u32>, TopologyError> {
    let error =
        |part: &str| TopologyError::synthetic(column, "OS indices such as 0,2,1,3 or loops such as 4*2:1*4", part);
    if !text.contains('*') {
        return text.split(',').map(|part| part.parse().map_err(|_| error(part))).collect();
    }
    let mut logical: Vec<usize> = vec![0];
    for part in text.split(':') {
        let (step, times) = part.split_once('*').ok_or_else(|| error(part))?;
        let step: usize = step.parse().map_err(|_| error(part))?;
        let times: usize = times.parse().map_err(|_| error(part))?;
        if times == 0 || step > PUS_MAX || times.saturating_mul(logical.len()) > PUS_MAX {
            return Err(error(part));
        }
        logical = (0..times).flat_map(|turn| logical.iter().map(move |base| base + turn * step)).collect();
    }
    let mut out = vec![u32::MAX; logical.len()];
    for (os, position) in logical.into_iter().enumerate() {
        match out.get_mut(position) {
            Some(slot) if *slot == u32::MAX => *slot = os as u32,
            _ => return Err(error(text)),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_quantity::spellings::SIZES;

    #[test]
    fn a_size_is_written_as_everywhere() {
        let memory = |text: &str| read(&format!("numa:1(memory={text})")).map(|terms| terms[0].attributes.memory);
        for (text, bytes) in SIZES.into_iter().chain([("1073741824", 1 << 30), ("07", 7), ("1kIb", 1024)]) {
            assert_eq!(memory(text).unwrap(), Some(bytes), "{text}");
        }
        for wrong in ["", "GB", "-1GB", "1XB", "99999999999TB"] {
            let said = memory(wrong).unwrap_err().to_string();
            assert!(said.contains("800M or 1.5TiB") && said.contains("or a number of B"), "{wrong}: {said}");
        }
    }
}
