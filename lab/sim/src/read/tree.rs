//! A text as a tree of values, each with its place, whatever the text's language.

use super::{Mistake, Text};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and the bytes it stands in.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The bytes where it stands in its text.
    pub span: Range<usize>,
    /// The value itself.
    pub value: Value,
}

/// The kinds of values.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Characters.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Real(f64),
    /// Yes or no.
    Yes(bool),
    /// Several values.
    List(Vec<Node>),
    /// Named values, in the order of the text.
    Table(Vec<Entry>),
    /// JSON's `null`.
    Nothing,
}

/// A named value of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub key: String,
    /// The bytes where the name stands.
    pub at: Range<usize>,
    /// The value.
    pub node: Node,
}

impl Node {
    /// The tree of a TOML text.
    ///
    /// # Errors
    /// The text is not TOML; the mistake has the place.
    pub fn toml(text: Text<'_>) -> Result<Self, Mistake> {
        let table = DeTable::parse(text.text)
            .map_err(|error| text.mistake(error.span().unwrap_or(0..0), String::new(), error.message().to_owned()))?;
        let span = table.span();
        Ok(Self { span, value: of_table(text, table.get_ref())? })
    }

    /// The named value, where this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The kind of value, in a few words.
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("\"{text}\""),
            Value::Whole(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Yes(yes) => yes.to_string(),
            Value::List(items) if items.is_empty() => "an empty list".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::Nothing => "null".to_owned(),
        }
    }
}

fn of_table(text: Text<'_>, table: &DeTable<'_>) -> Result<Value, Mistake> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        entries.push(Entry { key: key.get_ref().to_string(), at: key.span(), node: of_value(text, value)? });
    }
    entries.sort_by_key(|entry| entry.at.start);
    Ok(Value::Table(entries))
}

fn of_value(text: Text<'_>, value: &Spanned<DeValue<'_>>) -> Result<Node, Mistake> {
    let span = value.span();
    let unreadable = |what: &str| text.mistake(span.clone(), String::new(), format!("cannot read {what}"));
    let value = match value.get_ref() {
        DeValue::String(characters) => Value::Text(characters.to_string()),
        DeValue::Integer(number) => {
            Value::Whole(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| unreadable("this number"))?)
        }
        DeValue::Float(number) => Value::Real(number.as_str().parse().map_err(|_| unreadable("this number"))?),
        DeValue::Boolean(yes) => Value::Yes(*yes),
        DeValue::Datetime(_) => return Err(unreadable("a date: no field is one")),
        DeValue::Array(items) => Value::List(items.iter().map(|item| of_value(text, item)).collect::<Result<_, _>>()?),
        DeValue::Table(table) => of_table(text, table)?,
    };
    Ok(Node { span, value })
}
