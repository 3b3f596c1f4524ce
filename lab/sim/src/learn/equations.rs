//! Linear equations by weighted least squares.
//!
//! Weights order sources: an equation of a small weight decides only what equations of larger ones
//! leave open, because its square adds next to nothing to the sum that is made smallest.

/// Equations over so many unknowns, as normal equations.
#[derive(Debug, Clone)]
pub struct Equations {
    unknowns: usize,
    /// Row by row, with the right side as last column.
    normal: Vec<Vec<f64>>,
}

impl Equations {
    /// None yet.
    pub fn new(unknowns: usize) -> Self {
        Self { unknowns, normal: vec![vec![0.0; unknowns + 1]; unknowns] }
    }

    /// Σ factor · unknown = `right`, with this weight.
    pub fn add(&mut self, factors: &[f64], right: f64, weight: f64) {
        debug_assert_eq!(factors.len(), self.unknowns);
        for (row, &factor) in self.normal.iter_mut().zip(factors) {
            for (entry, &other) in row.iter_mut().zip(factors.iter().chain([&right])) {
                *entry += weight * weight * factor * other;
            }
        }
    }

    /// The unknowns; `None` where the equations do not determine them.
    pub fn solve(mut self) -> Option<Vec<f64>> {
        let n = self.unknowns;
        for column in 0..n {
            let pivot =
                (column..n).max_by(|&a, &b| self.normal[a][column].abs().total_cmp(&self.normal[b][column].abs()))?;
            self.normal.swap(column, pivot);
            let head = self.normal[column].clone();
            if head[column].abs() < f64::MIN_POSITIVE {
                return None;
            }
            for row in (0..n).filter(|&row| row != column) {
                let factor = self.normal[row][column] / head[column];
                for (entry, above) in self.normal[row].iter_mut().zip(&head).skip(column) {
                    *entry -= factor * above;
                }
            }
        }
        Some((0..n).map(|row| self.normal[row][n] / self.normal[row][row]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_meet() {
        let mut equations = Equations::new(2);
        equations.add(&[1.0, 1.0], 3.0, 1.0);
        equations.add(&[1.0, -1.0], 1.0, 1.0);
        let found = equations.solve().expect("determined");
        assert!((found[0] - 2.0).abs() < 1e-12 && (found[1] - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_small_weight_decides_only_what_is_open() {
        let mut equations = Equations::new(2);
        equations.add(&[1.0, 0.0], 5.0, 1.0);
        equations.add(&[1.0, 0.0], 9.0, 1e-4);
        equations.add(&[0.0, 1.0], 7.0, 1e-4);
        let found = equations.solve().expect("determined");
        assert!((found[0] - 5.0).abs() < 1e-6 && (found[1] - 7.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_nothing_determines_is_not_invented() {
        let mut equations = Equations::new(2);
        equations.add(&[1.0, 0.0], 5.0, 1.0);
        assert_eq!(equations.solve(), None);
    }
}
