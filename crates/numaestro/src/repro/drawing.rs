//! Draws a paper's figure from our numbers, as SVG.

use crate::colours::COLOURS;
use numaestro_repro::figure::{Figure, Series, Shape};
use plotters::prelude::*;

/// Width and height.
const SIZE: (u32, u32) = (720, 380);

/// The figure, or why it cannot be drawn.
pub fn svg(figure: &Figure) -> Result<String, String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(&root, figure).map_err(|error| error.to_string())?;
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Problem = Box<dyn std::error::Error>;

fn draw(root: &Area<'_>, figure: &Figure) -> Result<(), Problem> {
    root.fill(&WHITE)?;
    let places = places(figure);
    let (low, high) = range(figure);
    let mut chart = ChartBuilder::on(root)
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
        .light_line_style(WHITE)
        .x_labels(places.len() * 2 + 1)
        .x_label_formatter(&label)
        .x_desc(&figure.x)
        .y_desc(&figure.y)
        .label_style(("sans-serif", 13))
        .draw()?;
    let width = 0.8 / figure.series.len().max(1) as f64;
    for (number, series) in figure.series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let shift = match figure.shape {
            Shape::Bars => (number as f64 + 0.5) * width - 0.4,
            Shape::Lines => 0.0,
        };
        let at: Vec<(f64, &numaestro_repro::Estimate)> = located(series, &places, shift);
        let drawn = match figure.shape {
            Shape::Bars => chart.draw_series(at.iter().map(|&(x, estimate)| {
                let half = width * 0.45;
                Rectangle::new([(x - half, low.max(0.0)), (x + half, estimate.mean)], colour.filled())
            }))?,
            Shape::Lines => {
                chart
                    .draw_series(at.iter().map(|&(x, estimate)| Circle::new((x, estimate.mean), 3, colour.filled())))?;
                chart.draw_series(LineSeries::new(
                    at.iter().map(|&(x, estimate)| (x, estimate.mean)),
                    colour.stroke_width(2),
                ))?
            }
        };
        drawn
            .label(series.name.as_str())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        chart.draw_series(at.iter().filter(|(_, estimate)| estimate.half > 0.0).map(|&(x, estimate)| {
            PathElement::new([(x, estimate.low()), (x, estimate.high())], BLACK.stroke_width(1))
        }))?;
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 13))
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    Ok(())
}

/// Places along x: in the order in which they first occur.
fn places(figure: &Figure) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for point in figure.series.iter().flat_map(|series| &series.points) {
        if !places.contains(&point.at) {
            places.push(point.at.clone());
        }
    }
    places
}

fn located<'a>(series: &'a Series, places: &[String], shift: f64) -> Vec<(f64, &'a numaestro_repro::Estimate)> {
    let place = |at: &str| places.iter().position(|place| place == at);
    series.points.iter().filter_map(|point| Some((place(&point.at)? as f64 + shift, &point.estimate))).collect()
}

/// From 0, or from the least value, to as much above the greatest as the legend needs.
fn range(figure: &Figure) -> (f64, f64) {
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let high = points().map(|point| point.estimate.high()).fold(0.0, f64::max);
    let low = points().map(|point| point.estimate.low()).fold(0.0, f64::min);
    let room = ((high - low) * 0.45).max(1e-9);
    (if low < 0.0 { low - room * 0.2 } else { 0.0 }, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use numaestro_repro::Estimate;

    #[test]
    fn both_shapes_are_drawn() {
        for shape in [Shape::Lines, Shape::Bars] {
            let points = |scale: f64| {
                (0..4).map(move |x| {
                    (format!("place {x}"), Estimate::of(&[scale * f64::from(x), scale * f64::from(x) + 1.0]))
                })
            };
            let figure = Figure::new(shape, "title", "across", "up", "said")
                .with("first <one>", points(1.0))
                .with("second", points(-2.0));
            let svg = svg(&figure).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            for word in ["place 0", "place 3", "across", "up", "second", "&lt;one&gt;"] {
                assert!(svg.contains(word), "{word} is missing");
            }
        }
    }
}
