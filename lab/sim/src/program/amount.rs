//! Distributions and speedup curves as they are written in files.

use crate::dist::Dist;
use crate::read::Mistake;
use crate::read::fields::Field;
use crate::read::tree::Value;
use crate::speedup::Curve;

/// The unit of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, written as times.
    Time,
    /// Plain numbers.
    Number,
}

impl Unit {
    fn value(self, field: &Field<'_>) -> Result<f64, Mistake> {
        match self {
            Self::Time => field.nanos_exactly(),
            Self::Number => field.number(0.0..=1e15, "a number, at least 0"),
        }
    }
}

const DIST: &str = "a value, or one of { exponential = mean }, { mean = m, cv = c }, { uniform = [low, high] }, \
    { geometric = mean }, { choice = [[value, weight], ...] }, { lognormal = [mean, cv] }";

/// A distribution: a plain value, or a table with one of the names in [`Dist`].
///
/// # Errors
/// The mistake in it.
pub fn dist(field: &Field<'_>, unit: Unit) -> Result<Dist, Mistake> {
    if !matches!(field.node().value, Value::Table(_)) {
        return match field.node().value {
            Value::List(_) | Value::Yes(_) | Value::Nothing => Err(field.wrong(DIST)),
            _ => unit.value(field).map(Dist::Constant),
        };
    }
    let mut fields = field.fields()?;
    let dist = if let Some(mean) = fields.get("exponential") {
        Dist::Exponential(unit.value(&mean)?)
    } else if let Some(mean) = fields.get("mean") {
        let cv = fields.need("cv", "the coefficient of variation that goes with `mean`")?;
        Dist::MeanCv(unit.value(&mean)?, coefficient(&cv)?)
    } else if let Some(bounds) = fields.get("uniform") {
        let [low, high] = bounds.pair("[low, high]")?;
        let ends = (unit.value(&low)?, unit.value(&high)?);
        if ends.0 > ends.1 {
            return Err(bounds.mistake("expected [low, high] with low at most high"));
        }
        Dist::Uniform(ends.0, ends.1)
    } else if let Some(mean) = fields.get("geometric") {
        Dist::Geometric(mean.number(1.0..=1e9, "a mean of at least 1")?)
    } else if let Some(values) = fields.get("choice") {
        choice(&values, unit)?
    } else if let Some(both) = fields.get("lognormal") {
        let [mean, cv] = both.pair("[mean, cv]")?;
        Dist::LogNormal(unit.value(&mean)?, coefficient(&cv)?)
    } else {
        return Err(field.mistake(format!("expected {DIST}")));
    };
    fields.finish()?;
    Ok(dist)
}

fn coefficient(field: &Field<'_>) -> Result<f64, Mistake> {
    field.number(0.0..=1e3, "a coefficient of variation, at least 0")
}

fn choice(field: &Field<'_>, unit: Unit) -> Result<Dist, Mistake> {
    let mut values = Vec::new();
    for item in field.items()? {
        let [value, weight] = item.pair("[value, weight]")?;
        values.push((unit.value(&value)?, weight.number(0.0..=1e12, "a weight, at least 0")?));
    }
    if values.iter().map(|(_, weight)| weight).sum::<f64>() <= 0.0 {
        return Err(field.mistake("expected at least one value with a weight above 0"));
    }
    Ok(Dist::Choice(values))
}

const CURVE: &str = "\"linear\", or one of { amdahl = f }, { downey = [A, sigma] }, { sevcik = [phi, alpha, beta] }, \
    { table = [[processors, speedup], ...] }, { rigid = processors }";

/// A speedup curve.
///
/// # Errors
/// The mistake in it.
pub fn curve(field: &Field<'_>) -> Result<Curve, Mistake> {
    if let Value::Text(word) = &field.node().value {
        return if word == "linear" { Ok(Curve::Linear) } else { Err(field.wrong(CURVE)) };
    }
    let mut fields = field.fields().map_err(|_| field.wrong(CURVE))?;
    let curve = if let Some(serial) = fields.get("amdahl") {
        Curve::Amdahl(serial.number(0.0..=1.0, "a serial fraction from 0 to 1")?)
    } else if let Some(both) = fields.get("downey") {
        let [average, sigma] = both.pair("[A, sigma]")?;
        Curve::Downey {
            average: average.number(1.0..=1e9, "an average parallelism A of at least 1")?,
            sigma: sigma.number(0.0..=1e6, "a coefficient of variation sigma, at least 0")?,
        }
    } else if let Some(three) = fields.get("sevcik") {
        sevcik(&three)?
    } else if let Some(points) = fields.get("table") {
        table(&points)?
    } else if let Some(size) = fields.get("rigid") {
        Curve::Rigid(size.whole32(1..=1 << 24)?)
    } else {
        return Err(field.mistake(format!("expected {CURVE}")));
    };
    fields.finish()?;
    Ok(curve)
}

fn sevcik(field: &Field<'_>) -> Result<Curve, Mistake> {
    let items = field.items()?;
    let [imbalance, serial, overhead] = &items[..] else {
        return Err(field.mistake("expected [phi, alpha, beta]"));
    };
    let part = |field: &Field<'_>| field.number(0.0..=1e9, "a number, at least 0");
    let (imbalance, serial, overhead) = (part(imbalance)?, part(serial)?, part(overhead)?);
    if imbalance + serial + overhead <= 0.0 {
        return Err(field.mistake("expected at least one of phi, alpha, beta above 0"));
    }
    Ok(Curve::Sevcik { imbalance, serial, overhead })
}

fn table(field: &Field<'_>) -> Result<Curve, Mistake> {
    let mut points: Vec<(u32, f64)> = Vec::new();
    for item in field.items()? {
        let [processors, speedup] = item.pair("[processors, speedup]")?;
        let point = (processors.whole32(1..=1 << 24)?, speedup.number(1e-9..=1e9, "a speedup above 0")?);
        if points.last().is_some_and(|last| last.0 >= point.0) {
            return Err(processors.mistake("expected more processors than in the point before"));
        }
        points.push(point);
    }
    if points.is_empty() { Err(field.wrong("at least one [processors, speedup]")) } else { Ok(Curve::Table(points)) }
}
