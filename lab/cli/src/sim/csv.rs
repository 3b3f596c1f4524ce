//! Writes one line for each run, for spreadsheets and data frames.

use super::metric::METRICS;
use super::results::Results;

/// Columns before the metrics and parameters.
const FIRST: [&str; 4] = ["scenario", "policy", "seed", "fingerprint"];

/// All runs: by point, policy and seed.
pub fn write(scenario: &str, results: &Results) -> String {
    let parameters: Vec<&str> = results
        .cells
        .first()
        .map_or(Vec::new(), |cell| cell.parameters.iter().map(|(name, _)| name.as_str()).collect());
    let mut lines = vec![header(&parameters)];
    for (cell, runs) in results.cells.iter().zip(&results.runs) {
        for run in runs {
            let mut fields = vec![field(scenario), field(&cell.policy), run.seed.to_string(), run.fingerprint.clone()];
            fields.extend(cell.parameters.iter().map(|(_, value)| field(value)));
            fields.extend(METRICS.iter().map(|metric| (metric.of)(run).to_string()));
            lines.push(fields.join(","));
        }
    }
    lines.join("\n") + "\n"
}

fn header(parameters: &[&str]) -> String {
    let first = FIRST.iter().map(|&name| name.to_owned());
    let parameters = parameters.iter().map(|name| field(name));
    let metrics = METRICS.iter().map(|metric| metric.key.to_owned());
    first.chain(parameters).chain(metrics).collect::<Vec<_>>().join(",")
}

/// A text as one field (RFC 4180).
pub fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        assert_eq!(field("worst-fit"), "worst-fit");
        assert_eq!(field("demand(idle=keep,x=1)"), "\"demand(idle=keep,x=1)\"");
        assert_eq!(field("say \"so\""), "\"say \"\"so\"\"\"");
    }
}
