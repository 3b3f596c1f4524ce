//! Bus-transaction rates from their source to the engine: whatever is said, only sensible numbers
//! arrive, and only while the policy wants them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use numaestro_abi::control::{Options, Reply, Request, RungStatus};
use numaestro_abi::page::flag;
use numaestro_skip::skip;
use numaestro_topology::CpuSet;

use crate::stage::{Client, Stage, check_journal, turn, wait_for};
use crate::turns::crowd;

/// A manager that believes the rates in a file, with a journal beside it.
struct Told {
    root: tempfile::TempDir,
    stage: Stage,
}

impl Told {
    fn new(policy: &str, first: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("rates"), format!("{first}\n")).unwrap();
        let quoted = |name: &str| format!("{:?}", root.path().join(name).display().to_string());
        let config = format!(
            "unmanaged = false\npolicy = {policy:?}\ninject_rates = {}\njournal = {}\njournal_observations = true\n",
            quoted("rates"),
            quoted("journal")
        );
        let stage = Stage::new(&config);
        Self { root, stage }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn say(&self, line: &str) {
        let mut file = std::fs::File::options().append(true).open(self.path("rates")).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    /// The rates in the journal's events, as they stand there.
    fn told(&self) -> Vec<serde_json::Value> {
        self.events("bandwidth").into_iter().map(|event| event["rates"].clone()).collect()
    }

    fn saturations(&self) -> Vec<u64> {
        self.events("saturation").iter().filter_map(|event| event["rate"].as_u64()).collect()
    }

    /// The journal's lines with an event.
    fn lines(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.path("journal")).unwrap();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        lines.filter(|line| line.get("event").is_some()).collect()
    }

    /// The journal's events of one kind.
    fn events(&self, what: &str) -> Vec<serde_json::Value> {
        self.lines().into_iter().map(|line| line["event"].clone()).filter(|event| event["what"] == what).collect()
    }

    fn rung(&self, name: &str) -> Option<RungStatus> {
        self.stage.status().bandwidth?.rungs.into_iter().find(|rung| rung.name == name)
    }
}

const BUS: &str = r#"{"bus":0,"saturation":5000}"#;

#[test]
fn what_is_said_arrives_and_nonsense_does_not() {
    let told = Told::new("b2arr", BUS);
    let mut client = told.stage.client();
    let app = client.hello(2);
    client.say("adopted");
    told.say(&format!(r#"{{"app":{app},"rates":[1234.4,7]}}"#));
    let rates = wait_for("the rates", || told.told().into_iter().find(|rates| rates[0] == 1234));
    assert_eq!(rates, serde_json::json!([1234, 7]));
    assert_eq!(told.saturations().first(), Some(&5000));
    let seen = told.stage.app(app).unwrap().btr.unwrap();
    assert_eq!((seen.rates, seen.rung.as_str(), seen.error_permille), (vec![Some(1234), Some(7)], "injected", Some(0)));
    for bad in [r#"["NaN",-1]"#, r#"["inf",1e300]"#] {
        told.say(&format!(r#"{{"app":{app},"rates":{bad}}}"#));
        let before = told.stage.status().bandwidth.unwrap().dropped;
        wait_for("what is dropped", || (told.stage.status().bandwidth?.dropped > before + 1).then_some(()));
    }
    // After its time the last good rate is no longer said either: rates come no more, and none that
    // came was another number.
    wait_for("the end of the last good rates", || {
        told.stage.app(app)?.btr.filter(|seen| seen.rates == [None, None]).map(|_| ())
    });
    let all = told.told();
    assert!(all.iter().all(|rates| *rates == serde_json::json!([1234, 7])), "{all:?}");
    check_journal(&told.path("journal"));
}

#[test]
fn a_source_that_vanishes_is_followed_by_the_next_one_and_it_is_said_once() {
    let told = Told::new("b2arr", BUS);
    let mut client = told.stage.client();
    let wish = Options { btr: Some(777), name: "declares".to_owned(), ..Options::default() };
    let Reply::Run { app, .. } = client.run(&wish) else { panic!("not started") };
    client.say("spin");
    told.say(r#"{"name":"declares","rates":[50]}"#);
    wait_for("the injected rate", || told.told().iter().any(|rates| rates[0] == 50).then_some(()));
    told.say(r#"{"end":true}"#);
    let gone = wait_for("its end", || told.rung("injected").filter(|rung| !rung.lacking.is_empty()));
    assert!(gone.lacking.contains("ends"), "{gone:?}");
    // Where counters work, they come before what the user says.
    let next = wait_for("the next rung", || {
        told.stage.app(app)?.btr.filter(|seen| seen.rung != "injected" && seen.rung != "held")
    });
    if told.rung("perf").is_none_or(|rung| !rung.lacking.is_empty())
        && told.rung("resctrl").is_none_or(|rung| !rung.lacking.is_empty())
    {
        assert_eq!(next.rung, "declared");
        // Which of its two threads spins is its own affair.
        let declared =
            |rates: &serde_json::Value| rates.as_array().is_some_and(|rates| rates.iter().any(|rate| *rate == 777));
        wait_for("the declared rate", || told.told().iter().any(declared).then_some(()));
    } else {
        assert!(["perf", "resctrl"].contains(&next.rung.as_str()), "{next:?}");
    }
    assert_eq!(told.stage.log().matches("injected tells no rates any more").count(), 1);
}

/// Reading the threads of a program is most of the cost of a sample, and most programs are stopped.
#[test]
fn only_programs_that_ran_in_the_turn_are_sampled() {
    const TURNS: usize = 20;
    let told = Told::new("share=dss turns=b2arr(quantum=20ms)", BUS);
    // Every sample of one gives a rate, and with it an event.
    told.say(r#"{"name":"sh","rates":[50]}"#);
    let _busy = crowd(&told.stage, 6);
    wait_for("some turns", || (told.told().len() > 4 * TURNS).then_some(()));
    let (mut stopped, mut sampled, mut spared) = (BTreeSet::new(), 0, 0);
    for line in told.lines() {
        let event = &line["event"];
        match event["what"].as_str() {
            Some("bandwidth") => {
                assert!(!stopped.contains(&event["app"].as_u64()), "sampled although it was stopped: {line}");
                sampled += 1;
            }
            Some("timer") => spared += stopped.len(),
            Some("unstoppable") => {
                stopped.remove(&event["app"].as_u64());
            }
            _ => {}
        }
        for action in line["actions"].as_array().into_iter().flatten() {
            match action["do"].as_str() {
                Some("stop") => {
                    stopped.insert(action["app"].as_u64());
                }
                Some("continue") => {
                    stopped.remove(&action["app"].as_u64());
                }
                _ => {}
            }
        }
    }
    if told.events("unstoppable").len() >= 6 {
        skip!("the system does not let us stop programs");
    }
    assert!(sampled > 4 * TURNS && spared > TURNS, "{sampled} samples; stopped at ends of turns: {spared}");
}

#[test]
fn nothing_is_sensed_unless_the_policy_wants_it() {
    let told = Told::new("equi", BUS);
    let mut client = told.stage.client();
    let app = client.hello(2);
    client.say("adopted");
    told.say(&format!(r#"{{"app":{app},"rates":[9]}}"#));
    assert_eq!(told.stage.status().bandwidth, None);
    let set = |policy: &str| {
        let reply = told.stage.connect().ask(&Request::PolicySet { policy: policy.to_owned() }).unwrap();
        assert_eq!(reply, Reply::Done, "{policy}");
    };
    assert!(told.told().is_empty() && told.saturations().is_empty());
    set("b2arr");
    wait_for("the rates", || (!told.told().is_empty()).then_some(()));
    assert_eq!(told.saturations().first(), Some(&5000));
    set("equi");
    wait_for("the end of sensing", || told.stage.status().bandwidth.is_none().then_some(()));
    let count = told.told().len();
    client.say("request 1");
    assert_eq!(told.told().len(), count);
}

#[test]
fn what_the_machine_carries_is_measured_where_nobody_says_it() {
    let _turn = turn();
    let told = Told::new("b2arr", "");
    let mut client = told.stage.client();
    client.hello(2);
    client.say("adopted");
    let status = told.stage.status();
    let (bus, usable): (CpuSet, CpuSet) =
        (status.bandwidth.unwrap().buses[0].cpus.parse().unwrap(), status.cpus.parse().unwrap());
    assert!(!bus.is_empty() && bus.iter().all(|cpu| usable.contains(cpu)));
    // It is tried again and again; only a machine that is never undisturbed for some milliseconds
    // is never measured.
    let measured = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        Some(told.stage.status().bandwidth?.buses[0].saturation).filter(|rate| *rate > 0)
    });
    let Some(rate) = measured else { skip!("this machine is never undisturbed") };
    assert!(told.saturations().contains(&u64::from(rate)), "{:?}", told.saturations());
}

#[test]
fn a_program_is_asked_for_its_pace_while_nothing_counts_what_it_moves() {
    let stage = Stage::new("unmanaged = false\npolicy = \"equi\"\n");
    let mut client = stage.client();
    let app = client.hello(2);
    client.say("adopted");
    let asked = |client: &mut Client| client.page()[2] & flag::MEASURE != 0;
    assert!(!asked(&mut client));
    let set = |policy: &str| {
        let reply = stage.connect().ask(&Request::PolicySet { policy: policy.to_owned() }).unwrap();
        assert_eq!(reply, Reply::Done, "{policy}");
    };
    set("b2arr");
    let counts = |rung: &RungStatus| ["perf", "resctrl"].contains(&rung.name.as_str()) && rung.lacking.is_empty();
    let counted = stage.status().bandwidth.unwrap().rungs.iter().any(counts);
    assert_eq!(asked(&mut client), !counted);
    set("equi");
    assert!(!asked(&mut client));
    // Being asked is a new decision for the program; that it says so is believed as ever.
    stage.adopts(&mut client, app);
    assert_eq!(client.page()[0], stage.app(app).unwrap().epoch[0]);
}
