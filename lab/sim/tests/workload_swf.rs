//! Logs in the Standard Workload Format: what is read, what is left out, what is written; and real
//! logs, where there are some.
//!
//! The environment variable `NUMAESTRO_WORKLOADS` names a folder of logs for the last two tests;
//! without it they say so and pass.

use numaestro_sim::read::Text;
use numaestro_sim::workload::batch::{Demand, Estimates, Fit, Turn, offered};
use numaestro_sim::workload::swf::{Log, Record, Skipped};
use proptest::prelude::*;
use std::path::PathBuf;
use std::process::Command;

fn read(text: &str) -> Log {
    Log::read(Text::new("a.swf", text)).unwrap_or_else(|mistake| panic!("{mistake}"))
}

const SMALL: &str = "\
; Version: 2.2
; MaxNodes: 64
;   MaxProcs: 128
; Note: a log : made by hand

  4  100.5   -1   60   32 1.25  -1  -1  3600 -1  1  7  1 -1 0 -1 -1 -1
    1   10    5   30    -1  -1  -1  16   -1 -1  1  1  1 -1 0 -1 -1 -1
    2   20    5   30     8  -1  -1   8   -1 -1  0  1  1 -1 0 -1 -1 -1
    3   30    5   30     8  -1  -1   8   -1 -1  3  1  1 -1 0 -1 -1 -1
    5   30    5   -1     8  -1  -1   8   -1 -1  5  1  1 -1 0 -1 -1 -1
    6   30    5    0     8  -1  -1   8   -1 -1  1  1  1 -1 0 -1 -1 -1
    7   30    5    9     0  -1  -1  -1   -1 -1  1  1  1 -1 0 -1 -1 -1 {1,2} 1:ppn=8
";

#[test]
fn header_and_jobs() {
    let log = read(SMALL);
    assert_eq!(log.header.len(), 4);
    assert_eq!(
        (log.header("Version"), log.header("Note"), log.header("None")),
        (Some("2.2"), Some("a log : made by hand"), None)
    );
    assert_eq!((log.records.len(), log.processors()), (7, 128));
    let (jobs, skipped) = log.jobs();
    assert_eq!(skipped, Skipped { failed: 1, partial: 1, no_time: 2, no_size: 1 });
    // In order of submission, from the first one on.
    assert_eq!(jobs.len(), 2);
    assert_eq!((jobs[0].submit, jobs[1].submit), (0, 90_500_000_000));
    assert_eq!(jobs[0].demand, Demand::Rigid { size: 16, run_ns: 30_000_000_000 });
    assert_eq!((jobs[0].estimate_ns, jobs[1].estimate_ns), (None, Some(3_600_000_000_000)));
}

#[test]
fn without_a_header_the_machine_is_as_large_as_its_largest_job() {
    let text: Vec<&str> = SMALL.lines().filter(|line| !line.starts_with(';')).collect();
    let text = text.join("\n");
    assert_eq!(read(&text).processors(), 32);
    assert_eq!(read("").processors(), 1);
}

#[test]
fn mistakes_have_lines() {
    let problem = |text: &str| Log::read(Text::new("a.swf", text)).unwrap_err().to_string();
    assert_eq!(problem("; x\n\n1 2 3\n"), "a.swf:3: run time: expected 18 numbers, found 3");
    let line = "1 10 5 30 -1 -1 -1 16 -1 -1 1 1 1 -1 0 -1 -1";
    assert_eq!(problem(line), "a.swf:1: think time: expected 18 numbers, found 17");
    assert_eq!(problem("1 10 5 3O"), "a.swf:1: run time: expected a number, found \"3O\"");
    assert_eq!(problem("1 10 5 -"), "a.swf:1: run time: expected a number, found \"-\"");
    assert_eq!(problem("1 1.2.3"), "a.swf:1: submit time: expected a number, found \"1.2.3\"");
    assert_eq!(
        problem("99999999999999999999999"),
        "a.swf:1: job number: expected a number, found \"99999999999999999999999\""
    );
}

/// Cut off, they would be the times and sizes of other jobs.
#[test]
fn times_beyond_the_clock_and_sizes_beyond_any_machine_are_mistakes() {
    let problem = |line: &str| Log::read(Text::new("a.swf", line)).unwrap_err().to_string();
    let rest = "-1 -1 -1 -1 1 1 1 -1 0 -1 -1 -1";
    let late = "expected less than 2305843009 seconds, where the clock ends";
    for time in ["2305843009.3", "4611686018427387904", "18446744073709551615"] {
        assert_eq!(problem(&format!("1 {time} -1 10 2 -1 {rest}")), format!("a.swf:1: submit time: {late}"));
        assert_eq!(problem(&format!("1 0 -1 {time} 2 -1 {rest}")), format!("a.swf:1: run time: {late}"));
        assert_eq!(problem(&format!("1 0 -1 10 2 -1 -1 -1 {time}")), format!("a.swf:1: requested time: {late}"));
    }
    let many = "expected at most 4294967295 processors, found 4294967296";
    assert_eq!(problem(&format!("1 0 -1 10 4294967296 -1 {rest}")), format!("a.swf:1: allocated processors: {many}"));
    assert_eq!(problem("1 0 -1 10 -1 -1 -1 4294967296"), format!("a.swf:1: requested processors: {many}"));
    // The last that can be, and unknown ones.
    let log = read(&format!("1 2305843009 -9 10 4294967295 -99999999999 {rest}"));
    let (job, [wait, cpu]) = (&log.records[0], [log.records[0].wait, log.records[0].cpu]);
    assert_eq!((job.submit, wait, job.size(), cpu), (Some(2_305_843_009_000_000_000), None, Some(u32::MAX), None));
}

fn field() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (0u64..1 << 32).prop_map(Some)]
}

fn time() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (0u64..1 << 30).prop_map(|s| Some(s * 1_000_000_000)), (0u64..1 << 60).prop_map(Some)]
}

prop_compose! {
    fn record()(
        times in (time(), time(), time(), time(), time()),
        fields in (field(), field(), field(), field(), field(), field()),
        rest in [field(), field(), field(), field(), field(), field(), field()],
    ) -> Record {
        let (submit, wait, run, cpu, requested_run) = times;
        let (number, allocated, memory, requested, requested_memory, status) = fields;
        Record { number, submit, wait, run, allocated, cpu, memory, requested, requested_run, requested_memory, status, rest }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(records in prop::collection::vec(record(), 0..20), header in prop::collection::vec("[A-Za-z][A-Za-z: ]{0,20}[a-z]", 0..4)) {
        let log = Log { header, records };
        prop_assert_eq!(read(&log.write()), log);
    }

    #[test]
    fn no_text_makes_it_fail_otherwise_than_with_a_mistake(text in "[ 0-9.;x\n-]{0,200}") {
        let _ = Log::read(Text::new("a.swf", &text));
    }
}

/// The text of a log of the folder, unpacked by `gzip`.
fn real(name: &str) -> String {
    let folder = std::env::var_os("NUMAESTRO_WORKLOADS").expect("NUMAESTRO_WORKLOADS names the folder of the logs");
    let path = PathBuf::from(folder).join(name);
    let output = Command::new("gzip").arg("-dc").arg(&path).output().expect("gzip");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a text")
}

#[test]
#[ignore = "needs the logs of the Parallel Workloads Archive in $NUMAESTRO_WORKLOADS"]
fn the_nasa_log() {
    let log = read(&real("NASA-iPSC-1993-3.1-cln.swf.gz"));
    let (jobs, skipped) = log.jobs();
    assert_eq!((log.records.len(), log.processors()), (18_239, 128));
    // Jobs of less than half a second.
    assert_eq!(skipped, Skipped { no_time: 173, ..Skipped::default() });
    assert_eq!(jobs.len(), 18_239 - 173);
    let fit = Fit { pus: 128, sizes: 1.0, intervals: 1.0, turn: Turn::Rigid, estimates: Estimates::Log };
    let load = offered(jobs.into_iter(), &fit);
    assert!((load - 0.47).abs() < 0.005, "offered load {load}");
    assert_eq!(read(&log.write()), log);
}

#[test]
#[ignore = "needs the logs of the Parallel Workloads Archive in $NUMAESTRO_WORKLOADS"]
fn the_sdsc_log() {
    let log = read(&real("SDSC-SP2-1998-first5k.swf.gz"));
    let (jobs, skipped) = log.jobs();
    assert_eq!(
        log.records.len(),
        jobs.len() + (skipped.failed + skipped.partial + skipped.no_time + skipped.no_size) as usize
    );
    assert!(!jobs.is_empty() && jobs.iter().all(|job| job.estimate_ns.is_some()), "this log has estimates");
    assert_eq!(read(&log.write()), log);
}

#[test]
#[ignore = "needs the logs of the Parallel Workloads Archive in $NUMAESTRO_WORKLOADS"]
fn the_cerit_log() {
    assert_eq!(read(&real("CERIT-wagap-2013.swf.gz")).records.len(), 17_900);
}
