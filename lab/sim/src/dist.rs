//! Distributions of times, numbers and sizes.

use crate::random::Stream;

/// A distribution of non-negative numbers, in the unit of its user.
#[derive(Debug, Clone, PartialEq)]
pub enum Dist {
    /// Always this.
    Constant(f64),
    /// Uniform between these.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// 1, 2, 3 ... with this mean, at least 1.
    Geometric(f64),
    /// With this mean and coefficient of variation: constant at 0, Erlang-like (gamma) below 1,
    /// exponential at 1, two-phase hyperexponential with balanced means above.
    MeanCv(f64, f64),
    /// Log-normal with this mean and coefficient of variation.
    LogNormal(f64, f64),
    /// One of these values, with these weights.
    Choice(Vec<(f64, f64)>),
}

impl Dist {
    /// Its mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(mean) | Self::Exponential(mean) | Self::MeanCv(mean, _) | Self::LogNormal(mean, _) => *mean,
            Self::Geometric(mean) => mean.max(1.0),
            Self::Uniform(low, high) => f64::midpoint(*low, *high),
            Self::Choice(values) => {
                let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
                values.iter().map(|(value, share)| value * share).sum::<f64>() / weight
            }
        }
    }

    /// One draw. A constant draws nothing from the stream.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform(low, high) => low + (high - low) * stream.unit(),
            Self::Exponential(mean) => mean * stream.exponential(),
            Self::Geometric(mean) if *mean <= 1.0 => 1.0,
            Self::Geometric(mean) => {
                let stay = 1.0 - 1.0 / mean;
                1.0 + libm::floor(libm::log(stream.unit()) / libm::log(stay))
            }
            Self::MeanCv(mean, cv) => mean * with_cv(*cv, stream),
            Self::LogNormal(mean, cv) => {
                let variance = libm::log(1.0 + cv * cv);
                mean * libm::exp(libm::sqrt(variance) * stream.normal() - variance / 2.0)
            }
            Self::Choice(values) => {
                let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
                let mut left = stream.unit() * weight;
                for (value, share) in values {
                    left -= share;
                    if left <= 0.0 {
                        return *value;
                    }
                }
                values.last().map_or(0.0, |(value, _)| *value)
            }
        }
    }

    /// One draw, rounded to a whole number.
    pub fn draw_whole(&self, stream: &mut Stream) -> u64 {
        libm::round(self.draw(stream).max(0.0)) as u64
    }
}

/// A draw with mean 1 and this coefficient of variation.
fn with_cv(cv: f64, stream: &mut Stream) -> f64 {
    if cv <= 0.0 {
        1.0
    } else if (cv - 1.0).abs() < 1e-9 {
        stream.exponential()
    } else if cv < 1.0 {
        gamma(1.0 / (cv * cv), stream) * cv * cv
    } else {
        // Balanced means: p/λ1 = (1-p)/λ2.
        let c2 = cv * cv;
        let p = f64::midpoint(1.0, libm::sqrt((c2 - 1.0) / (c2 + 1.0)));
        let phase = if stream.unit() <= p { p } else { 1.0 - p };
        stream.exponential() / (2.0 * phase)
    }
}

/// Gamma with this shape (above 0) and scale 1 (Marsaglia and Tsang 2000; below shape 1 by their
/// boost).
pub fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        let boosted = gamma(shape + 1.0, stream);
        return boosted * libm::pow(stream.unit(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = stream.normal();
        let v = 1.0 + c * x;
        if v > 0.0 {
            let v = v * v * v;
            if libm::log(stream.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }
}
