//! The machine of a scenario: by name, from a file, or written out in the scenario.

use super::parts::Loaded;
use crate::machine::{self, Model};
use crate::read::fields::Field;
use crate::read::tree::{Entry, Node, Value};
use crate::read::{Mistake, Text};
use std::fmt::Write as _;
use std::sync::Arc;

/// Reads `machine = "name"`, `machine = "file.toml"`, or a table of `name` or `file` with `delay`,
/// or with the machine under `inline`.
pub(super) fn read(field: &Field<'_>, loaded: &Loaded<'_>) -> Result<Arc<Model>, Mistake> {
    let Some(mut fields) = field.table() else {
        let text = field.text().map_err(|_| field.wrong("the name of a machine, a file, or a table"))?;
        return if is_file(text) { from_file(field, None, loaded) } else { named(field, 0, loaded) };
    };
    let delay = fields.get("delay");
    let cycles = delay.as_ref().map(|delay| delay.whole32(0..=1 << 20)).transpose()?;
    let model = match (fields.get("name"), fields.get("file"), fields.get("inline")) {
        (Some(name), None, None) if name.text().is_ok_and(is_file) => from_file(&name, cycles, loaded)?,
        (Some(name), None, None) => named(&name, cycles.unwrap_or(0), loaded)?,
        (None, Some(file), None) => from_file(&file, cycles, loaded)?,
        (None, None, Some(inline)) => {
            let text = to_toml(inline.node());
            loaded.machine(format!("inline {text} {cycles:?}"), || {
                machine::read_with_delay(Text::new("", &text), loaded.files, cycles)
                    .map_err(|mistake| within(&inline, mistake))
            })?
        }
        _ => return Err(field.mistake("expected exactly one of `name`, `file` and `inline`")),
    };
    fields.finish()?;
    Ok(model)
}

fn is_file(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("toml"))
}

fn named(field: &Field<'_>, delay: u32, loaded: &Loaded<'_>) -> Result<Arc<Model>, Mistake> {
    let name = field.text()?;
    loaded.machine(format!("{name} {delay}"), || {
        machine::named(name, delay).ok_or_else(|| {
            let names = machine::names().join(", ");
            field.mistake(format!("no machine is called \"{name}\"; there is {names}, or a file ending in .toml"))
        })
    })
}

fn from_file(field: &Field<'_>, delay: Option<u32>, loaded: &Loaded<'_>) -> Result<Arc<Model>, Mistake> {
    let name = field.text()?;
    loaded.machine(format!("file {name} {delay:?}"), || {
        let text = loaded.text(field)?;
        machine::read_with_delay(Text::new(name, &text), loaded.files, delay)
    })
}

/// Turns a mistake in a text made of a field into one of that field.
fn within(field: &Field<'_>, mistake: Mistake) -> Mistake {
    let path = if mistake.field.is_empty() { String::new() } else { format!(".{}", mistake.field) };
    Mistake { field: format!("{}{path}", field.path()), ..field.mistake(mistake.problem) }
}

/// A table as TOML text.
fn to_toml(node: &Node) -> String {
    let mut out = String::new();
    let Value::Table(entries) = &node.value else { return out };
    for Entry { key, node, .. } in entries {
        out.push_str(&quoted(key));
        out.push_str(" = ");
        put(node, &mut out);
        out.push('\n');
    }
    out
}

fn put(node: &Node, out: &mut String) {
    match &node.value {
        Value::Text(text) => out.push_str(&quoted(text)),
        Value::Whole(number) => out.push_str(&number.to_string()),
        // With a point, so that it stays a real number.
        Value::Real(number) => {
            let _ = write!(out, "{number:?}");
        }
        Value::Yes(yes) => out.push_str(&yes.to_string()),
        Value::Nothing => {}
        Value::List(items) => {
            out.push('[');
            for item in items {
                put(item, out);
                out.push_str(", ");
            }
            out.push(']');
        }
        Value::Table(entries) => {
            out.push('{');
            for (index, entry) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(&quoted(&entry.key));
                out.push_str(" = ");
                put(&entry.node, out);
            }
            out.push('}');
        }
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
