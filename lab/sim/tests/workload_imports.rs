//! ElastiSim's jobs and rt-app's task sets as programs, and what is said of those that cannot be.

use numaestro_sim::dist::Dist;
use numaestro_sim::program::{Body, Phase, Work};
use numaestro_sim::read::Text;
use numaestro_sim::workload::Arrival;
use numaestro_sim::workload::elastisim::{self, Platform};
use numaestro_sim::workload::rtapp::{self, TaskSet};

const PLATFORM: Platform = Platform { flops: 1e9, network: Some(1e9), pfs: Some(1e10), burst_buffer: None };

const MODEL: &str = r#"{
  "on_init": { "tasks": [{ "type": "pfs_read", "bytes": "model_size", "pattern": "all_ranks" }] },
  "on_expansion": { "tasks": [] },
  "phases": [
    { "iterations": "iterations", "final_scheduling_point": false, "tasks": [
      { "type": "cpu", "flops": "flops/num_nodes^0.8", "computation_pattern": "uniform",
        "bytes": 1e9, "communication_pattern": "all_to_all", "coupled": true },
      { "type": "sequence", "iterations": 3, "tasks": [{ "type": "busy_wait", "delay": 2, "pattern": "uniform" }] }
    ] }
  ]
}"#;

fn jobs(kind: &str) -> String {
    format!(
        "{{ \"jobs\": [\n{{ \"type\": {kind}, \"submit_time\": 60, \"walltime\": 900,\n  \"application_model\": \"m.json\",\n  \
         \"arguments\": {{ \"iterations\": 5, \"flops\": 16e9, \"model_size\": 2e10 }} }}\n] }}"
    )
}

fn elastisim(jobs: &str, model: &str) -> Result<(Vec<Arrival>, Vec<String>), String> {
    let mut notes = Vec::new();
    let arrivals = elastisim::read(Text::new("j.json", jobs), PLATFORM, &mut |_| Ok(model.to_owned()), &mut notes);
    Ok((arrivals.map_err(|mistake| mistake.to_string())?, notes))
}

fn phases_of(arrival: &Arrival) -> &[Phase] {
    let Body::Phases(phases) = &arrival.program.body else { panic!("no phases") };
    phases
}

#[test]
fn a_malleable_job() {
    let (arrivals, notes) =
        elastisim(&jobs("\"malleable\", \"num_nodes_min\": 2, \"num_nodes_max\": 16"), MODEL).unwrap();
    let job = &arrivals[0];
    assert_eq!((job.at, job.estimate_ns), (60_000_000_000, Some(900_000_000_000)));
    assert_eq!((job.program.processors, job.program.limits.min), (16, 2));
    let [Phase::Pause { time }, Phase::Repeat { times: 5, phases }] = phases_of(job) else { panic!("{job:?}") };
    assert_eq!(*time, Dist::Constant(2e9), "2e10 bytes at 1e10 a second");
    let [Phase::Parallel { work: Work::Divided(Dist::Constant(work), _), curve: Some(curve), width: 16, .. }, waits] =
        &phases[..]
    else {
        panic!("{phases:?}")
    };
    // 16 Gflop / n^0.8 on each node at 1 Gflop a second; the communication of 1 GB / n hides behind
    // it.
    for n in [2u32, 3, 8, 16] {
        let expected = 16e9 / f64::from(n).powf(0.8);
        let found = work / curve.speedup(n);
        assert!((found / expected - 1.0).abs() < 1e-9, "on {n}: {found}, not {expected}");
    }
    let Phase::Repeat { times: 3, phases } = waits else { panic!("{waits:?}") };
    assert!(
        matches!(&phases[..], [Phase::Parallel { work: Work::Each(Dist::Constant(each)), curve: None, .. }] if each.total_cmp(&2e9).is_eq())
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains("`on_expansion` is not done") && notes[1].contains("`final_scheduling_point`"),
        "{notes:?}"
    );
}

#[test]
fn rigid_and_other_jobs() {
    let (arrivals, _) = elastisim(&jobs("\"rigid\", \"num_nodes\": 4"), MODEL).unwrap();
    assert_eq!((arrivals[0].program.processors, arrivals[0].program.limits.min), (4, 4));
    let Phase::Repeat { phases, .. } = &phases_of(&arrivals[0])[1] else { panic!() };
    let Phase::Parallel { work: Work::Each(Dist::Constant(each)), curve: None, .. } = &phases[0] else {
        panic!("{phases:?}")
    };
    assert!((each / (16e9 / 4f64.powf(0.8)) - 1.0).abs() < 1e-9);
    let size = "\"num_nodes_min\": 2, \"num_nodes_max\": 4";
    let (_, notes) = elastisim(&jobs(&format!("\"moldable\", {size}")), MODEL).unwrap();
    assert!(notes.iter().any(|note| note.contains("moldable jobs may change")), "{notes:?}");
    for kind in ["evolving", "adaptive"] {
        let model = MODEL.replacen("\"iterations\": \"iterations\"", "\"evolving_request\": \"num_nodes_min + 1\"", 1);
        let (arrivals, _) = elastisim(&jobs(&format!("\"{kind}\", {size}")), &model).unwrap();
        assert_eq!(arrivals[0].program.limits.min, 2);
        let request = |phase: &Phase| matches!(phase, Phase::Request { processors: 3 });
        assert!(phases_of(&arrivals[0]).iter().any(request), "{:?}", phases_of(&arrivals[0]));
    }
    let total = MODEL.replace("\"uniform\",\n", "\"total\",\n").replace("/num_nodes^0.8", "");
    let (arrivals, _) = elastisim(&jobs(&format!("\"malleable\", {size}")), &total).unwrap();
    let Phase::Repeat { phases, .. } = &phases_of(&arrivals[0])[1] else { panic!() };
    assert!(
        matches!(&phases[0], Phase::Parallel { work: Work::Divided(Dist::Constant(work), _), curve: None, .. } if (*work - 16e9).abs() < 1.0)
    );
}

#[test]
fn what_elastisim_files_get_wrong() {
    let rigid = jobs("\"rigid\", \"num_nodes\": 4");
    let job = |change: (&str, &str)| elastisim(&rigid.replacen(change.0, change.1, 1), MODEL).unwrap_err();
    assert_eq!(job(("\"num_nodes\": 4,", "")), "j.json:2: jobs[0]: `num_nodes` is missing: the nodes of a rigid job");
    assert!(job(("\"rigid\"", "\"stiff\"")).starts_with("j.json:2: jobs[0].type: expected \"rigid\" or \"moldable\""));
    assert!(job(("\"walltime\"", "\"waltime\"")).starts_with("j.json:2: jobs[0].waltime: unknown field"));
    assert!(job(("5,", "\"five\",")).starts_with("j.json:4: jobs[0].arguments.iterations: expected a number"));
    assert!(
        job(("\"iterations\"", "\"iters\""))
            .contains("m.json:5: phases[0].iterations: in the formula \"iterations\": nothing is called `iterations`")
    );
    let model = |change: (&str, &str)| elastisim(&rigid, &MODEL.replacen(change.0, change.1, 1)).unwrap_err();
    assert!(model(("num_nodes^0.8", "max(2, 3)")).starts_with("m.json:6: phases[0].tasks[0].flops: in the formula"));
    assert!(model(("\"cpu\"", "\"gpu\"")).contains("accelerators are not modelled"));
    assert!(model(("\"pfs_read\"", "\"bb_read\"")).contains("workload.burst_buffer, bytes a second"));
    assert!(model(("all_to_all", "matrix")).contains("expected \"all_to_all\" or \"ring\""));
    assert!(model(("\"delay\": 2", "\"delay\": [2, 3]")).contains("explicit vectors are not modelled"));
    assert!(model(("flops/num_nodes^0.8", "0 - flops")).contains("which is no time"));
    assert!(model(("\"phases\"", "\"phase\"")).contains("`phases` is missing"));
}

fn rt_app(text: &str) -> Result<(TaskSet, Vec<String>), String> {
    let mut notes = Vec::new();
    let set = rtapp::read(Text::new("t.json", text), &mut notes).map_err(|mistake| mistake.to_string())?;
    Ok((set, notes))
}

#[test]
fn threads_alone_and_teams() {
    let (set, notes) = rt_app(
        "{ \"tasks\": {\n\
         /* two of these */ \"periodic\": { \"instance\": 2, \"loop\": -1, \"priority\": -6, \"delay\": 50,\n  \
         \"run\": 3000, \"sleep\": 500, \"run\": 1000, \"timer\": { \"ref\": \"unique\", \"period\": 10000 } },\n\
         \"team\": { \"instance\": 4, \"loop\": 10, \"phases\": {\n  \
         \"a\": { \"loop\": 7, \"run0\": 200, \"barrier0\": \"B\" },\n  \"b\": { \"lock\": \"m\", \"run\": 5, \"unlock\": \"m\", \"barrier\": \"C\" } } },\n\
         }, \"global\": { \"duration\": 6, \"gnuplot\": false, } }",
    )
    .unwrap();
    assert_eq!((set.duration, set.endless), (Some(6_000_000_000), true));
    let names: Vec<&str> = set.arrivals.iter().map(|arrival| arrival.program.name.as_str()).collect();
    assert_eq!(names, ["periodic-0", "periodic-1", "team"]);
    assert_eq!((set.arrivals[0].at, set.arrivals[0].program.processors), (50_000, 1));
    let serial = |us: f64| Phase::Serial { work: Dist::Constant(us * 1e3), refs: vec![] };
    let pause = |us: f64| Phase::Pause { time: Dist::Constant(us * 1e3) };
    let inner = vec![serial(3000.0), pause(500.0), serial(1000.0), pause(5500.0)];
    assert_eq!(phases_of(&set.arrivals[0]), [Phase::Repeat { times: u32::MAX, phases: inner }]);
    assert_eq!(set.arrivals[2].program.processors, 4);
    let [Phase::Repeat { times: 10, phases }] = phases_of(&set.arrivals[2]) else { panic!("{:?}", set.arrivals[2]) };
    assert!(
        matches!(&phases[0], Phase::Parallel { width: 4, iterations: 7, work: Work::Each(Dist::Constant(ns)), locked: None, .. } if ns.total_cmp(&200e3).is_eq())
    );
    assert!(
        matches!(&phases[1], Phase::Parallel { iterations: 1, locked: Some(Dist::Constant(ns)), .. } if ns.total_cmp(&5e3).is_eq())
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("`priority` is not used") && notes[1].contains("timer"), "{notes:?}");
}

#[test]
fn what_task_sets_get_wrong_or_cannot_be() {
    let task = |body: &str| {
        rt_app(&format!("{{ \"tasks\": {{\n\"a\": {{ {body} }},\n\"b\": {{ \"run\": 1, \"lock\": \"shared\" }} }} }}"))
            .unwrap_err()
    };
    assert_eq!(
        task("\"suspend\": \"b\""),
        "t.json:2: tasks.a.suspend: `suspend`: tasks that wait for each other are not modelled"
    );
    assert!(task("\"mem\": 5").starts_with("t.json:2: tasks.a.mem: `mem` is not known"));
    assert!(task("\"lock\": \"shared\"").contains("t.json:3: tasks.b.lock: \"shared\" is shared with the task `a`"));
    assert!(task("\"instance\": 2, \"run\": 1, \"lock\": \"m\"").contains("without a barrier"));
    assert!(task("\"run\": -3").contains("expected a whole number, at least 0"));
    assert!(task("\"timer\": { \"ref\": \"x\" }").contains("`period` is missing"));
    assert_eq!(rt_app("{}").unwrap_err(), "t.json:1: `tasks` is missing: the threads by name");
    let (set, notes) = rt_app("{ \"tasks\": { \"none\": { \"instance\": 0, \"run\": 1, \"loop\": 1 } } }").unwrap();
    assert!(set.arrivals.is_empty() && notes[0].contains("`none` does nothing"), "{notes:?}");
}
