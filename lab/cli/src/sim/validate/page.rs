//! The report: measured against simulated in one HTML file that needs no other.

use super::learned::summary;
use super::table::{conclusions, sentence};
use crate::sim::html::{self, escaped, plots};
use numaestro_sim::learn::LearnedProgram;
use numaestro_sim::validation::{Cell, Comparison, Quantity};
use std::fmt::Write;

/// The whole page.
pub fn page(comparison: &Comparison, learned: &[LearnedProgram]) -> anyhow::Result<String> {
    let mut body = "<h1>The simulator against this machine</h1>\n<ul>\n".to_owned();
    for line in conclusions(comparison) {
        let _ = writeln!(body, "<li>{}</li>", escaped(&line));
    }
    body.push_str("</ul>\n");
    for quantity in Quantity::ALL {
        let point = |cell: &Cell| (cell.measured(quantity) / 1e9, cell.simulated.value(quantity) as f64 / 1e9);
        let policies = policies(comparison);
        let of = |policy: &&str| -> Vec<(f64, f64)> {
            comparison.cells().iter().filter(|cell| cell.policy == **policy).map(point).collect()
        };
        let series: Vec<Vec<(f64, f64)>> = policies.iter().map(of).collect();
        let titles = [format!("measured {}, s", quantity.name()), "simulated, s".to_owned()];
        let plot = plots::against(&series, [&titles[0], &titles[1]])?;
        let keys: Vec<String> = policies
            .iter()
            .enumerate()
            .map(|(place, policy)| {
                let (mark, colour) = (plots::mark(place), plots::colour(place));
                format!(
                    "<span class=\"entry\"><span style=\"color:{colour}\">{mark}</span> {}</span> ",
                    escaped(policy)
                )
            })
            .collect();
        let _ = writeln!(
            body,
            "<h2>{}</h2>\n<figure>{plot}<figcaption class=\"keys\">{}— equal; - - ±20 %</figcaption></figure>",
            quantity.name(),
            keys.concat()
        );
    }
    cells(&mut body, comparison);
    pairs(&mut body, comparison);
    programs(&mut body, learned);
    let footer = format!("numaestro {} sim validate", env!("CARGO_PKG_VERSION"));
    Ok(html::document("The simulator against this machine", &body, &footer))
}

/// Policies in order of their first cell.
fn policies(comparison: &Comparison) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for cell in comparison.cells() {
        if !found.contains(&cell.policy.as_str()) {
            found.push(&cell.policy);
        }
    }
    found
}

fn cells(body: &mut String, comparison: &Comparison) {
    body.push_str(
        "<h2>Mixes</h2>\n<div class=\"wide\"><table><tr><th>mix</th><th>policy</th><th>runs</th><th>makespan, s</th><th>simulated</th><th>error</th>\
         <th>mean turnaround, s</th><th>simulated</th><th>error</th></tr>\n",
    );
    for cell in comparison.cells() {
        let numbers = Quantity::ALL.map(|quantity| {
            let measured = cell.measured(quantity) / 1e9;
            format!(
                "<td>{measured:.2} ± {:.2}</td><td>{:.2}</td><td>{:+.1} %</td>",
                cell.noise(quantity) * measured,
                cell.simulated.value(quantity) as f64 / 1e9,
                cell.error(quantity) * 100.0
            )
        });
        let (mix, policy) = (escaped(&cell.mix), escaped(&cell.policy));
        let _ =
            writeln!(body, "<tr><td>{mix}</td><td>{policy}</td><td>{}</td>{}</tr>", cell.runs.len(), numbers.concat());
    }
    body.push_str("</table></div>\n");
}

fn pairs(body: &mut String, comparison: &Comparison) {
    let wrong: Vec<String> = comparison.pairs().iter().filter(|pair| !pair.is_right()).map(sentence).collect();
    body.push_str("<h2>Policies in the wrong order</h2>\n");
    if wrong.is_empty() {
        body.push_str("<p>none</p>\n");
    }
    for line in wrong {
        let _ = writeln!(body, "<p>{}</p>", escaped(&line));
    }
}

fn programs(body: &mut String, learned: &[LearnedProgram]) {
    body.push_str("<h2>Learned programs</h2>\n");
    for program in learned {
        let _ = writeln!(
            body,
            "<details><summary>{}: {}</summary><pre class=\"wide\">{}</pre></details>",
            escaped(&program.name),
            escaped(&summary(program)),
            escaped(&program.to_toml())
        );
    }
}
