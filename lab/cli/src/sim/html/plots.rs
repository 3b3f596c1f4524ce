//! Plots as SVG. Black stands for the reader's text colour, which the page's style sets; all else
//! is readable on light and dark.

use super::super::chart::{Band, bands, duration, place};
use super::super::occupancy::Grid;
use super::super::table::number;
use crate::colours::COLOURS;
use anyhow::anyhow;
use numaestro_topology::Machine;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Width of every plot in its own units: narrow, so that its letters stay readable on a phone.
const WIDTH: u32 = 440;
const FONT: (&str, u32) = ("sans-serif", 14);

/// A value with an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval; 0 without one.
    pub half_width: f64,
}

/// As `#rrggbb`, for a key beside a plot.
pub fn colour(place: usize) -> String {
    let RGBColor(r, g, b) = COLOURS[place % COLOURS.len()];
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// One line for each name: a dot with its interval, and the name above it. `title` is that of the
/// axis.
pub fn ranking(names: &[&str], points: &[Point], title: &str) -> anyhow::Result<String> {
    let height = 60 + 40 * u32::try_from(names.len())?;
    let high = points.iter().map(|point| point.mean + point.half_width).fold(0.0, f64::max);
    svg(height, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(20)
            .x_label_area_size(38)
            .build_cartesian_2d(0.0..upper(high), 0.0..names.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .y_labels(0)
            .x_labels(5)
            .x_desc(title)
            .x_label_formatter(&|x| number(*x))
            .label_style(FONT)
            .axis_desc_style(FONT)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .draw()?;
        for (row, (name, point)) in names.iter().zip(points).enumerate() {
            let y = (names.len() - row) as f64 - 0.7;
            let style = COLOURS[row % COLOURS.len()];
            let (low, high) = (point.mean - point.half_width, point.mean + point.half_width);
            chart.draw_series([Text::new(shortened(name), (0.0, y + 0.52), FONT.into_font())])?;
            chart.draw_series([PathElement::new([(0.0, y), (point.mean, y)], style.mix(0.35).stroke_width(2))])?;
            chart.draw_series([PathElement::new([(low, y), (high, y)], style.stroke_width(3))])?;
            chart.draw_series([Circle::new((point.mean, y), 5, style.filled())])?;
        }
        Ok(())
    })
}

/// One line for each name over `x`; a name may lack some points.
pub fn lines(x: &[f64], series: &[Vec<Option<Point>>], titles: [&str; 2]) -> anyhow::Result<String> {
    let all = || series.iter().flatten().flatten();
    let high = all().map(|point| point.mean + point.half_width).fold(0.0, f64::max);
    let (left, right) = x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    let margin = ((right - left) * 0.04).max(1e-9);
    svg(340, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(62)
            .build_cartesian_2d(left - margin..right + margin, 0.0..upper(high))?;
        chart
            .configure_mesh()
            .x_labels(6)
            .y_labels(5)
            .x_desc(titles[0])
            .y_desc(titles[1])
            .x_label_formatter(&|x| number((*x * 1e6).round() / 1e6))
            .y_label_formatter(&|y| number(*y))
            .label_style(FONT)
            .axis_desc_style(FONT)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .draw()?;
        for (number, points) in series.iter().enumerate() {
            let style = COLOURS[number % COLOURS.len()];
            let found: Vec<(f64, Point)> =
                x.iter().zip(points).filter_map(|(&x, point)| Some((x, (*point)?))).collect();
            chart
                .draw_series(LineSeries::new(found.iter().map(|(x, point)| (*x, point.mean)), style.stroke_width(2)))?;
            chart.draw_series(found.iter().map(|(x, point)| Circle::new((*x, point.mean), 3, style.filled())))?;
            let bars = found.iter().filter(|(_, point)| point.half_width > 0.0);
            chart.draw_series(bars.map(|(x, point)| {
                let (low, high) = (point.mean - point.half_width, point.mean + point.half_width);
                PathElement::new([(*x, low), (*x, high)], style.stroke_width(3))
            }))?;
        }
        Ok(())
    })
}

/// Marks of series in [`against`], so that nobody needs colours to tell them apart. None is filled:
/// a filled one hides the points under it.
const MARKS: [&str; 6] = ["○", "×", "△", "+", "□", "◇"];

/// The mark of a series, for a key beside a plot.
pub fn mark(place: usize) -> &'static str {
    MARKS[place % MARKS.len()]
}

/// Points of some series over equal axes, with the line on which both values are equal and lines at
/// 20 % above and below.
pub fn against(series: &[Vec<(f64, f64)>], titles: [&str; 2]) -> anyhow::Result<String> {
    let high = upper(series.iter().flatten().map(|(x, y)| x.max(*y)).fold(0.0, f64::max));
    svg(WIDTH, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(62)
            .build_cartesian_2d(0.0..high, 0.0..high)?;
        chart
            .configure_mesh()
            .x_labels(6)
            .y_labels(6)
            .x_desc(titles[0])
            .y_desc(titles[1])
            .x_label_formatter(&|x| number((*x * 1e6).round() / 1e6))
            .y_label_formatter(&|y| number((*y * 1e6).round() / 1e6))
            .label_style(FONT)
            .axis_desc_style(FONT)
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .draw()?;
        chart.draw_series([PathElement::new([(0.0, 0.0), (high, high)], BLACK.mix(0.6).stroke_width(1))])?;
        for factor in [0.8, 1.2] {
            let end = if factor > 1.0 { (high / factor, high) } else { (high, high * factor) };
            let style = BLACK.mix(0.6).stroke_width(1);
            chart.draw_series(DashedLineSeries::new([(0.0, 0.0), end], 5, 5, style))?;
        }
        for (place, points) in series.iter().enumerate() {
            let colour = COLOURS[place % COLOURS.len()];
            let centred = ("sans-serif", 15).into_font().color(&colour);
            let centred = centred.pos(plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Center,
                plotters::style::text_anchor::VPos::Center,
            ));
            chart.draw_series(points.iter().map(|&point| Text::new(mark(place), point, centred.clone())))?;
        }
        Ok(())
    })
}

/// The occupancy of the processors: one row for each processor (equal neighbours as one), time
/// across, a colour for each application.
pub fn occupancy(grid: &Grid, machine: &Machine) -> anyhow::Result<String> {
    const LABELS: i32 = 84;
    let bands = bands(grid, machine);
    // A machine of a thousand processors still fits a page: rows become thin, and only some are
    // named.
    let row = (720 / i32::try_from(bands.len().max(1))?).clamp(3, 18);
    let named = (15 + row - 1) / row;
    let height = row * i32::try_from(bands.len())? + 34;
    let (left, right) = (LABELS, i32::try_from(WIDTH)? - 8);
    let columns = i32::try_from(grid.rows.first().map_or(1, Vec::len).max(1))?;
    let at = |column: i32| left + (right - left) * column / columns;
    svg(u32::try_from(height)?, |area| {
        for (number, band) in (0..).zip(&bands) {
            let top = 4 + row * number;
            if number % named == 0 {
                area.draw(&Text::new(label(band), (4, top - 1), ("sans-serif", 13).into_font()))?;
            }
            let bottom = top + if row > 4 { row - 2 } else { row };
            for (from, to, job) in stretches(band.cells) {
                let style = COLOURS[place(grid, job) % COLOURS.len()].filled();
                area.draw(&Rectangle::new([(at(from), top), (at(to), bottom)], style))?;
            }
        }
        let base = height - 26;
        area.draw(&PathElement::new([(left, base), (right, base)], BLACK.stroke_width(1)))?;
        for (x, time) in [
            (left, "0".to_owned()),
            (i32::midpoint(left, right) - 20, duration(grid.end / 2)),
            (right - 48, duration(grid.end)),
        ] {
            area.draw(&Text::new(time, (x, base + 6), ("sans-serif", 13).into_font()))?;
        }
        Ok(())
    })
}

/// Columns with the same application: from, to (not included), application.
fn stretches(cells: &[Option<u64>]) -> Vec<(i32, i32, u64)> {
    let mut found: Vec<(i32, i32, u64)> = Vec::new();
    for (column, cell) in (0..).zip(cells) {
        match (found.last_mut(), cell) {
            (Some((_, to, job)), Some(now)) if *to == column && job == now => *to = column + 1,
            (_, Some(now)) => found.push((column, column + 1, *now)),
            (_, None) => {}
        }
    }
    found
}

fn label(band: &Band) -> String {
    if band.first == band.last { format!("pu {}", band.first) } else { format!("pu {}-{}", band.first, band.last) }
}

/// A little above the highest value, so that nothing touches the edge.
fn upper(high: f64) -> f64 {
    if high > 0.0 && high.is_finite() { high * 1.06 } else { 1.0 }
}

/// A long policy's text, cut where the plot ends.
fn shortened(name: &str) -> String {
    const MOST: usize = 56;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST - 1).chain(['…']).collect() }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn svg(height: u32, draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Drawn) -> anyhow::Result<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area).map_err(|error| anyhow!("cannot draw: {error}"))?;
        area.present().map_err(|error| anyhow!("cannot draw: {error}"))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranking_names_everybody() {
        let points = [Point { mean: 2.0, half_width: 0.5 }, Point { mean: 3.0, half_width: 0.0 }];
        let plot = ranking(&["equi", "a<b"], &points, "response, s").expect("a plot");
        assert!(plot.contains("equi") && plot.contains("a&lt;b") && plot.contains("response, s"), "{plot}");
        assert_eq!(plot.matches("<circle").count(), 2);
    }

    #[test]
    fn lines_leave_out_what_is_missing() {
        let point = |mean| Some(Point { mean, half_width: 0.1 });
        let series = [vec![point(1.0), point(2.0), point(3.0)], vec![point(1.5), None, point(2.5)]];
        let plot = lines(&[0.0, 4.0, 8.0], &series, ["delay", "response, s"]).expect("a plot");
        assert_eq!(plot.matches("<circle").count(), 5);
    }

    #[test]
    fn series_against_each_other_have_marks_of_their_own() {
        let plot =
            against(&[vec![(1.0, 1.1), (2.0, 2.0)], vec![(1.5, 1.0)]], ["measured", "simulated"]).expect("a plot");
        assert_eq!((plot.matches(mark(0)).count(), plot.matches(mark(1)).count()), (2, 1), "{plot}");
        assert!(against(&[], ["x", "y"]).is_ok());
    }

    #[test]
    fn equal_neighbours_in_time_are_one_rectangle() {
        assert_eq!(stretches(&[Some(1), Some(1), None, Some(1), Some(2)]), [(0, 2, 1), (3, 4, 1), (4, 5, 2)]);
        assert!(stretches(&[None, None]).is_empty());
    }

    #[test]
    fn nothing_to_plot_is_no_failure() {
        assert!(ranking(&[], &[], "x").is_ok());
        let zero = [vec![Some(Point { mean: 0.0, half_width: 0.0 })]];
        assert!(lines(&[1.0], &zero, ["x", "y"]).is_ok());
    }
}
