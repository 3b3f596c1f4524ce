//! A paper's figure as numbers, for any way of drawing.

use crate::estimate::Estimate;
use serde::Serialize;

/// The shape in which it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A line for each series.
    Lines,
    /// A group of bars for each place on the x axis, a bar in it for each series.
    Bars,
}

/// One point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The label below the x axis.
    pub at: String,
    /// Mean and interval.
    #[serde(flatten)]
    pub estimate: Estimate,
}

/// One line, or one colour of bars.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// The points from left to right.
    pub points: Vec<Point>,
    /// Whether the paper prints them; they are drawn beside ours without a line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub printed: bool,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The figure of the paper, and its subject.
    pub title: String,
    /// The label of the x axis.
    pub x: String,
    /// The label of the y axis.
    pub y: String,
    /// The shape in which it is drawn.
    pub shape: Shape,
    /// Our series, and the paper's own points where it prints any.
    pub series: Vec<Series>,
    /// The paper's text on its figure.
    pub said: String,
}

impl Figure {
    /// A figure without series.
    pub fn new(shape: Shape, title: &str, x: &str, y: &str, said: &str) -> Self {
        Self {
            title: title.to_owned(),
            x: x.to_owned(),
            y: y.to_owned(),
            shape,
            series: Vec::new(),
            said: said.to_owned(),
        }
    }

    /// Adds a series of ours.
    #[must_use]
    pub fn with(self, name: impl Into<String>, points: impl IntoIterator<Item = (String, Estimate)>) -> Self {
        self.series(name.into(), points, false)
    }

    /// Adds the points that the paper prints.
    #[must_use]
    pub fn printed(self, name: impl Into<String>, points: impl IntoIterator<Item = (String, Estimate)>) -> Self {
        self.series(name.into(), points, true)
    }

    fn series(mut self, name: String, points: impl IntoIterator<Item = (String, Estimate)>, printed: bool) -> Self {
        let points = points.into_iter().map(|(at, estimate)| Point { at, estimate }).collect();
        self.series.push(Series { name, points, printed });
        self
    }
}
