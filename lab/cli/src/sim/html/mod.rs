//! The report: one HTML file that needs no other and no network. Pure functions of the results.

pub mod plots;

use super::document::Subject;
use super::metric::{Estimate, METRICS, samples};
use super::occupancy::Grid;
use super::results::{Cell, Comparison, Results};
use super::table::{number, percent};
use super::verdict;
use crate::say::counted;
use numaestro_topology::Machine;
use plots::Point;
use std::fmt::Write;

/// Plots over a parameter that are drawn at most; a larger sweep is in the files.
const SWEEP_PLOTS: usize = 8;
/// Applications in the key of the occupancy chart.
const KEYS: usize = 16;

/// The limits of the model, told wherever its numbers are shown.
pub const LIMITS: &str = "The model has no coherence traffic beyond the references a program states, no prefetching beyond its overlap, \
                          no model of hardware threads sharing a core, and phases whose demands are constant.";

/// The parts of a report.
#[derive(Debug)]
pub struct Report<'a> {
    /// The scenario.
    pub about: &'a Subject,
    /// The results.
    pub results: &'a Results,
    /// The baseline and the comparisons, of `compare`.
    pub comparisons: Option<(&'a str, &'a [Comparison])>,
    /// Who ran where in a run, and its title: one for each policy.
    pub occupancy: Vec<(&'a Grid, String)>,
    /// The machine of that run.
    pub machine: &'a Machine,
}

/// The whole page.
pub fn page(report: &Report) -> anyhow::Result<String> {
    let about = report.about;
    let mut body = format!(
        "<h1>{}</h1>\n<p class=\"about\">{}</p>\n<p>machine <b>{}</b>, {} processors; contention: {}; {}; intervals: {}</p>\n",
        escaped(&about.scenario),
        escaped(&about.about),
        escaped(&about.machine),
        about.processors,
        escaped(&about.contention),
        counted(report.results.runs.iter().map(Vec::len).max().unwrap_or(0), "seed"),
        percent(report.results.level),
    );
    if !about.set.is_empty() {
        let words: Vec<String> = about.set.iter().map(|word| format!("<code>{}</code>", escaped(word))).collect();
        let _ = writeln!(body, "<p>changed: {}</p>", words.join(" "));
    }
    if let Some((baseline, comparisons)) = report.comparisons {
        let sentence = verdict::sentence(report.results, comparisons, baseline);
        if !sentence.is_empty() {
            let _ = writeln!(body, "<p class=\"verdict\">{}</p>", escaped(&sentence));
        }
    }
    rankings(&mut body, report)?;
    sweeps(&mut body, report)?;
    comparison_table(&mut body, report);
    occupancy(&mut body, report)?;
    metric_tables(&mut body, report);
    let footer = format!("{LIMITS}<br>numaestro {} sim", env!("CARGO_PKG_VERSION"));
    Ok(document(&escaped(&about.scenario), &body, &footer))
}

/// A whole page around a body. All arguments are HTML.
pub fn document(title: &str, body: &str, footer: &str) -> String {
    let style = include_str!("page.css");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}<footer>{footer}</footer>\n</body>\n</html>\n"
    )
}

/// Response time by policy: one plot for each point where there are few, else for the first.
fn rankings(body: &mut String, report: &Report) -> anyhow::Result<()> {
    let results = report.results;
    for (shown, (point, cells)) in points(results).into_iter().enumerate() {
        if shown > 0 && !parameters(results).is_empty() {
            // With a sweep the lines below say the rest.
            break;
        }
        let title = if point.is_empty() { String::new() } else { format!(" at {}", escaped(&point)) };
        let names: Vec<&str> = cells.iter().map(|&cell| results.cells[cell].policy.as_str()).collect();
        let values: Vec<Point> = cells.iter().filter_map(|&cell| response(results, cell)).collect();
        if values.len() == names.len() {
            let plot = plots::ranking(&names, &values, "mean response time, s")?;
            let _ = writeln!(body, "<h2>Response time by policy{title}</h2>\n<figure>{plot}</figure>");
        }
    }
    Ok(())
}

/// Response time over each parameter, one line for each policy, the other parameters as they are.
fn sweeps(body: &mut String, report: &Report) -> anyhow::Result<()> {
    let results = report.results;
    let mut drawn = 0;
    for parameter in parameters(results) {
        for others in rest_of_points(results, &parameter) {
            drawn += 1;
            if drawn > SWEEP_PLOTS {
                continue;
            }
            let plot = sweep(results, &parameter, &others)?;
            let at = if others.is_empty() { String::new() } else { format!(" at {}", escaped(&others)) };
            let _ = writeln!(
                body,
                "<h2>Response time by {}{at}</h2>\n<figure>{plot}{}</figure>",
                escaped(&parameter),
                keys(&policies(results))
            );
        }
    }
    if drawn > SWEEP_PLOTS {
        let _ = writeln!(
            body,
            "<p class=\"dim\">{} more of these are not drawn; the JSON and CSV files have them.</p>",
            drawn - SWEEP_PLOTS
        );
    }
    Ok(())
}

fn sweep(results: &Results, parameter: &str, others: &str) -> anyhow::Result<String> {
    let value_of =
        |cell: &Cell| cell.parameters.iter().find(|(name, _)| name == parameter).map(|(_, value)| value.clone());
    let here: Vec<usize> =
        (0..results.cells.len()).filter(|&cell| without(&results.cells[cell], parameter) == others).collect();
    let mut values: Vec<String> = here.iter().filter_map(|&cell| value_of(&results.cells[cell])).collect();
    let mut seen = Vec::new();
    values.retain(|value| {
        !seen.contains(value) && {
            seen.push(value.clone());
            true
        }
    });
    // Values that are no numbers stand side by side in their order.
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.trim_matches('"').parse().ok()).collect();
    let title = match &numbers {
        Some(_) => parameter.to_owned(),
        None => format!("{parameter}: {}", values.join(", ")),
    };
    let x = numbers.unwrap_or_else(|| (0..values.len()).map(|at| at as f64).collect());
    let line = |policy: &str| {
        let point = |value: &String| {
            let found = here.iter().find(|&&cell| {
                results.cells[cell].policy == policy && value_of(&results.cells[cell]).as_ref() == Some(value)
            });
            found.and_then(|&cell| response(results, cell))
        };
        values.iter().map(point).collect::<Vec<_>>()
    };
    let series: Vec<Vec<Option<Point>>> = policies(results).into_iter().map(line).collect();
    plots::lines(&x, &series, [&title, "mean response time, s"])
}

fn comparison_table(body: &mut String, report: &Report) {
    let Some((baseline, comparisons)) = report.comparisons.filter(|(_, all)| !all.is_empty()) else { return };
    let results = report.results;
    let _ = writeln!(
        body,
        "<h2>Against {}</h2>\n<div class=\"wide\"><table><tr><th>policy</th><th>difference, s</th><th>± {}</th><th>ratio</th><th>interval</th>\
         <th>p (Holm)</th><th></th></tr>",
        escaped(baseline),
        percent(results.level)
    );
    let mut before = String::new();
    for one in comparisons {
        let cell = &results.cells[one.cell];
        let point = cell.point();
        if point != before {
            let _ = writeln!(body, "<tr class=\"point\"><th colspan=\"7\">{}</th></tr>", escaped(&point));
            before = point;
        }
        let difference = one.difference_s.map_or(["-".to_owned(), "-".to_owned()], |found| {
            [number(found.interval.mean), number(found.interval.half_width)]
        });
        let ratio = one.ratio.map_or(["-".to_owned(), "-".to_owned()], |found| {
            [format!("{:.3}", found.ratio), format!("{:.3} to {:.3}", found.low, found.high)]
        });
        let p =
            one.p_holm.map_or("-".to_owned(), |p| if p < 0.001 { "&lt;0.001".to_owned() } else { format!("{p:.3}") });
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{p}</td><td>{}</td></tr>",
            escaped(&cell.policy),
            difference[0],
            difference[1],
            ratio[0],
            ratio[1],
            if one.real { "*" } else { "" }
        );
    }
    let _ =
        writeln!(body, "</table></div>\n<p class=\"dim\">Same jobs for every policy; * p ≤ 0.05 among all rows.</p>");
}

/// Every metric of every policy, at each point; folded away but for the first.
fn metric_tables(body: &mut String, report: &Report) {
    let results = report.results;
    for (shown, (point, cells)) in points(results).into_iter().enumerate() {
        let at = if point.is_empty() { String::new() } else { format!(" at {}", escaped(&point)) };
        let names: Vec<String> =
            cells.iter().map(|&cell| format!("<th>{}</th>", escaped(&results.cells[cell].policy))).collect();
        let names = names.concat();
        let open = if shown == 0 { " open" } else { "" };
        let _ = writeln!(
            body,
            "<details{open}><summary>All numbers{at}</summary>\n<div class=\"wide\"><table><tr><th></th>{names}</tr>"
        );
        for metric in METRICS {
            let value = |&cell: &usize| {
                Estimate::of(&samples(&results.runs[cell], metric.of), results.level).map_or(String::new(), |found| {
                    let half = found.half_width.filter(|&half| half > 0.0);
                    number(found.mean) + &half.map_or(String::new(), |half| format!(" ± {}", number(half)))
                })
            };
            let values: Vec<String> = cells.iter().map(|cell| format!("<td>{}</td>", value(cell))).collect();
            let values = values.concat();
            let _ = writeln!(body, "<tr><td>{}</td>{values}</tr>", escaped(metric.title.trim()));
        }
        body.push_str("</table></div></details>\n");
    }
}

fn occupancy(body: &mut String, report: &Report) -> anyhow::Result<()> {
    for (grid, title) in &report.occupancy {
        let names: Vec<String> = grid.jobs.iter().take(KEYS).map(|(job, program)| format!("{job} {program}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let more = grid.jobs.len().saturating_sub(KEYS);
        let more = if more == 0 {
            String::new()
        } else {
            format!("<p class=\"dim\">and {more} more in the same order of colours</p>")
        };
        let plot = plots::occupancy(grid, report.machine)?;
        let key = keys(&names);
        let _ = writeln!(body, "<h2>Who ran where: {}</h2>\n<figure>{plot}{key}{more}</figure>", escaped(title));
    }
    Ok(())
}

fn keys(names: &[&str]) -> String {
    let entry = |(place, name): (usize, &&str)| {
        format!(
            "<span class=\"entry\"><span class=\"key\" style=\"background:{}\"></span>{}</span> ",
            plots::colour(place),
            escaped(name)
        )
    };
    format!(
        "<figcaption class=\"keys\">{}</figcaption>",
        names.iter().enumerate().map(entry).collect::<Vec<_>>().concat()
    )
}

fn response(results: &Results, cell: usize) -> Option<Point> {
    let found = Estimate::of(&samples(&results.runs[cell], METRICS[0].of), results.level)?;
    Some(Point { mean: found.mean, half_width: found.half_width.unwrap_or(0.0) })
}

/// Points in order, with their cells.
fn points(results: &Results) -> Vec<(String, Vec<usize>)> {
    let mut found: Vec<(String, Vec<usize>)> = Vec::new();
    for (number, cell) in results.cells.iter().enumerate() {
        let point = cell.point();
        match found.iter_mut().find(|(known, _)| *known == point) {
            Some((_, cells)) => cells.push(number),
            None => found.push((point, vec![number])),
        }
    }
    found
}

/// Parameters with more than one value.
fn parameters(results: &Results) -> Vec<String> {
    let Some(first) = results.cells.first() else { return Vec::new() };
    let varies = |name: &&(String, String)| results.cells.iter().any(|cell| !cell.parameters.contains(name));
    first.parameters.iter().filter(varies).map(|(name, _)| name.clone()).collect()
}

/// The points without one parameter, each once.
fn rest_of_points(results: &Results, parameter: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for cell in &results.cells {
        let rest = without(cell, parameter);
        if !found.contains(&rest) {
            found.push(rest);
        }
    }
    found
}

fn without(cell: &Cell, parameter: &str) -> String {
    let rest = cell.parameters.iter().filter(|(name, _)| name != parameter).cloned().collect();
    Cell { parameters: rest, policy: String::new() }.point()
}

fn policies(results: &Results) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for cell in &results.cells {
        if !found.contains(&cell.policy.as_str()) {
            found.push(&cell.policy);
        }
    }
    found
}

/// With HTML's own letters written out.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::*;

    fn about() -> Subject {
        Subject {
            scenario: "two <programs>".to_owned(),
            about: "a & b".to_owned(),
            machine: "hector".to_owned(),
            processors: 16,
            contention: "max-min".to_owned(),
            warmup: 0.0,
            set: vec!["seeds=3".to_owned()],
        }
    }

    #[test]
    fn a_comparison_with_everything_needs_nothing_from_elsewhere() {
        let results = example();
        let comparisons = results.comparisons("equi");
        let machine = numaestro_topology::synthetic::parse("core:2 pu:1").expect("a machine");
        let mut seen = super::super::occupancy::Occupancy::new(2);
        seen.runs(0, 0, Some(3));
        let grid = seen.grid(1_000_000, 30);
        let report = Report {
            about: &about(),
            results: &results,
            comparisons: Some(("equi", &comparisons)),
            occupancy: vec![(&grid, "equi, seed 1".to_owned()), (&grid, "dss, seed 1".to_owned())],
            machine: &machine,
        };
        let page = page(&report).expect("a page");
        assert_eq!(page.matches("<svg").count(), 4, "ranking, sweep, a schedule for each policy");
        assert!(page.contains("No policy has surely a shorter mean response time than equi"), "the verdict");
        assert!(page.contains("two &lt;programs&gt;") && !page.contains("two <programs>"));
        for foreign in ["src=", "href=", "@import", "url(", "<script"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        let addresses: Vec<&str> = page.match_indices("http").map(|(at, _)| &page[at..at + 26]).collect();
        assert!(addresses.iter().all(|address| *address == "http://www.w3.org/2000/svg"), "{addresses:?}");
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
    }

    #[test]
    fn points_without_a_parameter_are_the_others() {
        let results = example();
        assert_eq!(parameters(&results), ["machine.delay"]);
        assert_eq!(rest_of_points(&results, "machine.delay"), [""]);
        assert_eq!(points(&results).len(), 2);
    }
}
