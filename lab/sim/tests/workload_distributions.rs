//! Distributions have the means and variations that they say, curves the values of their papers.

use numaestro_sim::dist::Dist;
use numaestro_sim::random::{Purpose, Stream};
use numaestro_sim::speedup::Curve;

const DRAWS: u32 = 200_000;

/// Mean and coefficient of variation of many draws.
fn moments(dist: &Dist) -> (f64, f64) {
    let mut stream = Stream::new(11, Purpose::Statistics, 0);
    let draws: Vec<f64> = (0..DRAWS).map(|_| dist.draw(&mut stream)).collect();
    let mean = draws.iter().sum::<f64>() / f64::from(DRAWS);
    let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / f64::from(DRAWS);
    (mean, variance.sqrt() / mean)
}

/// Five standard errors of a mean, and 3 % of a coefficient of variation (whose error depends on
/// the fourth moment).
#[track_caller]
fn check(dist: &Dist, mean: f64, cv: f64) {
    assert!((dist.mean() - mean).abs() < 1e-9 * mean, "{dist:?} says {}", dist.mean());
    let (found_mean, found_cv) = moments(dist);
    let error = 5.0 * cv / f64::from(DRAWS).sqrt();
    assert!((found_mean / mean - 1.0).abs() <= error + 1e-12, "{dist:?}: mean {found_mean}, not {mean}");
    assert!((found_cv - cv).abs() <= 0.03 * cv + 1e-12, "{dist:?}: cv {found_cv}, not {cv}");
}

#[test]
fn means_and_variations() {
    check(&Dist::Constant(7.0), 7.0, 0.0);
    check(&Dist::Uniform(2.0, 6.0), 4.0, (16.0f64 / 12.0).sqrt() / 4.0);
    check(&Dist::Exponential(3.0), 3.0, 1.0);
    // Variance (1 - p) / p^2 with p = 1/4.
    check(&Dist::Geometric(4.0), 4.0, 12.0f64.sqrt() / 4.0);
    check(&Dist::Geometric(1.0), 1.0, 0.0);
    for cv in [0.0, 0.25, 0.9, 1.0, 2.0, 4.0] {
        check(&Dist::MeanCv(5.0, cv), 5.0, cv);
    }
    check(&Dist::LogNormal(2.0, 0.5), 2.0, 0.5);
    check(&Dist::LogNormal(2.0, 1.5), 2.0, 1.5);
    check(&Dist::Choice(vec![(1.0, 3.0), (5.0, 1.0)]), 2.0, 3.0f64.sqrt() / 2.0);
}

#[test]
fn draws_are_never_negative_and_whole_ones_round() {
    let mut stream = Stream::new(3, Purpose::Statistics, 1);
    for dist in [Dist::Exponential(1.0), Dist::MeanCv(1.0, 0.7), Dist::LogNormal(1.0, 3.0), Dist::Geometric(2.5)] {
        assert!((0..10_000).all(|_| dist.draw(&mut stream) >= 0.0), "{dist:?}");
    }
    assert_eq!(Dist::Constant(2.5).draw_whole(&mut stream), 3);
    assert!((0..1000).all(|_| Dist::Geometric(1.5).draw_whole(&mut stream) >= 1));
}

#[test]
fn a_constant_draws_nothing() {
    let (mut with, mut without) = (Stream::new(1, Purpose::Program, 2), Stream::new(1, Purpose::Program, 2));
    Dist::Constant(4.0).draw(&mut with);
    assert_eq!(with.draw(), without.draw());
}

#[track_caller]
fn speedups(curve: &Curve, points: &[(u32, f64)], tolerance: f64) {
    for &(n, expected) in points {
        let found = curve.speedup(n);
        assert!((found - expected).abs() <= tolerance, "{curve:?} on {n}: {found}, not {expected}");
    }
}

#[test]
fn downeys_curve() {
    // Downey 1997: with σ = 0 it is linear up to A; with σ = 1 both branches meet at A.
    speedups(&Curve::Downey { average: 8.0, sigma: 0.0 }, &[(1, 1.0), (4, 4.0), (8, 8.0), (16, 8.0)], 1e-12);
    let meet = 8.0 * 8.0 / (8.0 + 7.0 / 2.0);
    speedups(&Curve::Downey { average: 8.0, sigma: 1.0 }, &[(1, 1.0), (8, meet), (15, 8.0), (99, 8.0)], 1e-12);
    // High variance: n·A·(σ+1) / (σ·(n+A-1) + A), flat from A + Aσ - σ.
    speedups(&Curve::Downey { average: 8.0, sigma: 2.0 }, &[(1, 1.0), (4, 96.0 / 30.0), (22, 8.0), (23, 8.0)], 1e-12);
}

#[test]
fn downeys_curve_begins_at_one_and_never_falls_or_jumps() {
    for (average, sigma) in [(1.0, 0.0), (1.2, 0.3), (4.0, 0.5), (16.0, 1.0), (16.0, 1.5), (100.0, 2.0), (64.0, 10.0)] {
        let curve = Curve::Downey { average, sigma };
        assert!((curve.speedup(1) - 1.0).abs() < 1e-12, "{curve:?} on 1");
        for n in 1..500 {
            let step = curve.speedup(n + 1) - curve.speedup(n);
            assert!((-1e-12..=1.0 + 1e-12).contains(&step), "{curve:?} from {n}: {step}");
        }
        assert!((curve.speedup(1 << 20) - average).abs() < 1e-9, "{curve:?} ends at A");
    }
    let low = Curve::Downey { average: 20.0, sigma: 1.0 };
    let high = Curve::Downey { average: 20.0, sigma: 1.0 + 1e-9 };
    for n in 1..60 {
        assert!((low.speedup(n) - high.speedup(n)).abs() < 1e-6, "the cases of σ meet at 1, on {n}");
    }
}

#[test]
fn sevciks_curve_falls_again() {
    // φ = 1.04, α = β = 0.02, work 1: the best number is sqrt(φ / β) = 7.2.
    let curve = Curve::Sevcik { imbalance: 1.04, serial: 0.02, overhead: 0.02 };
    speedups(&curve, &[(1, 1.0), (2, 1.86), (4, 3.00), (8, 3.48), (16, 2.67), (32, 1.56)], 0.005);
    let best = (1..64).max_by(|&a, &b| curve.speedup(a).total_cmp(&curve.speedup(b)));
    assert_eq!(best, Some(7));
}

#[test]
fn the_other_curves() {
    speedups(&Curve::Linear, &[(0, 0.0), (1, 1.0), (64, 64.0)], 0.0);
    speedups(&Curve::Amdahl(0.1), &[(1, 1.0), (10, 1.0 / 0.19)], 1e-12);
    speedups(
        &Curve::Table(vec![(2, 1.8), (4, 3.0)]),
        &[(0, 0.0), (1, 0.9), (2, 1.8), (3, 2.4), (4, 3.0), (9, 3.0)],
        1e-12,
    );
    speedups(&Curve::Rigid(4), &[(0, 0.0), (3, 0.0), (4, 4.0), (9, 4.0)], 0.0);
}
