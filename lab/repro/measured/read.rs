//! Reads a file of measurements. Each mistake names its line and the expected value, and the
//! reading ends at the first one.

use super::{Declared, Measured, Measurements, Quantity, Samples};
use numaestro_sim::read::fields::Field;
use numaestro_sim::read::tree::Value;
use numaestro_sim::read::{Mistake, Text, json};

/// Version of the format.
const VERSION: u64 = 1;
const SHARE: std::ops::RangeInclusive<f64> = 0.0..=1.0;
const NUMBER: std::ops::RangeInclusive<f64> = f64::MIN..=f64::MAX;

impl Measurements {
    /// Version of the format, as it stands in the file under `numaestro_measured`.
    pub const VERSION: u64 = VERSION;

    /// Reads what `numaestro bench claims --json` has written.
    ///
    /// # Errors
    /// The first mistake, with file and line.
    pub fn read(text: Text<'_>) -> Result<Self, Mistake> {
        let tree = json::parse(text)?;
        let mut fields = Field::root(text, &tree).fields()?;
        let what = "expected a file that `numaestro bench claims --json FILE` has written";
        fields.need("numaestro_measured", what)?.whole(VERSION..=VERSION)?;
        let machine = fields.need("machine", "the machine on which it was measured")?;
        let machine = machine.entries()?.iter().map(described).collect::<Result<_, _>>()?;
        let quick = fields.need("quick", "whether there were fewer rounds than declared")?.yes()?;
        let list = fields.need("claims", "the claims that were measured")?;
        fields.finish()?;
        let mut claims: Vec<Measured> = Vec::new();
        for field in list.items()? {
            let measured = claim(&field)?;
            if claims.iter().any(|known| known.claim == measured.claim) {
                return Err(field.mistake(format!("the claim {} stands here twice", measured.claim)));
            }
            claims.push(measured);
        }
        Ok(Self { machine, quick, claims })
    }
}

/// One entry of the machine's description.
fn described((name, field): &(&str, Field<'_>)) -> Result<(String, String), Mistake> {
    let value = match &field.node().value {
        Value::Text(text) => text.clone(),
        Value::Whole(number) => number.to_string(),
        _ => return Err(field.wrong("text or a whole number")),
    };
    Ok(((*name).to_owned(), value))
}

fn claim(field: &Field<'_>) -> Result<Measured, Mistake> {
    let mut fields = field.fields()?;
    let place = fields.need("claim", "the claim")?;
    let name = place.text()?.to_owned();
    let Some(declared) = Declared::of(&name) else {
        let known: Vec<&str> = super::DECLARED.iter().map(|declared| declared.claim).collect();
        return Err(place.mistake(format!("`{name}` is not measured: expected one of {}", known.join(", "))));
    };
    let cause = fields.need("cause", "why nothing could be measured; empty where something was")?.text()?.to_owned();
    let foreign = fields.need("foreign", "the share of the machine that others used")?;
    let foreign = foreign.number(SHARE, "a share from 0 to 1")?;
    let noisy = fields.need("noisy", "whether runs beside too much foreign load count")?.yes()?;
    let list = fields.need("samples", "the samples of each quantity")?;
    fields.finish()?;
    let mut samples: Vec<Samples> = Vec::new();
    for field in list.items()? {
        let one = quantity(&field, declared.quantities)?;
        if samples.iter().any(|known| known.name == one.name) {
            return Err(field.mistake(format!("the quantity {} stands here twice", one.name)));
        }
        samples.push(one);
    }
    let mut missing = declared.quantities.iter().filter(|quantity| samples.iter().all(|one| one.name != quantity.name));
    if let (true, Some(missing)) = (cause.is_empty(), missing.next()) {
        return Err(list.mistake(format!("expected samples of `{}` too, or a cause", missing.name)));
    }
    Ok(Measured { claim: name, cause, foreign, noisy, samples })
}

fn quantity(field: &Field<'_>, known: &[Quantity]) -> Result<Samples, Mistake> {
    let mut fields = field.fields()?;
    let place = fields.need("name", "the quantity")?;
    let name = place.text()?.to_owned();
    if known.iter().all(|one| one.name != name) {
        let known: Vec<&str> = known.iter().map(|one| one.name).collect();
        return Err(place.mistake(format!("unknown quantity `{name}`: expected one of {}", known.join(", "))));
    }
    let on = numbers(&fields.need("on", "samples with the feature")?)?;
    let off = numbers(&fields.need("off", "samples with the feature switched off")?)?;
    fields.finish()?;
    Ok(Samples { name, on, off })
}

fn numbers(field: &Field<'_>) -> Result<Vec<f64>, Mistake> {
    field.items()?.iter().map(|item| item.number(NUMBER, "a number")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
  "numaestro_measured": 1,
  "machine": { "processors": 2, "cpu": "a model" },
  "quick": false,
  "claims": [
    { "claim": "N-switch", "cause": "", "foreign": 0.01, "noisy": false,
      "samples": [
        { "name": "time", "on": [1.0, 1.01, 0.99, 1.0, 1.0], "off": [1.1, 1.1, 1.2, 1.1, 1.1] } ] },
    { "claim": "A-over", "cause": "no kernels", "foreign": 0, "noisy": false, "samples": [] }
  ]
}
"#;

    fn read(text: &str) -> Result<Measurements, String> {
        Measurements::read(Text::new("m.json", text)).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn what_was_written_is_read_and_judged() {
        let found = read(GOOD).unwrap();
        assert_eq!(found.machine[0], ("processors".to_owned(), "2".to_owned()));
        assert_eq!(found.verdict("N-switch").unwrap().status.word(), "reproduced");
        assert_eq!(found.verdict("A-over").unwrap().status.reason(), "no kernels");
        assert!(found.verdict("N-sync").is_none());
    }

    #[test]
    fn a_mistake_has_file_line_and_what_was_expected() {
        for (from, to, line, expected) in [
            ("\"numaestro_measured\": 1", "\"numaestro_measured\": 2", 2, "from 1 to 1"),
            ("\"numaestro_measured\": 1,", "", 1, "numaestro bench claims --json"),
            ("\"quick\": false", "\"quick\": \"no\"", 4, "true or false"),
            ("N-switch", "N-Tab3", 6, "expected one of N-sync, N-switch"),
            ("0.01,", "7,", 6, "a share from 0 to 1"),
            ("\"name\": \"time\"", "\"name\": \"tiem\"", 8, "expected one of time"),
            ("[1.0, 1.01", "[1.0, \"fast\"", 8, "expected a number"),
            ("\"off\": [1.1", "\"of\": [1.1", 8, "`off` is missing"),
            ("\"no kernels\"", "\"\"", 9, "expected samples of `b2arr` too"),
            ("A-over", "N-switch", 9, "stands here twice"),
            ("\n}\n", "\n", 11, "expected"),
        ] {
            let error = read(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(error.starts_with(&format!("m.json:{line}:")) && error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn nothing_unknown_is_passed_over() {
        let error = read(&GOOD.replacen("\"noisy\": false,", "\"noisy\": false, \"verdict\": \"reproduced\",", 1));
        assert!(error.unwrap_err().contains("unknown field"));
    }
}
