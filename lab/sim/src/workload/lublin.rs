//! Rigid jobs by the model of Lublin and Feitelson.
//!
//! **Source**: Lublin and Feitelson 2003, "The workload on parallel supercomputers: modeling the
//! characteristics of rigid jobs", with the parameters published there (fitted to three logs).
//! **Sizes**: serial with one probability; the others are 2 to a two-stage uniform power, rounded
//! to a power of two with another. **Run times**: e to a hyper-gamma variable; the larger the job,
//! the more likely the gamma of long times. **Arrivals**: e to a gamma variable, spent as points at
//! the rate of the time of day (48 half hours, weighted by a third gamma). **Differs from the
//! authors' program**: run times keep their fractions of seconds, so that none is 0; sizes go up to
//! any machine's: the middle of the two stages is 2.5 below the log of the machine's size, as it is
//! for their 128 processors.

use super::batch::{BatchJob, Demand};
use crate::dist::gamma;
use crate::random::{Purpose, Stream};

/// The types of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Types {
    /// All jobs alike, with the parameters of the whole sample.
    Whole,
    /// Batch jobs only.
    Batch,
    /// Interactive jobs only.
    Interactive,
    /// Both kinds, each with arrivals of its own.
    Both,
}

/// The model's parameters for one type of job, called as in the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Share of serial jobs.
    pub serial: f64,
    /// Share of parallel jobs whose size is made a power of two.
    pub pow2: f64,
    /// Least power of the two-stage uniform.
    pub u_low: f64,
    /// Distance of the middle below the log of the machine's size.
    pub u_med_below: f64,
    /// Distance of the highest power below the log of the machine's size.
    pub u_hi_below: f64,
    /// Share of the lower stage.
    pub u_prob: f64,
    /// Short times: shape and scale.
    pub short: (f64, f64),
    /// Long times: shape and scale.
    pub long: (f64, f64),
    /// Probability of short times: slope by size, and at size 0.
    pub p: (f64, f64),
    /// Intervals between arrivals in rush hours: shape and scale.
    pub arrivals: (f64, f64),
    /// The day's cycle: shape and scale, in half hours.
    pub cycle: (f64, f64),
    /// Ratio of the shape for all hours to that for rush hours.
    pub rush_to_all: f64,
}

/// Table of the whole sample.
pub const WHOLE: Parameters = Parameters {
    serial: 0.244,
    pow2: 0.576,
    u_low: 0.8,
    u_med_below: 2.5,
    u_hi_below: 0.0,
    u_prob: 0.86,
    short: (4.2, 0.94),
    long: (312.0, 0.03),
    p: (-0.0054, 0.78),
    arrivals: (10.2303, 0.4871),
    cycle: (8.1737, 3.9631),
    rush_to_all: 1.0225,
};

/// Table of batch jobs.
pub const BATCH: Parameters = Parameters {
    serial: 0.2927,
    pow2: 0.6686,
    u_low: 1.2,
    u_med_below: 2.0,
    u_hi_below: 0.0,
    u_prob: 0.875,
    short: (6.57, 0.823),
    long: (639.1, 0.0156),
    p: (-0.003, 0.6986),
    arrivals: (6.0415, 0.8531),
    cycle: (6.1271, 5.2740),
    rush_to_all: 1.0519,
};

/// Table of interactive jobs.
pub const INTERACTIVE: Parameters = Parameters {
    serial: 0.1541,
    pow2: 0.625,
    u_low: 1.0,
    u_med_below: 2.5,
    u_hi_below: 1.5,
    u_prob: 0.705,
    short: (3.8351, 0.6605),
    long: (7.073, 0.6856),
    p: (-0.0118, 0.9156),
    arrivals: (6.5510, 0.6621),
    cycle: (8.9186, 3.6680),
    rush_to_all: 0.9797,
};

/// No run time above e^12 s (two days).
const LOG_RUN_MAX: f64 = 12.0;
/// No interval above e^13 s (five days).
const LOG_INTERVAL_MAX: f64 = 13.0;
/// Half hours of a day.
const BUCKETS: usize = 48;
/// Seconds of a half hour.
const BUCKET: f64 = 1800.0;
/// The cycle's gamma begins at this half hour, 5:30 in the morning.
const DAY_START: usize = 11;
/// The entity of this generator's stream.
const ENTITY: u64 = u64::MAX;

/// Jobs without end, in order of submission, from midnight on.
#[derive(Debug, Clone)]
pub struct Lublin {
    types: Vec<Arrivals>,
    log_size: f64,
    random: Stream,
}

#[derive(Debug, Clone)]
struct Arrivals {
    parameters: Parameters,
    /// Points of each half hour; 1 on average.
    weights: [f64; BUCKETS],
    bucket: usize,
    points: f64,
    remainder: f64,
    /// Seconds from midnight of the first day to the next arrival.
    next: f64,
}

impl Lublin {
    /// Jobs of these types for a machine of `pus` processors.
    pub fn new(types: Types, pus: u32, seed: u64) -> Self {
        let tables: &[Parameters] = match types {
            Types::Whole => &[WHOLE],
            Types::Batch => &[BATCH],
            Types::Interactive => &[INTERACTIVE],
            Types::Both => &[BATCH, INTERACTIVE],
        };
        let mut random = Stream::new(seed, Purpose::Generator, ENTITY);
        let types = tables.iter().map(|&parameters| Arrivals::new(parameters, &mut random)).collect();
        Self { types, log_size: libm::log2(f64::from(pus.max(1))), random }
    }
}

impl Iterator for Lublin {
    type Item = BatchJob;

    fn next(&mut self) -> Option<BatchJob> {
        let arrivals = self.types.iter_mut().min_by(|a, b| a.next.total_cmp(&b.next))?;
        let parameters = arrivals.parameters;
        let submit = (arrivals.next * 1e9) as u64;
        arrivals.advance(&mut self.random);
        let size = size(&parameters, self.log_size, &mut self.random);
        let run_ns = (run(&parameters, size, &mut self.random) * 1e9).max(1.0) as u64;
        Some(BatchJob { submit, demand: Demand::Rigid { size, run_ns }, estimate_ns: None })
    }
}

impl Arrivals {
    fn new(parameters: Parameters, random: &mut Stream) -> Self {
        let (shape, scale) = parameters.cycle;
        let mut weights = [0.0; BUCKETS];
        for half_hour in DAY_START..DAY_START + BUCKETS {
            let at = half_hour as f64;
            weights[(half_hour - 1) % BUCKETS] =
                gamma_cdf((at + 0.5) / scale, shape) - gamma_cdf((at - 0.5) / scale, shape);
        }
        let mean = weights.iter().sum::<f64>() / BUCKETS as f64;
        for weight in &mut weights {
            *weight /= mean;
        }
        let mut arrivals = Self { parameters, weights, bucket: 0, points: 0.0, remainder: 0.0, next: 0.0 };
        arrivals.advance(random);
        arrivals
    }

    /// Draws the interval to the next arrival and spends it at the rate of the time of day.
    fn advance(&mut self, random: &mut Stream) {
        let (shape, scale) = self.parameters.arrivals;
        let log = below(LOG_INTERVAL_MAX, || gamma(shape * self.parameters.rush_to_all, random) * scale);
        self.points += libm::exp(log) / BUCKET;
        let mut interval = 0.0;
        while self.points > self.weights[self.bucket] {
            self.points -= self.weights[self.bucket];
            self.bucket = (self.bucket + 1) % BUCKETS;
            interval += BUCKET;
        }
        let remainder = self.points / self.weights[self.bucket];
        interval += BUCKET * (remainder - self.remainder);
        self.remainder = remainder;
        self.next += interval.max(0.0);
    }
}

/// Draws until the draw is at most `most`.
fn below(most: f64, mut draw: impl FnMut() -> f64) -> f64 {
    loop {
        let drawn = draw();
        if drawn <= most {
            return drawn;
        }
    }
}

/// A size: the two-stage uniform, made a number of processors.
fn size(parameters: &Parameters, log_size: f64, random: &mut Stream) -> u32 {
    let kind = random.unit();
    let high = log_size - parameters.u_hi_below;
    if kind <= parameters.serial || high < 1.0 {
        return 1;
    }
    let low = parameters.u_low.min(high);
    let middle = (high - parameters.u_med_below).max(low);
    let (from, to) = if random.unit() <= parameters.u_prob { (low, middle) } else { (middle, high) };
    let mut power = from + (to - from) * random.unit();
    if kind <= parameters.serial + parameters.pow2 {
        power = libm::floor(power + 0.5);
    }
    libm::round(libm::exp2(power.min(log_size))) as u32
}

/// A run time in seconds, from the hyper-gamma.
fn run(parameters: &Parameters, size: u32, random: &mut Stream) -> f64 {
    let p = (parameters.p.0 * f64::from(size) + parameters.p.1).clamp(0.0, 1.0);
    let log = below(LOG_RUN_MAX, || {
        let (shape, scale) = if random.unit() <= p { parameters.short } else { parameters.long };
        gamma(shape, random) * scale
    });
    libm::exp(log)
}

/// The regularised lower incomplete gamma function: a series below its mean, a continued fraction
/// (modified Lentz) above.
fn gamma_cdf(x: f64, shape: f64) -> f64 {
    const STEPS: u32 = 1000;
    const EPS: f64 = 1e-14;
    if x <= 0.0 {
        return 0.0;
    }
    let front = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 {
        let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
        for n in 1..STEPS {
            term *= x / (shape + f64::from(n));
            sum += term;
            if term < sum * EPS {
                break;
            }
        }
        return sum * front;
    }
    let mut partial = x + 1.0 - shape;
    let (mut above, mut below) = (1e300, 1.0 / partial);
    let mut fraction = below;
    for n in 1..STEPS {
        let a = -f64::from(n) * (f64::from(n) - shape);
        partial += 2.0;
        below = 1.0 / (a * below + partial);
        above = partial + a / above;
        fraction *= above * below;
        if (above * below - 1.0).abs() < EPS {
            break;
        }
    }
    1.0 - front * fraction
}

#[cfg(test)]
mod tests {
    use super::gamma_cdf;

    #[test]
    fn incomplete_gamma() {
        // For shape 1 it is the exponential, for shape 2 that times 1 + x.
        for x in [0.1f64, 0.9, 1.9, 2.5, 10.0] {
            assert!((gamma_cdf(x, 1.0) - (1.0 - (-x).exp())).abs() < 1e-12, "{x}");
            assert!((gamma_cdf(x, 2.0) - (1.0 - (1.0 + x) * (-x).exp())).abs() < 1e-12, "{x}");
        }
    }
}
