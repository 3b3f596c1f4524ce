//! Writes the text of an OpenMetrics page (OpenMetrics 1.0, November 2020).
//!
//! Written here because a page is a few lines of text made from values that the manager has anyway;
//! a library would bring a registry of counters of its own, to be kept equal to the manager's.

use std::fmt::{Display, Write};

use crate::decision::histogram::Histogram;

/// The content type that scrapers are told.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The kind of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

/// A page that grows family by family.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    family: &'static str,
}

impl Page {
    /// Begins a family. `unit` must be the end of the name, or empty; `help` is one line.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, unit: &str, help: &str) {
        self.family = name;
        let _ = writeln!(self.text, "# TYPE {name} {}", kind.name());
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {help}");
    }

    /// One value of the present family; `suffix` as its kind demands (`_total`, `_bucket`, `_sum`,
    /// `_count`, `_info`, or none).
    pub(crate) fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "{}{suffix}", self.family);
        for (number, (name, value)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{name}=\"{}\"", if number == 0 { '{' } else { ',' }, Escaped(value));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// The whole page.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }

    /// The samples of a histogram.
    pub(crate) fn histogram(&mut self, histogram: &Histogram) {
        let mut all = 0;
        for (end, below) in histogram.below() {
            all = below;
            self.sample("_bucket", &[("le", end)], below);
        }
        self.sample("_count", &[], all);
        self.sample("_sum", &[], histogram.sum_ns() as f64 / 1e9);
    }
}

/// A label's value: backslash, quote and line feed are escaped.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.chars().try_for_each(|letter| match letter {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            other => f.write_char(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_the_standard_says() {
        let mut page = Page::default();
        page.family("numaestro_users", Kind::Gauge, "", "Users.");
        page.sample("", &[("user", "a\\b\"c\nd"), ("kind", "x")], 2);
        page.family("numaestro_uptime_seconds", Kind::Gauge, "seconds", "Since the start.");
        page.sample("", &[], 1.5);
        let expected = "# TYPE numaestro_users gauge\n# HELP numaestro_users Users.\n\
                        numaestro_users{user=\"a\\\\b\\\"c\\nd\",kind=\"x\"} 2\n\
                        # TYPE numaestro_uptime_seconds gauge\n# UNIT numaestro_uptime_seconds seconds\n\
                        # HELP numaestro_uptime_seconds Since the start.\nnumaestro_uptime_seconds 1.5\n# EOF\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn buckets_count_everything_below_their_end() {
        let mut histogram = Histogram::default();
        for ns in [500, 1_000, 1_001, 3_000_000_000] {
            histogram.count(ns);
        }
        let mut page = Page::default();
        page.family("t_seconds", Kind::Histogram, "seconds", "T.");
        page.histogram(&histogram);
        let text = page.finish();
        for line in [
            "t_seconds_bucket{le=\"1e-06\"} 2",
            "t_seconds_bucket{le=\"2e-06\"} 3",
            "t_seconds_bucket{le=\"0.1\"} 3",
            "t_seconds_bucket{le=\"+Inf\"} 4",
            "t_seconds_count 4",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
