//! Sources: streams, open arrivals, lists and batches, and that what they give depends on the seed
//! and on nothing else.

use numaestro_sim::dist::Dist;
use numaestro_sim::program::{self, Body, Program, Stretch};
use numaestro_sim::read::Text;
use numaestro_sim::speedup::Curve;
use numaestro_sim::workload::batch::{Batch, BatchJob, Demand, Estimates, Fit, Turn, offered};
use numaestro_sim::workload::offered::mean_work;
use numaestro_sim::workload::{Arrival, List, Open, Order, Source, StreamPlan, Streams};
use std::collections::BTreeMap;
use std::sync::Arc;

fn programs(names: &str) -> Vec<Arc<Program>> {
    let make = |name: char| {
        let text =
            format!("[[program]]\nname = \"{name}\"\nprocessors = 4\nphases = [{{ do = \"serial\", work = 100 }}]\n");
        Arc::new(program::read(Text::new("p.toml", &text)).unwrap().remove(0))
    };
    names.chars().map(make).collect()
}

fn plan(names: &str, repetitions: Option<u32>, gap: Dist) -> StreamPlan {
    StreamPlan { programs: programs(names), repetitions, start: Dist::Constant(0.0), gap }
}

/// Runs a closed workload in which an application of stream `s` takes `takes(s)`; gives what each
/// stream ran.
fn run(source: &mut dyn Source, takes: impl Fn(u32) -> u64) -> BTreeMap<u32, Vec<Arrival>> {
    let mut running: Vec<Arrival> = std::iter::from_fn(|| source.next()).collect();
    let mut done: BTreeMap<u32, Vec<Arrival>> = BTreeMap::new();
    while let Some(at) = (0..running.len()).min_by_key(|&at| running[at].at + takes(running[at].stream)) {
        let arrival = running.swap_remove(at);
        running.extend(source.ended(arrival.stream, arrival.at + takes(arrival.stream)));
        done.entry(arrival.stream).or_default().push(arrival);
    }
    done
}

fn names(arrivals: &[Arrival]) -> String {
    arrivals.iter().map(|arrival| arrival.program.name.as_str()).collect()
}

#[test]
fn streams_run_their_lists() {
    let plans = vec![plan("abc", Some(2), Dist::Constant(10.0)); 3];
    let mut streams = Streams::new(plans.clone(), Order::Given, 1);
    assert_eq!(streams.total(), Some(18));
    let done = run(&mut streams, |_| 5);
    assert!(done.values().all(|arrivals| names(arrivals) == "abcabc"), "{done:?}");
    let times: Vec<u64> = done[&0].iter().map(|arrival| arrival.at).collect();
    assert_eq!(times, [0, 15, 30, 45, 60, 75], "a gap between two, none before the first");
    let done = run(&mut Streams::new(plans, Order::Rotated, 1), |_| 5);
    assert_eq!((names(&done[&1]).as_str(), names(&done[&2]).as_str()), ("bcabca", "cabcab"));
}

#[test]
fn shuffled_streams_have_orders_of_their_own() {
    for seed in 0..20 {
        let plans = vec![plan("abcde", Some(3), Dist::Exponential(100.0)); 3];
        let done = run(&mut Streams::new(plans, Order::Shuffled, seed), |_| 50);
        let orders: Vec<String> = done.values().map(|arrivals| names(arrivals)).collect();
        for order in &orders {
            let (first, rest) = order.split_at(5);
            assert_eq!(rest, first.repeat(2), "the same order in each repetition");
            let mut sorted: Vec<char> = first.chars().collect();
            sorted.sort_unstable();
            assert_eq!(sorted.into_iter().collect::<String>(), "abcde");
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2] && orders[0] != orders[2], "{orders:?}");
    }
}

#[test]
fn jobs_and_gaps_of_a_stream_do_not_depend_on_who_is_faster() {
    let run = |takes: fn(u32) -> u64| {
        let plans = vec![plan("ab", Some(50), Dist::Exponential(1000.0)); 4];
        run(&mut Streams::new(plans, Order::Shuffled, 9), takes)
    };
    let (slow, fast) = (run(|stream| 100 + 700 * u64::from(stream)), run(|_| 100));
    let mut numbers: Vec<u64> = Vec::new();
    for (stream, arrivals) in &slow {
        let gaps = |arrivals: &[Arrival], takes: u64| -> Vec<u64> {
            arrivals.windows(2).map(|pair| pair[1].at - pair[0].at - takes).collect()
        };
        assert_eq!(gaps(arrivals, 100 + 700 * u64::from(*stream)), gaps(&fast[stream], 100));
        let jobs = |arrivals: &[Arrival]| arrivals.iter().map(|arrival| arrival.job).collect::<Vec<u64>>();
        assert_eq!(jobs(arrivals), jobs(&fast[stream]));
        assert_eq!(names(arrivals), names(&fast[stream]));
        numbers.extend(jobs(arrivals));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..400).collect::<Vec<u64>>(), "every job has a number of its own");
}

#[test]
fn a_stream_without_end() {
    let mut streams = Streams::new(vec![plan("a", None, Dist::Constant(0.0))], Order::Given, 1);
    assert_eq!(streams.total(), None);
    assert!(streams.next().is_some() && streams.next().is_none());
    assert!((0..1000).all(|now| streams.ended(0, now).is_some_and(|arrival| arrival.at == now)));
    assert!(streams.ended(7, 0).is_none(), "a stream that is not there");
}

#[test]
fn open_arrivals() {
    let mix = programs("ab").into_iter().zip([3.0, 1.0]).collect::<Vec<_>>();
    let arrivals = |scale| {
        let mut open = Open::new(mix.clone(), Dist::Exponential(1000.0), scale, Some(40_000), 5);
        assert_eq!(open.total(), Some(40_000));
        std::iter::from_fn(move || open.next()).collect::<Vec<_>>()
    };
    let once = arrivals(1.0);
    assert_eq!(once.len(), 40_000);
    assert!(once.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].job + 1 == pair[1].job));
    let interval = once.last().unwrap().at as f64 / 40_000.0;
    assert!((interval / 1000.0 - 1.0).abs() < 0.03, "{interval}");
    let share = once.iter().filter(|arrival| arrival.program.name == "a").count() as f64 / 40_000.0;
    assert!((share - 0.75).abs() < 0.015, "{share}");
    // Another load changes only the times.
    let half = arrivals(0.5);
    for (one, half) in once.windows(2).zip(half.windows(2)) {
        let (whole, halved) = (one[1].at - one[0].at, half[1].at - half[0].at);
        assert!(halved.abs_diff(whole / 2) <= 1, "{halved} is half of {whole}");
        assert_eq!(one[1].program, half[1].program);
    }
}

#[test]
fn lists_are_sorted_and_numbered() {
    let at = |at, name: &str| Arrival {
        at,
        job: 99,
        stream: 0,
        program: programs(name).remove(0),
        estimate_ns: None,
        until: None,
    };
    let mut list = List::new(vec![at(5, "a"), at(1, "b"), at(5, "c")]);
    assert_eq!(list.total(), Some(3));
    let found: Vec<(u64, u64, String)> =
        std::iter::from_fn(|| list.next()).map(|next| (next.job, next.at, next.program.name.clone())).collect();
    assert_eq!(found, [(0, 1, "b".to_owned()), (1, 5, "a".to_owned()), (2, 5, "c".to_owned())]);
}

#[test]
fn mean_work_counts_every_phase() {
    let text = "[[program]]\nname = \"p\"\nprocessors = 4\nphases = [\n{ do = \"serial\", work = 10 },\n\
        { do = \"repeat\", times = 3, phases = [{ do = \"parallel\", iterations = 2, work = 100 }, { do = \"pause\", time = 9 }] },\n\
        { do = \"parallel\", width = 2, work_each = { exponential = 5 }, locked = 1 },\n\
        { do = \"tasks\", count = { geometric = 4 }, work = 25 }]\n";
    let program = program::read(Text::new("p.toml", text)).unwrap().remove(0);
    assert!((mean_work(&program) - (10.0 + 600.0 + 12.0 + 100.0)).abs() < 1e-9);
}

fn job(submit: u64, size: u32, run_ns: u64) -> BatchJob {
    BatchJob { submit, demand: Demand::Rigid { size, run_ns }, estimate_ns: None }
}

fn fit(turn: Turn) -> Fit {
    Fit { pus: 16, sizes: 1.0, intervals: 1.0, turn, estimates: Estimates::Log }
}

#[test]
fn batches_are_fitted() {
    let jobs = vec![job(0, 4, 1000), job(100, 40, 50), job(200, 1, 7)];
    assert!(
        (offered(jobs.clone().into_iter(), &fit(Turn::Rigid)) - (4000.0 + 800.0 + 7.0) / (200.0 * 16.0)).abs() < 1e-12
    );
    let fit = Fit { sizes: 0.5, intervals: 2.0, ..fit(Turn::Rigid) };
    let mut batch = Batch::new(Box::new(jobs.into_iter()), fit, 1, Some(3));
    let found: Vec<(u64, u32, u32, Option<u64>)> = std::iter::from_fn(|| batch.next())
        .map(|next| (next.at, next.program.processors, next.program.limits.min, next.estimate_ns))
        .collect();
    assert_eq!(found, [(0, 2, 2, Some(1000)), (200, 16, 16, Some(50)), (400, 1, 1, Some(7))]);
}

/// Run time of an arrival on `n` processors, by its curve.
fn run_on(arrival: &Arrival, n: u32) -> f64 {
    let Body::Curve { stretches, curve, .. } = &arrival.program.body else { panic!("no curve") };
    stretches.iter().map(Stretch::mean_work).sum::<f64>() / curve.speedup(n)
}

#[test]
fn malleable_jobs_keep_the_logs_point() {
    let jobs: Vec<BatchJob> = (0..300).map(|n| job(n, (n % 16) as u32 + 1, 1_000_000 + 1000 * n)).collect();
    let turns = [
        Turn::Rigid,
        Turn::Downey { average: Dist::LogNormal(1.0, 0.5), sigma: Dist::Uniform(0.0, 2.0) },
        Turn::Sevcik {
            imbalance: Dist::Uniform(1.0, 1.2),
            serial: Dist::Uniform(0.0, 0.05),
            overhead: Dist::Uniform(0.0, 0.001),
        },
    ];
    for turn in turns {
        let mut batch = Batch::new(Box::new(jobs.clone().into_iter()), fit(turn.clone()), 3, None);
        let mut curves = Vec::new();
        for original in &jobs {
            let arrival = batch.next().unwrap();
            let Demand::Rigid { size, run_ns } = original.demand else { panic!() };
            let found = run_on(&arrival, size);
            assert!((found / run_ns as f64 - 1.0).abs() < 1e-5, "{turn:?}: {found}, not {run_ns} on {size}");
            assert!((size..=16).contains(&arrival.program.processors));
            let Body::Curve { curve, .. } = &arrival.program.body else { panic!() };
            curves.push(curve.clone());
        }
        if turn == Turn::Rigid {
            assert_eq!(curves[3], Curve::Rigid(4));
        } else {
            assert_ne!(curves[0], curves[16], "{turn:?}: jobs of one size draw curves of their own");
        }
    }
}
