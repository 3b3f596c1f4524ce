//! Models of workloads have the statistics that their papers give their parameters for.

use numaestro_sim::speedup::Curve;
use numaestro_sim::workload::batch::{BatchJob, Demand};
use numaestro_sim::workload::downey::{Downey, Parameters};
use numaestro_sim::workload::lublin;
use numaestro_sim::workload::lublin::{BATCH, INTERACTIVE, Lublin, Types, WHOLE};

const JOBS: usize = 60_000;

fn rigid(job: &BatchJob) -> (u32, f64) {
    let Demand::Rigid { size, run_ns } = job.demand else { panic!("a rigid job") };
    (size, run_ns as f64 / 1e9)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

/// Mean and share of powers of two of parallel sizes, by numeric integration of the published
/// two-stage uniform on 128 processors.
fn published_sizes(table: &lublin::Parameters) -> (f64, f64) {
    const STEPS: u32 = 100_000;
    let high = 7.0 - table.u_hi_below;
    let middle = high - table.u_med_below;
    let parallel = 1.0 - table.serial;
    // The share of parallel jobs whose power is rounded.
    let rounded = (table.pow2 / parallel).min(1.0);
    let (mut mean, mut power_of_two) = (0.0, 0.0);
    for (from, to, share) in [(table.u_low, middle, table.u_prob), (middle, high, 1.0 - table.u_prob)] {
        for step in 0..STEPS {
            let power = from + (to - from) * (f64::from(step) + 0.5) / f64::from(STEPS);
            let size = power.exp2().round();
            let weight = share / f64::from(STEPS);
            mean += weight * (rounded * (power + 0.5).floor().exp2() + (1.0 - rounded) * size);
            let happens = size.log2() % 1.0 == 0.0;
            power_of_two += weight * (rounded + (1.0 - rounded) * f64::from(u8::from(happens)));
        }
    }
    (table.serial + parallel * mean, table.serial + parallel * power_of_two)
}

#[test]
fn lublins_sizes() {
    for (types, table, serial) in
        [(Types::Whole, WHOLE, 0.244), (Types::Batch, BATCH, 0.2927), (Types::Interactive, INTERACTIVE, 0.1541)]
    {
        let sizes: Vec<u32> = Lublin::new(types, 128, 4).take(JOBS).map(|job| rigid(&job).0).collect();
        let share = |of: &dyn Fn(u32) -> bool| mean(sizes.iter().map(|&size| f64::from(u8::from(of(size)))));
        assert!(sizes.iter().all(|&size| (1..=128).contains(&size)), "{types:?}");
        let found = share(&|size| size == 1);
        // A power of 0.8 to 1 is rounded to 2 or 1.9: no parallel job has one processor.
        assert!((found - serial).abs() < 0.01, "{types:?}: {found} serial, not {serial}");
        let (size, power_of_two) = published_sizes(&table);
        let found = mean(sizes.iter().map(|&size| f64::from(size)));
        assert!((found / size - 1.0).abs() < 0.03, "{types:?}: mean size {found}, not {size}");
        let found = share(&u32::is_power_of_two);
        assert!((found - power_of_two).abs() < 0.01, "{types:?}: {found} powers of two, not {power_of_two}");
    }
}

#[test]
fn lublins_run_times() {
    // The mean logarithm of serial jobs' times is that of the hyper-gamma at size 1; large jobs are
    // the longer ones.
    let jobs: Vec<(u32, f64)> = Lublin::new(Types::Whole, 128, 5).take(JOBS).map(|job| rigid(&job)).collect();
    let mean_log =
        |from: u32, to: u32| mean(jobs.iter().filter(|(size, _)| (from..=to).contains(size)).map(|(_, run)| run.ln()));
    let expected = |size: f64| {
        let p = WHOLE.p.0 * size + WHOLE.p.1;
        p * WHOLE.short.0 * WHOLE.short.1 + (1.0 - p) * WHOLE.long.0 * WHOLE.long.1
    };
    let (one, published) = (mean_log(1, 1), expected(1.0));
    assert!((one - published).abs() < 0.1, "mean log of serial jobs {one}, not {published}");
    let (large, published) = (mean_log(64, 64), expected(64.0));
    assert!((large - published).abs() < 0.3, "mean log of jobs of 64 {large}, not {published}");
    assert!(jobs.iter().all(|(_, run)| (1e-9..=12f64.exp() + 1.0).contains(run)));
}

#[test]
fn lublins_days() {
    let jobs: Vec<BatchJob> = Lublin::new(Types::Whole, 128, 6).take(JOBS).collect();
    assert!(jobs.windows(2).all(|pair| pair[0].submit <= pair[1].submit));
    let mut hours = [0u32; 24];
    for job in &jobs {
        hours[(job.submit / 3_600_000_000_000 % 24) as usize] += 1;
    }
    // The weights' gamma has its mode at (8.1737 - 1) · 3.9631 half hours: soon after two in the
    // afternoon.
    let busiest = (0..24).max_by_key(|&hour| hours[hour]).unwrap();
    assert!((12..=16).contains(&busiest), "{hours:?}");
    let share = |from: usize, to: usize| f64::from(hours[from..to].iter().sum::<u32>()) / JOBS as f64;
    assert!(share(9, 19) > 0.55, "working hours: {}", share(9, 19));
    assert!(share(0, 6) < 0.1, "nights: {}", share(0, 6));
}

#[test]
fn both_types_are_those_of_both_tables_together() {
    let sizes: Vec<u32> = Lublin::new(Types::Both, 128, 7).take(JOBS).map(|job| rigid(&job).0).collect();
    let serial = mean(sizes.iter().map(|&size| f64::from(u8::from(size == 1))));
    assert!((0.1541..0.2927).contains(&serial), "{serial}");
    let mut last = 0;
    for job in Lublin::new(Types::Both, 128, 7).take(1000) {
        assert!(job.submit >= last);
        last = job.submit;
    }
}

#[test]
fn small_machines_have_small_jobs() {
    for pus in [1, 2, 3, 4, 12] {
        for job in Lublin::new(Types::Both, pus, 8).take(2000) {
            assert!((1..=pus).contains(&rigid(&job).0), "on {pus}: {job:?}");
        }
    }
}

#[test]
fn downeys_jobs() {
    let parameters = Parameters { work: (1e9, 1e12), average: (1.0, 64.0), sigma: (0.0, 2.0), interval: 5e9 };
    let jobs: Vec<BatchJob> = Downey::new(parameters, 9).take(JOBS).collect();
    let interval = jobs.last().unwrap().submit as f64 / JOBS as f64;
    assert!((interval / 5e9 - 1.0).abs() < 0.02, "{interval}");
    let of = |job: &BatchJob| match &job.demand {
        Demand::Malleable { work_ns, curve: Curve::Downey { average, sigma }, most } => {
            (*work_ns as f64, *average, *sigma, *most)
        }
        other => panic!("{other:?}"),
    };
    // Logarithms are uniform: their means are in the middle, and a third of them in each third.
    let log_work = mean(jobs.iter().map(|job| of(job).0.log10()));
    assert!((log_work - 10.5).abs() < 0.02, "{log_work}");
    let low = mean(jobs.iter().map(|job| f64::from(u8::from(of(job).1 < 4.0))));
    assert!((low - 1.0 / 3.0).abs() < 0.01, "{low}");
    assert!((mean(jobs.iter().map(|job| of(job).2)) - 1.0).abs() < 0.02);
    for job in jobs.iter().take(2000) {
        let (_, average, sigma, most) = of(job);
        let curve = Curve::Downey { average, sigma };
        assert!(
            (curve.speedup(most) - average).abs() < 1e-6 && most >= 1,
            "no processor is missing at {most}: {curve:?}"
        );
        assert!(most == 1 || curve.speedup(most - 1) < average, "and none too many at {most}: {curve:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_jobs() {
    let take = |seed| Lublin::new(Types::Both, 64, seed).take(500).collect::<Vec<_>>();
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
    let take = |seed| Downey::new(Parameters::for_machine(64), seed).take(500).collect::<Vec<_>>();
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
}
