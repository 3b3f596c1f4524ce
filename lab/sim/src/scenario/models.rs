//! Reads the parameters of workload models.

use crate::program::amount::Unit;
use crate::read::Mistake;
use crate::read::fields::{Field, Fields};
use crate::workload::{downey, lublin};

pub(super) const TYPES: [(&str, lublin::Types); 4] = [
    ("whole", lublin::Types::Whole),
    ("batch", lublin::Types::Batch),
    ("interactive", lublin::Types::Interactive),
    ("both", lublin::Types::Both),
];

pub(super) fn downey_parameters(fields: &mut Fields<'_>, pus: u32) -> Result<downey::Parameters, Mistake> {
    let mut parameters = downey::Parameters::for_machine(pus);
    let range = |field: Field<'_>, low: f64, unit: Unit, what: &str| {
        let [from, to] = field.pair(what)?;
        let value = |field: &Field<'_>| match unit {
            Unit::Time => field.nanos_exactly(),
            Unit::Number => field.number(0.0..=1e9, "a number, at least 0"),
        };
        let ends = (value(&from)?, value(&to)?);
        if ends.0 < low || ends.1 < ends.0 { Err(field.wrong(what)) } else { Ok(ends) }
    };
    let work = fields.read("work", |field| range(field, 1.0, Unit::Time, "[least, most] work, as times above 0"))?;
    let average = fields.read("average", |field| range(field, 1.0, Unit::Number, "[least, most] A of at least 1"))?;
    let sigma = fields.read("sigma", |field| range(field, 0.0, Unit::Number, "[least, most] sigma"))?;
    parameters.work = work.unwrap_or(parameters.work);
    parameters.average = average.unwrap_or(parameters.average);
    parameters.sigma = sigma.unwrap_or(parameters.sigma);
    if let Some(interval) = fields.read("interarrival", |field| field.nanos_exactly())? {
        parameters.interval = interval;
    }
    Ok(parameters)
}
