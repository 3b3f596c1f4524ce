//! Takes fields out of a tree one by one, so that every mistake names its line and field and no
//! unknown field is passed over.

use super::tree::{Entry, Node, Value};
use super::{Mistake, Text};
use crate::Nanos;
use numaestro_quantity::names::did_you_mean_of;
use numaestro_quantity::{Amount, DURATION, Grammar};
use std::ops::RangeInclusive;

/// One value, with the path that people call it by.
#[derive(Debug, Clone)]
pub struct Field<'t> {
    text: Text<'t>,
    path: String,
    node: &'t Node,
}

/// The named values of a table. A field that no caller has asked for is unknown, and must not be
/// there.
#[derive(Debug)]
pub struct Fields<'t> {
    text: Text<'t>,
    path: String,
    node: &'t Node,
    entries: &'t [Entry],
    asked: Vec<&'static str>,
}

const TIME: Grammar = DURATION.or_bare("ns");

/// With a fraction, which distributions need.
fn nanoseconds(amount: Amount) -> f64 {
    let (numerator, denominator) = amount.fraction();
    numerator as f64 / denominator as f64
}

/// `a` and `b` as `a.b`.
fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

impl<'t> Field<'t> {
    /// A whole text.
    pub const fn root(text: Text<'t>, node: &'t Node) -> Self {
        Self { text, path: String::new(), node }
    }

    /// The same value under another name.
    #[must_use]
    pub fn called(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The path that people call it by.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value itself.
    pub const fn node(&self) -> &'t Node {
        self.node
    }

    /// A mistake in this value.
    pub fn mistake(&self, problem: impl Into<String>) -> Mistake {
        self.text.mistake(self.node.span.clone(), self.path.clone(), problem)
    }

    /// A mistake: the value should be `expected`.
    pub fn wrong(&self, expected: &str) -> Mistake {
        self.mistake(format!("expected {expected}, found {}", self.node.describe()))
    }

    /// Characters.
    ///
    /// # Errors
    /// It is something else.
    pub fn text(&self) -> Result<&'t str, Mistake> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong("text in quotes")),
        }
    }

    /// It is this text.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.node.value, Value::Text(text) if text == word)
    }

    /// Yes or no.
    ///
    /// # Errors
    /// It is something else.
    pub fn yes(&self) -> Result<bool, Mistake> {
        match self.node.value {
            Value::Yes(yes) => Ok(yes),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// A whole number in this range.
    ///
    /// # Errors
    /// It is something else.
    pub fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, Mistake> {
        let found = match self.node.value {
            Value::Whole(number) => u64::try_from(number).ok(),
            // JSON writers give 16.0 and 1e6 for whole numbers.
            Value::Real(number) if (0.0..9e15).contains(&number) && number % 1.0 == 0.0 => Some(number as u64),
            _ => None,
        };
        found.filter(|number| range.contains(number)).ok_or_else(|| {
            let (first, last) = (range.start(), range.end());
            let expected = match *last {
                last if last >= u64::from(u32::MAX) => format!("a whole number, at least {first}"),
                _ => format!("a whole number from {first} to {last}"),
            };
            self.wrong(&expected)
        })
    }

    /// A whole number in this range of 32 bits.
    ///
    /// # Errors
    /// It is something else.
    pub fn whole32(&self, range: RangeInclusive<u32>) -> Result<u32, Mistake> {
        Ok(self.whole(u64::from(*range.start())..=u64::from(*range.end()))? as u32)
    }

    /// A number in this range; `expected` tells people what it should be.
    ///
    /// # Errors
    /// It is something else.
    pub fn number(&self, range: RangeInclusive<f64>, expected: &str) -> Result<f64, Mistake> {
        let found = match self.node.value {
            Value::Whole(number) => Some(number as f64),
            Value::Real(number) => Some(number),
            _ => None,
        };
        found.filter(|number| range.contains(number)).ok_or_else(|| self.wrong(expected))
    }

    /// A time: `"2 ms"`, or a number of nanoseconds.
    ///
    /// # Errors
    /// It is something else.
    pub fn nanos(&self) -> Result<Nanos, Mistake> {
        Ok(self.nanos_exactly()?.round() as Nanos)
    }

    /// A time with its fraction of a nanosecond.
    ///
    /// # Errors
    /// It is something else.
    pub fn nanos_exactly(&self) -> Result<f64, Mistake> {
        let found = match &self.node.value {
            Value::Text(text) => TIME.read(text).ok().map(nanoseconds),
            Value::Whole(number) => Some(*number as f64),
            Value::Real(number) => Some(*number),
            _ => None,
        };
        found.filter(|ns| (0.0..9.2e18).contains(ns)).ok_or_else(|| self.wrong(&TIME.expected()))
    }

    /// One of these words.
    ///
    /// # Errors
    /// It is something else.
    pub fn one_of<T: Clone>(&self, words: &[(&str, T)]) -> Result<T, Mistake> {
        let found = match &self.node.value {
            Value::Text(text) => words.iter().find(|(word, _)| word == text),
            _ => None,
        };
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            let list: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            self.wrong(&list.join(" or "))
        })
    }

    /// The values of a list.
    ///
    /// # Errors
    /// It is something else.
    pub fn items(&self) -> Result<Vec<Self>, Mistake> {
        let Value::List(items) = &self.node.value else { return Err(self.wrong("a list in [ ]")) };
        let field = |(index, node)| Self { text: self.text, path: format!("{}[{index}]", self.path), node };
        Ok(items.iter().enumerate().map(field).collect())
    }

    /// A list of exactly two values.
    ///
    /// # Errors
    /// It is something else; `expected` tells people what it should be.
    pub fn pair(&self, expected: &str) -> Result<[Self; 2], Mistake> {
        let items = self.items().map_err(|_| self.wrong(expected))?;
        <[Self; 2]>::try_from(items)
            .map_err(|items| self.mistake(format!("expected {expected}, found {} values", items.len())))
    }

    /// The named values of a table, in the order of the text; a name may stand there twice.
    ///
    /// # Errors
    /// It is something else.
    pub fn entries(&self) -> Result<Vec<(&'t str, Self)>, Mistake> {
        let Value::Table(entries) = &self.node.value else { return Err(self.wrong("a table")) };
        let field = |entry: &'t Entry| {
            (entry.key.as_str(), Self { text: self.text, path: join(&self.path, &entry.key), node: &entry.node })
        };
        Ok(entries.iter().map(field).collect())
    }

    /// The fields of a table.
    ///
    /// # Errors
    /// It is no table.
    pub fn fields(&self) -> Result<Fields<'t>, Mistake> {
        self.table().ok_or_else(|| self.wrong("a table"))
    }

    /// The fields, if it is a table. A mistake counts lines: whoever reads something else then does
    /// not make one.
    pub fn table(&self) -> Option<Fields<'t>> {
        let Value::Table(entries) = &self.node.value else { return None };
        Some(Fields { text: self.text, path: self.path.clone(), node: self.node, entries, asked: Vec::new() })
    }
}

impl<'t> Fields<'t> {
    /// Changes the path that people call this table by: `program.mm` once its name is known.
    pub fn call(&mut self, path: impl Into<String>) {
        self.path = path.into();
    }

    /// The path that people call it by.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The field, if it is there.
    pub fn get(&mut self, key: &'static str) -> Option<Field<'t>> {
        self.asked.push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Field { text: self.text, path: join(&self.path, key), node: &entry.node })
    }

    /// The field, which must be there; `what` names it for people.
    ///
    /// # Errors
    /// It is not there.
    pub fn need(&mut self, key: &'static str, what: &str) -> Result<Field<'t>, Mistake> {
        self.get(key).ok_or_else(|| {
            let problem = format!("`{key}` is missing: {what}");
            self.text.mistake(self.node.span.clone(), self.path.clone(), problem)
        })
    }

    /// The result of `read` on the field, if it is there.
    ///
    /// # Errors
    /// The mistakes of `read`.
    pub fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Field<'t>) -> Result<T, Mistake>,
    ) -> Result<Option<T>, Mistake> {
        self.get(key).map(read).transpose()
    }

    /// A mistake of the table as a whole.
    pub fn mistake(&self, problem: impl Into<String>) -> Mistake {
        self.text.mistake(self.node.span.clone(), self.path.clone(), problem)
    }

    /// Ends the reading: a field that nobody has asked for is a mistake.
    ///
    /// # Errors
    /// The first such field, and the fields that there are.
    pub fn finish(self) -> Result<(), Mistake> {
        let Some(entry) = self.entries.iter().find(|entry| !self.asked.contains(&entry.key.as_str())) else {
            return Ok(());
        };
        let mut known: Vec<&str> = Vec::new();
        for &key in &self.asked {
            if !known.contains(&key) {
                known.push(key);
            }
        }
        let problem = format!("unknown field{}", did_you_mean_of(&entry.key, known));
        Err(self.text.mistake(entry.at.clone(), join(&self.path, &entry.key), problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json;
    use numaestro_quantity::spellings::DURATIONS;

    fn read(json: &str) -> Result<f64, Mistake> {
        let text = Text::new("a.json", json);
        Field::root(text, &json::parse(text)?).nanos_exactly()
    }

    #[test]
    fn a_time_is_written_as_everywhere() {
        for (text, ns) in DURATIONS {
            assert_eq!(read(&format!("\"{text}\"")), Ok(ns as f64), "{text}");
        }
    }

    #[test]
    fn a_time_may_be_a_fraction_or_a_number_of_nanoseconds() {
        for (json, ns) in [
            ("7", 7.0),
            ("\"7\"", 7.0),
            ("1.5", 1.5),
            ("\"0.75 ns\"", 0.75),
            ("\" 20 µs \"", 20e3),
            ("\"1 d\"", 86_400e9),
        ] {
            assert_eq!(read(json), Ok(ns), "{json}");
        }
        for wrong in ["\"fast\"", "\"2 fortnights\"", "\"\"", "\"inf s\"", "\"-1 s\"", "-1", "\"1e10 s\"", "true"] {
            let problem = read(wrong).unwrap_err().problem;
            assert!(problem.contains("100ms or 1.5h") && problem.contains("or a number of ns"), "{wrong}: {problem}");
        }
    }
}
