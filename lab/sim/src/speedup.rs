//! Speedup curves: the speed of a program on n processors, where only that is known of it.
//!
//! Source: Amdahl 1967; Downey 1997 (A, σ); Sevcik 1994 (T(n) = φ·W/n + α + β·n); tables as
//! measured.

/// Speedup over one processor by number of processors.
#[derive(Debug, Clone, PartialEq)]
pub enum Curve {
    /// n on n.
    Linear,
    /// 1 / (f + (1 - f) / n) with serial fraction f.
    Amdahl(f64),
    /// Average parallelism A and its coefficient of variation σ.
    Downey {
        /// A.
        average: f64,
        /// σ.
        sigma: f64,
    },
    /// T(n)/T(1) with T(n) = φ/n + α + β·n, for work 1.
    Sevcik {
        /// φ.
        imbalance: f64,
        /// α.
        serial: f64,
        /// β.
        overhead: f64,
    },
    /// Linear between these points (processors, speedup), flat after the last.
    Table(Vec<(u32, f64)>),
    /// As fast as its full size, and only there: nothing on fewer processors.
    Rigid(u32),
}

impl Curve {
    /// Speedup on `n` processors, at least 0; 0 on none.
    pub fn speedup(&self, n: u32) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let p = f64::from(n);
        match self {
            Self::Linear => p,
            Self::Amdahl(f) => 1.0 / (f + (1.0 - f) / p),
            Self::Downey { average, sigma } => downey(*average, *sigma, p),
            Self::Sevcik { imbalance, serial, overhead } => {
                (imbalance + serial + overhead) / (imbalance / p + serial + overhead * p)
            }
            Self::Table(points) => table(points, n),
            Self::Rigid(size) => {
                if n >= *size {
                    f64::from(*size)
                } else {
                    0.0
                }
            }
        }
    }
}

fn downey(a: f64, sigma: f64, n: f64) -> f64 {
    if sigma <= 1.0 {
        if n <= a {
            a * n / (a + sigma * (n - 1.0) / 2.0)
        } else if n <= 2.0 * a - 1.0 {
            a * n / (sigma * (a - 0.5) + n * (1.0 - sigma / 2.0))
        } else {
            a
        }
    } else if n <= a + a * sigma - sigma {
        n * a * (sigma + 1.0) / (sigma * (n + a - 1.0) + a)
    } else {
        a
    }
}

fn table(points: &[(u32, f64)], n: u32) -> f64 {
    let after = points.partition_point(|&(processors, _)| processors <= n);
    let Some(&(p1, s1)) = after.checked_sub(1).and_then(|at| points.get(at)) else {
        // Below the first point: in proportion.
        return points.first().map_or(f64::from(n), |&(p, s)| s * f64::from(n) / f64::from(p));
    };
    let Some(&(p2, s2)) = points.get(after) else { return s1 };
    s1 + (s2 - s1) * f64::from(n - p1) / f64::from(p2 - p1)
}
