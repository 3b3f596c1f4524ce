//! Several tests at once: the step-down correction of Holm 1979.

/// Probabilities corrected for their number, in the order given. A corrected probability is below
/// the wanted error rate only if the chance of *any* false alarm among all is.
///
/// The i-th smallest of m is multiplied by m - i + 1, and is never smaller than the one before it.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]).then(a.cmp(&b)));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &test) in order.iter().enumerate() {
        largest = largest.max(p[test] * (p.len() - rank) as f64).min(1.0);
        adjusted[test] = largest;
    }
    adjusted
}

/// For each probability, whether its test is rejected at this rate of any false alarm.
pub fn rejected(p: &[f64], rate: f64) -> Vec<bool> {
    adjusted(p).into_iter().map(|p| p <= rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_r_has_it() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(rejected(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
    }

    #[test]
    fn one_test_needs_no_correction_and_none_is_none() {
        assert!((adjusted(&[0.04])[0] - 0.04).abs() < 1e-15);
        assert!(adjusted(&[]).is_empty());
        assert!(adjusted(&[0.9, 0.8]).iter().all(|&p| p <= 1.0));
    }
}
