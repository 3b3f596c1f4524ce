//! Reads the bytes of a message without knowing its type: for tests, which know the numbers of the
//! fields from Perfetto's files and not from our messages.

/// What a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message: its fields in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a>(Vec<(u64, Value<'a>)>);

impl<'a> Fields<'a> {
    pub fn read(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(number(&mut bytes)),
                2 => {
                    let length = number(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(value)
                }
                other => panic!("field {} has wire type {other}, which no field of ours has", key >> 3),
            };
            fields.push((key >> 3, value));
        }
        Self(fields)
    }

    pub fn all(&self, field: u64) -> impl Iterator<Item = Value<'a>> {
        self.0.iter().filter(move |(known, _)| *known == field).map(|(_, value)| *value)
    }

    pub fn number(&self, field: u64) -> Option<u64> {
        self.all(field).last().map(|value| match value {
            Value::Number(number) => number,
            Value::Bytes(bytes) => panic!("field {field} is no number: {bytes:?}"),
        })
    }

    pub fn text(&self, field: u64) -> Option<&'a str> {
        self.all(field).last().map(|value| std::str::from_utf8(bytes(field, value)).unwrap())
    }

    pub fn messages(&self, field: u64) -> Vec<Fields<'a>> {
        self.all(field).map(|value| Fields::read(bytes(field, value))).collect()
    }

    pub fn message(&self, field: u64) -> Option<Fields<'a>> {
        self.messages(field).pop()
    }
}

fn bytes(field: u64, value: Value<'_>) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        Value::Number(number) => panic!("field {field} is the number {number}"),
    }
}

/// Seven bits in each byte, the lowest first; the last one has its highest bit clear.
fn number(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for at in 0.. {
        let (&byte, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return value;
        }
    }
    unreachable!("`split_first` ends the loop")
}
