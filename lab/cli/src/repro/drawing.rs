//! Draws a paper's figure from our numbers, as SVG.
//!
//! A reader who sees no colours tells series apart by their markers, and lines by their dashes too.
//! The legend has a column of its own beside the figure, so it hides no point. What is black takes
//! the colour of the page's text, so that one drawing fits light and dark pages.

use crate::colours::COLOURS;
use numaestro_repro::Estimate;
use numaestro_repro::figure::{Figure, Series, Shape};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// Width and height of the chart, pixels.
const CHART: (u32, u32) = (660, 380);
/// Least width of the legend's column, pixels.
const LEGEND: u32 = 200;
/// The legend's column to the left of the names, and more than a letter takes of the rest, pixels.
const NAME: (u32, u32) = (46, 7);
/// Radius of a marker, pixels.
const RADIUS: i32 = 5;

/// The figure, or why it cannot be drawn.
pub fn svg(figure: &Figure) -> Result<String, String> {
    let mut text = String::new();
    {
        let size = (CHART.0 + legend_width(figure), CHART.1);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        chart(&root, figure).and_then(|()| legend(&root, figure)).map_err(|error| error.to_string())?;
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(text.replace("\"#000000\"", "\"currentColor\""))
}

/// Room for the longest name.
fn legend_width(figure: &Figure) -> u32 {
    let longest = figure.series.iter().map(|series| series.name.chars().count()).max().unwrap_or(0);
    (NAME.0 + NAME.1 * longest as u32).max(LEGEND)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Problem = Box<dyn std::error::Error>;

/// The look of a series.
#[derive(Debug, Clone, Copy)]
struct Look {
    colour: RGBColor,
    /// Which marker.
    marker: usize,
    /// Lengths of a dash and of a gap, pixels; no gap: a full line.
    dashes: (i32, i32),
    /// Hollow markers without a line: the paper's own points.
    printed: bool,
}

const DASHES: [(i32, i32); 4] = [(1, 0), (8, 4), (2, 4), (14, 5)];
const MARKERS: usize = 6;
/// The markers that can be hollow: all but the cross.
const HOLLOW: [usize; 5] = [0, 2, 3, 4, 5];

impl Look {
    fn of(number: usize, series: &Series) -> Self {
        Self {
            colour: COLOURS[number % COLOURS.len()],
            marker: if series.printed { HOLLOW[number % HOLLOW.len()] } else { number % MARKERS },
            // With as many markers as dashes, series beyond the first six would repeat both.
            dashes: DASHES[(number + number / MARKERS) % DASHES.len()],
            printed: series.printed,
        }
    }

    /// Draws a marker at this pixel of the page.
    fn marker(self, page: &Area<'_>, at: (i32, i32)) -> Result<(), Problem> {
        let outline = self.colour.stroke_width(2);
        let style = if self.printed { outline } else { self.colour.filled() };
        let r = RADIUS;
        let corners: &[(i32, i32)] = match self.marker {
            0 => return Ok(page.draw(&Circle::new(at, r - 1, style))?),
            1 => return Ok(page.draw(&Cross::new(at, r - 1, outline))?),
            2 => &[(-r, r), (r, r), (0, -r)],
            3 => &[(1 - r, 1 - r), (r - 1, 1 - r), (r - 1, r - 1), (1 - r, r - 1)],
            4 => &[(-r, 0), (0, -r), (r, 0), (0, r)],
            _ => &[(-r, -r), (r, -r), (0, r)],
        };
        let mut corners: Vec<(i32, i32)> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
        if self.printed {
            corners.push(corners[0]);
            page.draw(&PathElement::new(corners, outline))?;
        } else {
            page.draw(&Polygon::new(corners, style))?;
        }
        Ok(())
    }
}

/// Names of the places from left to right, and the ends of the y axis.
struct Axes {
    places: Vec<String>,
    low: f64,
    high: f64,
    /// Whether bars can stand on the axis: it begins at 0.
    has_zero: bool,
}

fn chart(page: &Area<'_>, figure: &Figure) -> Result<(), Problem> {
    let Axes { places, low, high, has_zero } = Axes::of(figure);
    let (area, _) = page.split_horizontally(CHART.0);
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(58)
        .build_cartesian_2d(-0.5..places.len() as f64 - 0.5, low..high)?;
    let label = |x: &f64| {
        let here = places.iter().enumerate().find(|(place, _)| (*x - *place as f64).abs() < 0.01);
        here.map(|(_, name)| name.clone()).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(places.len() * 2 + 1)
        .x_label_formatter(&label)
        .x_desc(&figure.x)
        .y_desc(&figure.y)
        .label_style(("sans-serif", 13))
        .draw()?;
    let width = 0.8 / figure.series.len().max(1) as f64;
    for (number, series) in figure.series.iter().enumerate() {
        let look = Look::of(number, series);
        let shift = match figure.shape {
            Shape::Bars => (number as f64 + 0.5) * width - 0.4,
            // Intervals of neighbours would hide each other.
            Shape::Lines => (number as f64 + 0.5) * 0.12 / figure.series.len() as f64 - 0.06,
        };
        let at = located(series, &places, shift);
        let means: Vec<(f64, f64)> = at.iter().map(|&(x, estimate)| (x, estimate.mean)).collect();
        chart.draw_series(at.iter().filter(|(_, estimate)| estimate.half > 0.0).map(|&(x, estimate)| {
            PathElement::new([(x, estimate.low()), (x, estimate.high())], look.colour.stroke_width(1))
        }))?;
        match figure.shape {
            Shape::Bars if has_zero && !look.printed => {
                let half = width * 0.45;
                let bar = |(x, mean)| {
                    Rectangle::new([(x - half, low.max(0.0)), (x + half, mean)], look.colour.mix(0.45).filled())
                };
                chart.draw_series(means.iter().copied().map(bar))?;
            }
            Shape::Lines if !look.printed => {
                let (dash, gap) = look.dashes;
                let style = look.colour.stroke_width(2);
                if gap == 0 {
                    chart.draw_series(LineSeries::new(means.clone(), style))?;
                } else {
                    chart.draw_series(DashedLineSeries::new(means.clone(), dash, gap, style))?;
                }
            }
            Shape::Bars | Shape::Lines => {}
        }
        for place in &means {
            look.marker(page, chart.backend_coord(place))?;
        }
    }
    Ok(())
}

/// A line for each series, from top to bottom, beside the chart.
fn legend(page: &Area<'_>, figure: &Figure) -> Result<(), Problem> {
    const LINE: usize = 22;
    let left = CHART.0.cast_signed();
    let text = TextStyle::from(("sans-serif", 13)).color(&BLACK);
    for ((number, series), y) in figure.series.iter().enumerate().zip((24..).step_by(LINE)) {
        let look = Look::of(number, series);
        if figure.shape == Shape::Lines && !look.printed {
            let style = look.colour.stroke_width(2);
            let ends = vec![(left + 2, y), (left + 38, y)];
            match look.dashes {
                (_, 0) => page.draw(&PathElement::new(ends, style))?,
                (dash, gap) => page.draw(&DashedPathElement::new(ends, dash, gap, style))?,
            }
        }
        look.marker(page, (left + 20, y))?;
        page.draw(&Text::new(series.name.clone(), (left + NAME.0.cast_signed(), y - 7), text.clone()))?;
    }
    Ok(())
}

impl Axes {
    /// Places in the order in which they first occur. Where all values are of similar size the axis
    /// begins near the least one, so that differences can be seen; bars are then points.
    fn of(figure: &Figure) -> Self {
        let mut places: Vec<String> = Vec::new();
        let points = || figure.series.iter().flat_map(|series| &series.points);
        for point in points() {
            if !places.contains(&point.at) {
                places.push(point.at.clone());
            }
        }
        let high = points().map(|point| point.estimate.high()).fold(f64::NEG_INFINITY, f64::max);
        let low = points().map(|point| point.estimate.low()).fold(f64::INFINITY, f64::min);
        let (low, high) = if high < low { (0.0, 1.0) } else { (low, high) };
        let has_zero = low < 0.6 * high;
        let (low, high) = if has_zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        let room = ((high - low) * 0.06).max(1e-9);
        Self { places, low: if has_zero && low >= 0.0 { 0.0 } else { low - room }, high: high + room, has_zero }
    }
}

fn located<'a>(series: &'a Series, places: &[String], shift: f64) -> Vec<(f64, &'a Estimate)> {
    let place = |at: &str| places.iter().position(|place| place == at);
    series.points.iter().filter_map(|point| Some((place(&point.at)? as f64 + shift, &point.estimate))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn points(scale: f64) -> Vec<(String, Estimate)> {
        let estimate = |x: i32| Estimate::of(&[scale * f64::from(x), scale * f64::from(x) + 1.0]);
        (0..4).map(|x| (format!("place {x}"), estimate(x))).collect()
    }

    #[test]
    fn both_shapes_are_drawn() {
        for shape in [Shape::Lines, Shape::Bars] {
            let figure = Figure::new(shape, "title", "across", "up", "said")
                .with("first <one>", points(1.0))
                .with("second", points(-2.0))
                .printed("the paper", points(1.5));
            let svg = svg(&figure).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            for word in ["place 0", "place 3", "across", "up", "second", "&lt;one&gt;", "the paper", "currentColor"] {
                assert!(svg.contains(word), "{word} is missing");
            }
            assert!(!svg.contains("#FFFFFF") && !svg.contains("\"#000000\""), "it fits dark pages");
        }
    }

    #[test]
    fn ten_series_look_different_without_colour() {
        let series = Series { name: String::new(), points: Vec::new(), printed: false };
        let looks: BTreeSet<(usize, (i32, i32))> =
            (0..12).map(|number| Look::of(number, &series)).map(|look| (look.marker, look.dashes)).collect();
        assert_eq!(looks.len(), 12);
    }

    #[test]
    fn the_legend_has_room_for_the_longest_name() {
        let width = |name: &str| {
            let svg = svg(&Figure::new(Shape::Bars, "", "", "", "").with(name, points(1.0))).unwrap();
            let number = svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
            number.and_then(|number| number.parse::<u32>().ok()).unwrap()
        };
        assert_eq!(width("short"), CHART.0 + LEGEND);
        assert_eq!(width("B2ADSS over Linux, the paper's mean"), CHART.0 + 46 + 35 * 7);
    }

    #[test]
    fn the_paper_s_markers_are_hollow() {
        let series = Series { name: String::new(), points: Vec::new(), printed: true };
        let markers: BTreeSet<usize> = (0..10).map(|number| Look::of(number, &series).marker).collect();
        assert_eq!(markers, HOLLOW.into(), "a cross has no inside");
    }

    #[test]
    fn the_axis_begins_near_values_of_similar_size() {
        let axes = |least: f64| {
            let at = [("a".to_owned(), Estimate::exact(least)), ("b".to_owned(), Estimate::exact(1.0))];
            Axes::of(&Figure::new(Shape::Bars, "", "", "", "").with("s", at))
        };
        assert!(axes(0.9).low > 0.85 && !axes(0.9).has_zero);
        assert!(axes(0.3).low.abs() < 1e-12 && axes(0.3).has_zero);
        assert!(axes(-0.3).low < -0.3 && axes(-0.3).has_zero);
        assert!(Axes::of(&Figure::new(Shape::Lines, "", "", "", "")).high > 0.0, "nothing to draw");
    }
}
