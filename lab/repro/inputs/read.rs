//! Reads a file of inputs. Each mistake names its line and the expected value, and the reading ends
//! at the first one, so that nothing runs half declared.

use super::{Agreement, Constant, Declaration, InputRow, Inputs, Origin, Role, Thresholds};
use crate::claim::{Claim, Row};
use crate::perturbation::Perturbation;
use numaestro_sim::read::fields::{Field, Fields};
use numaestro_sim::read::tree::Node;
use numaestro_sim::read::{Mistake, Text};
use std::collections::{BTreeMap, BTreeSet};

impl Inputs {
    /// Reads a file of inputs for a model with these constants, rows and claims.
    ///
    /// # Errors
    /// The first mistake, with file and line.
    pub fn read(text: Text<'_>, constants: &[&str], rows: &'static [Row], claims: &[Claim]) -> Result<Self, Mistake> {
        let tree = Node::toml(text)?;
        let root = Field::root(text, &tree);
        let mut fields = root.fields()?;
        let thresholds = thresholds(&fields.need("verdict", "the thresholds of verdicts")?)?;
        let mut inputs = Self { thresholds, constants: Vec::new(), rows: Vec::new(), claims: BTreeMap::new() };
        for entry in list(&mut fields, "row")? {
            let row = input_row(&entry, rows)?;
            if inputs.rows.iter().any(|known| known.row.name == row.row.name) {
                return Err(entry.mistake(format!("the row {} stands here twice", row.row.name)));
            }
            inputs.rows.push(row);
        }
        for kind in ["fixed", "identified", "unknown"] {
            for entry in list(&mut fields, kind)? {
                let constant = constant(&entry, kind, constants, &inputs.rows)?;
                if inputs.constants.iter().any(|known| known.name == constant.name) {
                    return Err(entry.mistake(format!("the constant {} stands here twice", constant.name)));
                }
                inputs.constants.push(constant);
            }
        }
        for entry in list(&mut fields, "claim")? {
            let (id, declaration) = declaration(&entry, claims)?;
            if declaration.role == Role::Prediction && inputs.rows.iter().any(|input| input.row.name == id) {
                let problem =
                    format!("{id} is a row that identifies constants, so it is no claim: expected input = true");
                return Err(entry.mistake(problem));
            }
            if inputs.claims.insert(id.clone(), declaration).is_some() {
                return Err(entry.mistake(format!("the claim {id} stands here twice")));
            }
        }
        fields.finish()?;
        inputs.complete(text, constants, claims)?;
        Ok(inputs)
    }

    /// Every constant that the model reads and every claim is declared, and every row is used.
    fn complete(&self, text: Text<'_>, constants: &[&str], claims: &[Claim]) -> Result<(), Mistake> {
        let known: BTreeSet<&str> = self.constants.iter().map(|constant| constant.name.as_str()).collect();
        if let Some(missing) = constants.iter().find(|name| !known.contains(**name)) {
            let problem =
                format!("the model reads the constant `{missing}`: expected it under fixed, identified or unknown");
            return Err(text.mistake_in_all("", problem));
        }
        if let Some(missing) = claims.iter().find(|claim| !self.claims.contains_key(claim.id)) {
            return Err(text.mistake_in_all("", format!("expected a [[claim]] with id = \"{}\"", missing.id)));
        }
        let used = |row: &str| self.constants.iter().any(|constant| constant.identified_by(row));
        match self.rows.iter().find(|input| !used(input.row.name)) {
            Some(idle) => {
                let problem =
                    format!("the row {} identifies nothing: expected it in the rows of a constant", idle.row.name);
                Err(text.mistake_in_all("", problem))
            }
            None => Ok(()),
        }
    }
}

/// The tables of a list `[[key]]`; none where there is no such list.
fn list<'t>(fields: &mut Fields<'t>, key: &'static str) -> Result<Vec<Field<'t>>, Mistake> {
    Ok(fields.read(key, |field| field.items())?.unwrap_or_default())
}

const NUMBER: std::ops::RangeInclusive<f64> = f64::MIN..=f64::MAX;

fn number(field: &Field<'_>) -> Result<f64, Mistake> {
    field.number(NUMBER, "a number")
}

/// A text that must not be empty.
fn words(fields: &mut Fields<'_>, key: &'static str, what: &str) -> Result<String, Mistake> {
    let field = fields.need(key, what)?;
    let text = field.text()?.trim().to_owned();
    if text.is_empty() { Err(field.wrong(what)) } else { Ok(text) }
}

fn thresholds(field: &Field<'_>) -> Result<Thresholds, Mistake> {
    let mut fields = field.fields()?;
    let draws = fields.need("draws", "points of the admissible set")?.whole32(100..=10_000)?;
    let share = fields.need("share", "share of the points with which a claim must hold")?;
    let share = share.number(0.5..=1.0, "a share from 0.5 to 1")?;
    let seed_sets = fields.need("seed_sets", "further sets of seeds")?.whole32(5..=100)?;
    fields.finish()?;
    Ok(Thresholds { draws, share, seed_sets })
}

fn constant(field: &Field<'_>, kind: &str, known: &[&str], rows: &[InputRow]) -> Result<Constant, Mistake> {
    let mut fields = field.fields()?;
    let place = fields.need("name", "the constant")?;
    let name = place.text()?.to_owned();
    if !known.contains(&name.as_str()) {
        return Err(place.mistake(format!("unknown constant `{name}`: expected one of {}", known.join(", "))));
    }
    let unit = fields.read("unit", |unit| unit.text().map(str::to_owned))?.unwrap_or_default();
    let value = number(&fields.need("value", "its value at the centre")?)?;
    let range = if kind == "fixed" { (value, value) } else { range(&mut fields, value)? };
    let origin = match kind {
        "fixed" => Origin::Document(words(&mut fields, "source", "the document and the place in it")?),
        "identified" => identified(&mut fields, rows)?,
        _ => Origin::Range(words(&mut fields, "why", "the reason for the range")?),
    };
    fields.finish()?;
    Ok(Constant { name, unit, value, range, origin })
}

fn range(fields: &mut Fields<'_>, value: f64) -> Result<(f64, f64), Mistake> {
    let field = fields.need("range", "the least and the largest value, [low, high]")?;
    let [low, high] = field.pair("[low, high]")?;
    let (low, high) = (number(&low)?, number(&high)?);
    if low >= high {
        return Err(
            field.mistake(format!("an empty range: expected [low, high] with low below high, found [{low}, {high}]"))
        );
    }
    if !(low..=high).contains(&value) {
        return Err(field.mistake(format!("expected a range that has the value at the centre, {value}, in it")));
    }
    Ok((low, high))
}

fn identified(fields: &mut Fields<'_>, known: &[InputRow]) -> Result<Origin, Mistake> {
    let field = fields.need("rows", "the rows that identify it")?;
    let items = field.items()?;
    if items.is_empty() {
        return Err(field.wrong("at least one row"));
    }
    let mut rows = Vec::new();
    for item in items {
        let name = item.text()?.to_owned();
        if !known.iter().any(|input| input.row.name == name) {
            let names: Vec<&str> = known.iter().map(|input| input.row.name).collect();
            return Err(item.mistake(format!("unknown row `{name}`: expected one of {}", names.join(", "))));
        }
        rows.push(name);
    }
    Ok(Origin::Rows { rows, rule: words(fields, "rule", "the rule by which the rows identify it")? })
}

fn input_row(field: &Field<'_>, known: &'static [Row]) -> Result<InputRow, Mistake> {
    let mut fields = field.fields()?;
    let place = fields.need("name", "the row")?;
    let name = place.text()?;
    let Some(row) = known.iter().find(|row| row.name == name) else {
        let names: Vec<&str> = known.iter().map(|row| row.name).collect();
        return Err(place.mistake(format!("unknown row `{name}`: expected one of {}", names.join(", "))));
    };
    let read = |field: Field<'_>| number(&field);
    let printed = fields.read("printed", read)?;
    let tolerance = fields.read("tolerance", |field| field.number(f64::MIN_POSITIVE..=f64::MAX, "a number above 0"))?;
    let (most, least) = (fields.read("at_most", read)?, fields.read("at_least", read)?);
    let agreement = match (printed, tolerance, most, least) {
        (Some(printed), Some(tolerance), None, None) => Agreement::Near { printed, tolerance },
        (None, None, Some(limit), None) => Agreement::AtMost(limit),
        (None, None, None, Some(limit)) => Agreement::AtLeast(limit),
        _ => return Err(field.mistake("expected `printed` with `tolerance`, or `at_most`, or `at_least`")),
    };
    fields.finish()?;
    Ok(InputRow { row, agreement })
}

fn declaration(field: &Field<'_>, claims: &[Claim]) -> Result<(String, Declaration), Mistake> {
    let mut fields = field.fields()?;
    let known = |field: &Field<'_>| {
        let id = field.text()?;
        if claims.iter().any(|claim| claim.id == id) {
            return Ok(id.to_owned());
        }
        Err(field.mistake(format!("unknown claim `{id}`: expected an id of `numaestro repro list`")))
    };
    let id = known(&fields.need("id", "the claim")?)?;
    let mut must_fail = Vec::new();
    let names = Perturbation::ALL.map(|(name, perturbation, _)| (name, perturbation));
    if let Some(list) = fields.get("must_fail") {
        for item in list.items()? {
            must_fail.push(item.one_of(&names)?);
        }
    }
    let input = fields.read("input", |field| field.yes())?.unwrap_or(false);
    let identity = fields.read("identity", |field| field.text().map(str::to_owned))?;
    // A duplicate may be of another paper's claim.
    let duplicate = fields.read("duplicate_of", |field| field.text().map(str::to_owned))?;
    let role = match (input, identity, duplicate, must_fail.is_empty()) {
        (false, None, None, _) => Role::Prediction,
        (true, None, None, true) => Role::Input,
        (false, Some(file), None, true) => Role::Identity(file),
        (false, None, Some(of), true) => Role::Duplicate(of),
        _ => return Err(field.mistake("expected one of `must_fail`, `input`, `identity` and `duplicate_of`")),
    };
    fields.finish()?;
    Ok((id, Declaration { role, must_fail }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Kind;
    use crate::estimate::Estimate;
    use crate::finding::Judge;

    const ROWS: [Row; 2] = [
        Row { name: "T1", quantity: "time, s", measure: |_| Ok(Estimate::exact(1.0)) },
        Row { name: "T-claim", quantity: "%", measure: |_| Ok(Estimate::exact(1.0)) },
    ];

    fn claim(id: &'static str) -> Claim {
        let check = |_: &crate::Lab| Ok(Judge::new().verdict(""));
        Claim { id, kind: Kind::Positive, setup: "", reported: "", tolerance: "", check }
    }

    const GOOD: &str = r#"
[verdict]
draws = 100
share = 0.6667
seed_sets = 5
[[row]]
name = "T1"
printed = 4.0
tolerance = 0.5
[[fixed]]
name = "slice"
unit = "ms"
value = 30
source = "manual, page 7"
[[identified]]
name = "share"
value = 0.5
range = [0.1, 0.9]
rows = ["T1"]
rule = "least misfit"
[[unknown]]
name = "pause"
value = 2
range = [1, 3]
why = "some"
[[claim]]
id = "T-claim"
must_fail = ["one-pool"]
[[claim]]
id = "T-other"
identity = "m.toml"
"#;

    fn read(text: &str) -> Result<Inputs, Mistake> {
        let claims = [claim("T-claim"), claim("T-other")];
        Inputs::read(Text::new("t.toml", text), &["slice", "share", "pause"], &ROWS, &claims)
    }

    /// The mistake in the file with `from` replaced by `to`.
    fn mistake(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        read(&GOOD.replacen(from, to, 1)).expect_err(to).to_string()
    }

    #[test]
    fn a_file_as_it_should_be() {
        let inputs = read(GOOD).unwrap();
        assert_eq!(inputs.centre().get("share"), Some(0.5));
        assert_eq!(inputs.open().map(|constant| constant.name.as_str()).collect::<Vec<_>>(), ["share", "pause"]);
        assert_eq!(inputs.declaration("T-claim").must_fail, [Perturbation::OnePool]);
        assert_eq!(inputs.identified_by("T1"), ["share"]);
        assert_eq!(inputs.thresholds().draws, 100);
    }

    #[test]
    fn mistakes_have_a_line_and_what_was_expected() {
        for (from, to, line, expected) in [
            ("\"pause\"", "\"pose\"", 22, "unknown constant `pose`: expected one of slice, share, pause"),
            ("[1, 3]", "[3, 1]", 24, "an empty range: expected [low, high] with low below high, found [3, 1]"),
            ("[1, 3]", "[2, 2]", 24, "an empty range"),
            ("[1, 3]", "[5, 9]", 24, "the value at the centre, 2"),
            ("[1, 3]", "7", 24, "expected [low, high]"),
            ("[\"T1\"]", "[\"T2\"]", 19, "unknown row `T2`: expected one of T1"),
            ("[\"T1\"]", "[]", 19, "at least one row"),
            ("draws = 100", "draws = 10", 3, "a whole number from 100 to 10000"),
            ("share = 0.6667", "share = 0.2", 4, "a share from 0.5 to 1"),
            ("\"one-pool\"", "\"no-pool\"", 28, "one-pool"),
            ("id = \"T-other\"", "id = \"T-none\"", 30, "unknown claim `T-none`"),
            ("tolerance = 0.5", "tolerances = 0.5", 6, "expected `printed` with `tolerance`"),
            ("source = \"manual, page 7\"", "source = \"\"", 14, "the document and the place in it"),
            ("why = \"some\"", "reason = \"some\"", 21, "`why` is missing"),
            ("name = \"pause\"", "name = \"slice\"", 21, "the constant slice stands here twice"),
        ] {
            let found = mistake(from, to);
            assert!(found.starts_with(&format!("t.toml:{line}: ")) && found.contains(expected), "{to}: {found}");
        }
    }

    #[test]
    fn a_row_is_no_claim_beside() {
        let both = GOOD.replace("name = \"T1\"", "name = \"T-claim\"").replace("[\"T1\"]", "[\"T-claim\"]");
        let found = read(&both).unwrap_err().to_string();
        assert!(found.starts_with("t.toml:26: ") && found.contains("expected input = true"), "{found}");
        assert!(read(&both.replace("must_fail = [\"one-pool\"]", "input = true")).is_ok());
    }

    #[test]
    fn nothing_may_be_missing() {
        let without = |from: &str| mistake(from, "");
        assert!(without("[[claim]]\nid = \"T-other\"\nidentity = \"m.toml\"\n").contains("id = \"T-other\""));
        let unknown = "[[unknown]]\nname = \"pause\"\nvalue = 2\nrange = [1, 3]\nwhy = \"some\"\n";
        assert!(without(unknown).contains("the model reads the constant `pause`"));
        let idle = GOOD.replace("[[fixed]]", "[[row]]\nname = \"T-claim\"\nat_most = 1\n[[fixed]]");
        let idle = idle.replace("must_fail = [\"one-pool\"]", "input = true");
        assert!(read(&idle).unwrap_err().to_string().contains("identifies nothing"));
    }
}
