//! Colours of policies, series and applications in every picture.

use plotters::style::RGBColor;

/// Apart also for most colour-blind readers (after Okabe and Ito 2008).
pub const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(148, 128, 48),
    RGBColor(128, 128, 128),
];
