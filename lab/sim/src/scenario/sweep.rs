//! Sweeps: the parameters and values that are compared, and the scenario's tree with one value of
//! each.

use crate::read::Mistake;
use crate::read::fields::Field;
use crate::read::tree::{Entry, Node, Value};

/// The policies and parameters that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sweep {
    /// Policies; empty = the scenario's own.
    pub policies: Vec<String>,
    /// Parameters and their values.
    pub parameters: Vec<Parameter>,
}

/// A parameter and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its path, as in `machine.delay`, `workload.load`, `program.mm.processors`.
    pub name: String,
    /// Its values, as they are written.
    pub values: Vec<String>,
}

/// A choice of one value: its path, its text in labels, and the value itself.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub name: String,
    pub shown: String,
    pub value: Node,
}

/// Most points of a sweep.
const POINTS_MAX: usize = 100_000;

/// Reads `[sweep]`: the part that people see, and the choices of each dimension.
pub(super) fn read(field: &Field<'_>) -> Result<(Sweep, Vec<Vec<Choice>>), Mistake> {
    let mut dimensions = Vec::new();
    flatten(field, "", &mut dimensions)?;
    // Policies vary fastest, so that compared results stand together.
    dimensions.sort_by_key(|choices| choices[0].name == "policy");
    let mut sweep = Sweep::default();
    let mut points = 1usize;
    for choices in &dimensions {
        let values = choices.iter().map(|choice| choice.shown.clone()).collect();
        match choices[0].name.as_str() {
            "policy" => sweep.policies = values,
            name => sweep.parameters.push(Parameter { name: name.to_owned(), values }),
        }
        points = points.saturating_mul(choices.len());
    }
    if points > POINTS_MAX {
        return Err(field.mistake(format!("{points} points are too many: at most {POINTS_MAX}")));
    }
    Ok((sweep, dimensions))
}

/// Lists at the ends of tables: `machine.delay = [...]` is written as such, in quotes or as tables.
fn flatten(field: &Field<'_>, prefix: &str, out: &mut Vec<Vec<Choice>>) -> Result<(), Mistake> {
    for (key, field) in field.entries()? {
        let name = match (prefix, key) {
            ("", "policies") => "policy".to_owned(),
            ("", key) => key.to_owned(),
            (prefix, key) => format!("{prefix}.{key}"),
        };
        if matches!(field.node().value, Value::Table(_)) {
            flatten(&field, &name, out)?;
            continue;
        }
        let items = field.items().map_err(|_| field.wrong("a list of values"))?;
        if items.is_empty() {
            return Err(field.wrong("at least one value"));
        }
        if name.starts_with("sweep") || out.iter().any(|choices: &Vec<Choice>| choices[0].name == name) {
            return Err(field.mistake(format!("`{name}` cannot be swept here, or is swept already")));
        }
        let choice = |item: &Field<'_>| {
            let shown = match &item.node().value {
                Value::Text(text) => text.clone(),
                _ => shown(item.node()),
            };
            Choice { name: name.clone(), shown, value: item.node().clone() }
        };
        out.push(items.iter().map(choice).collect());
    }
    Ok(())
}

/// A value for labels.
fn shown(node: &Node) -> String {
    match &node.value {
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Table(entries) => {
            let inner: Vec<String> =
                entries.iter().map(|entry| format!("{} = {}", entry.key, shown(&entry.node))).collect();
            format!("{{ {} }}", inner.join(", "))
        }
        Value::Text(text) => text.clone(),
        _ => node.describe(),
    }
}

/// One value of each dimension, the last dimension fastest.
pub(super) fn combinations(dimensions: &[Vec<Choice>]) -> Vec<Vec<&Choice>> {
    let mut points: Vec<Vec<&Choice>> = vec![Vec::new()];
    for choices in dimensions {
        let mut next = Vec::with_capacity(points.len() * choices.len());
        for point in &points {
            next.extend(choices.iter().map(|choice| point.iter().copied().chain([choice]).collect()));
        }
        points = next;
    }
    points
}

/// Puts a value at a path of the tree. Items of lists go by their `name` or by their index, as in
/// `program.mm.phases[0].work`.
///
/// # Errors
/// The part of the path that does not exist.
pub(super) fn set(tree: &mut Node, path: &str, value: &Node) -> Result<(), String> {
    let path = path.replace('[', ".").replace(']', "");
    let words: Vec<&str> = path.split('.').filter(|word| !word.is_empty()).collect();
    let Some((last, way)) = words.split_last() else { return Err("a parameter without a name".to_owned()) };
    let mut node = tree;
    for word in way {
        node = child(node, word, value)?;
    }
    *child(node, last, value)? = value.clone();
    Ok(())
}

/// The part of a node that a word names; a table gets it if it is not there.
fn child<'n>(node: &'n mut Node, word: &str, value: &Node) -> Result<&'n mut Node, String> {
    // `machine = "hector"` is short for a table with that name.
    if matches!(node.value, Value::Text(_)) {
        let name = Entry { key: "name".to_owned(), at: node.span.clone(), node: node.clone() };
        node.value = Value::Table(vec![name]);
    }
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|entry| entry.key == word).unwrap_or_else(|| {
                let empty = Node { span: value.span.clone(), value: Value::Table(Vec::new()) };
                entries.push(Entry { key: word.to_owned(), at: value.span.clone(), node: empty });
                entries.len() - 1
            });
            Ok(&mut entries[at].node)
        }
        Value::List(items) => {
            let named =
                |item: &Node| matches!(item.get("name"), Some(Node { value: Value::Text(name), .. }) if name == word);
            let at = items.iter().position(named).or_else(|| word.parse().ok()).filter(|&at| at < items.len());
            at.map(|at| &mut items[at]).ok_or_else(|| format!("there is no `{word}` in this list"))
        }
        _ => Err(format!("there is nothing in which `{word}` could be")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Text;

    fn tree(text: &str) -> Node {
        Node::toml(Text::new("a.toml", text)).unwrap()
    }

    #[test]
    fn paths() {
        let mut node = tree("machine = \"hector\"\n[[program]]\nname = \"mm\"\nphases = [{ work = 1 }]");
        let value = Node { span: 0..0, value: Value::Whole(7) };
        for path in ["machine.delay", "program.mm.processors", "program.mm.phases[0].work", "engine.grace"] {
            set(&mut node, path, &value).unwrap();
        }
        assert_eq!(node.get("machine").unwrap().get("delay").unwrap().value, Value::Whole(7));
        assert_eq!(node.get("machine").unwrap().get("name").unwrap().value, Value::Text("hector".to_owned()));
        assert_eq!(node.get("engine").unwrap().get("grace").unwrap().value, Value::Whole(7));
        let Value::List(programs) = &node.get("program").unwrap().value else { panic!("no list") };
        assert_eq!(programs[0].get("processors").unwrap().value, Value::Whole(7));
        let Value::List(phases) = &programs[0].get("phases").unwrap().value else { panic!("no list") };
        assert_eq!(phases[0].get("work").unwrap().value, Value::Whole(7));
        assert!(set(&mut node, "program.fft.processors", &value).unwrap_err().contains("`fft`"));
        assert!(set(&mut node, "engine.grace.deep", &value).unwrap_err().contains("`deep`"));
    }

    #[test]
    fn policies_vary_fastest() {
        let node = tree("policies = [\"equi\", \"dss\"]\nmachine.delay = [0, 4]");
        let (sweep, dimensions) = read(&Field::root(Text::new("a.toml", ""), &node)).unwrap();
        assert_eq!(sweep.policies, ["equi", "dss"]);
        assert_eq!(
            sweep.parameters,
            [Parameter { name: "machine.delay".into(), values: vec!["0".into(), "4".into()] }]
        );
        let shown: Vec<Vec<&str>> = combinations(&dimensions)
            .iter()
            .map(|point| point.iter().map(|choice| choice.shown.as_str()).collect())
            .collect();
        assert_eq!(shown, [["0", "equi"], ["0", "dss"], ["4", "equi"], ["4", "dss"]]);
    }
}
