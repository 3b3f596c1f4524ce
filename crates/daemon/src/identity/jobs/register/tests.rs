//! Tests of the register of jobs.

use super::*;

fn begin(job: u32, step: &str) -> BeginStep {
    let step = step.to_owned();
    BeginStep { version: STEP_VERSION, job, step, uid: 1000, cpus: 4, policy: None, malleable: None }
}

fn process() -> PidFd {
    PidFd::open(std::process::id()).unwrap()
}

/// A process that ends with the test.
struct Other(std::process::Child);

impl Other {
    fn start() -> Self {
        Self(std::process::Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn process(&self) -> PidFd {
        PidFd::open(self.0.id()).unwrap()
    }

    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_job_is_here_until_its_last_step_has_ended() {
    let mut register = Register::default();
    let other = Other::start();
    let id = (1000, 7);
    let (batch, former) = register.begin(process(), begin(7, "batch")).unwrap();
    assert_eq!(former, None);
    let fewer = BeginStep { cpus: 2, policy: Some("equi".into()), ..begin(7, "0") };
    let (first, former) = register.begin(other.process(), fewer).unwrap();
    assert_eq!(former.unwrap().policy, None);
    assert_eq!((register.terms(id).unwrap().cpus, register.policy()), (4, Some((id, "equi"))));
    assert_eq!(register.steps(id).collect::<Vec<_>>(), ["batch", "0"]);
    assert_eq!(register.step_of(&[1, other.0.id()]), Some((id, "0")));
    assert_eq!(register.step_of(&[1]), None);
    assert!(register.end(first).is_none() && register.end(first).is_none() && !register.is_empty());
    assert_eq!(register.end(batch).map(|(id, _)| id), Some(id));
    assert!(register.is_empty() && register.terms(id).is_none() && register.policy().is_none());
}

#[test]
fn a_step_that_is_taken_back_leaves_its_job_as_it_was() {
    let mut register = Register::default();
    let (_, _) = register.begin(process(), BeginStep { policy: Some("dss".into()), ..begin(7, "batch") }).unwrap();
    let range = Malleable { min: 1, max: 2 };
    let next = BeginStep { policy: Some("equi".into()), malleable: Some(range), ..begin(7, "0") };
    let (number, former) = register.begin(process(), next).unwrap();
    register.take_back(number, former);
    let terms = register.terms((1000, 7)).unwrap();
    assert_eq!((terms.policy.as_deref(), terms.malleable), (Some("dss"), None));
    let (number, former) = register.begin(process(), begin(8, "0")).unwrap();
    register.take_back(number, former);
    assert!(register.terms((1000, 8)).is_none());
    // A minimum above the allocation changes nothing either.
    let above = BeginStep { malleable: Some(Malleable { min: 5, max: 8 }), ..begin(9, "0") };
    assert!(register.begin(process(), above).unwrap_err().reason.contains("more than the job was allocated: 4"));
    assert!(register.terms((1000, 9)).is_none());
}

#[test]
fn the_policy_of_a_job_counts_while_it_is_alone_and_nobody_chooses_another() {
    let mut register = Register::default();
    register.begin(process(), BeginStep { policy: Some("equi".into()), ..begin(7, "0") }).unwrap();
    let (second, _) = register.begin(process(), begin(8, "0")).unwrap();
    assert_eq!(register.policy(), None);
    register.end(second);
    assert_eq!(register.policy(), Some(((1000, 7), "equi")));
    register.overrule((1000, 7));
    assert_eq!(register.policy(), None);
}

#[test]
fn only_malleable_jobs_are_shrunk_and_only_within_their_range() {
    let mut register = Register::default();
    let id = (1000, 7);
    register.begin(process(), begin(7, "0")).unwrap();
    assert!(register.set_most(id, Some(2), true).unwrap_err().reason.contains("not malleable"));
    let range = Malleable { min: 2, max: 8 };
    register.begin(process(), BeginStep { malleable: Some(range), ..begin(7, "0") }).unwrap();
    let part = |register: &Register| register.part(id, 16).unwrap();
    assert_eq!(part(&register), Party { weight_milli: 4000, most: 8, reserved: 2 });
    for wrong in [1, 9] {
        assert!(register.set_most(id, Some(wrong), true).unwrap_err().reason.contains("2 to 8"));
    }
    register.set_most(id, Some(3), true).unwrap();
    assert_eq!(part(&register).most, 3);
    // Its user has no way around the administrator's limit: neither a limit nor another range.
    register.set_most(id, None, false).unwrap();
    let wider = BeginStep { malleable: Some(Malleable { min: 4, max: 8 }), ..begin(7, "1") };
    register.begin(process(), wider).unwrap();
    assert_eq!((part(&register).most, part(&register).reserved), (3, 3));
    register.set_most(id, None, true).unwrap();
    assert_eq!(part(&register).most, 8);
    assert!(register.set_most((1000, 9), None, true).is_err());
}

#[test]
fn no_job_keeps_more_from_others_than_its_own_part() {
    let mut register = Register::default();
    let range = Malleable { min: 4, max: 4 };
    register.begin(process(), BeginStep { malleable: Some(range), ..begin(7, "0") }).unwrap();
    assert_eq!(register.part((1000, 7), 4).unwrap().reserved, 4);
    register.begin(process(), begin(8, "0")).unwrap();
    assert_eq!(register.part((1000, 7), 4).unwrap().reserved, 2);
    assert_eq!(register.part((1000, 7), 8).unwrap().reserved, 4);
}

#[test]
fn a_next_manager_knows_the_steps_that_run_and_which_jobs_have_ended() {
    let mut register = Register::default();
    let mut other = Other::start();
    register.begin(process(), begin(7, "0")).unwrap();
    let (last, _) = register.begin(other.process(), begin(8, "0")).unwrap();
    let jobs: BTreeMap<JobId, Terms> = register.jobs().map(|(id, terms)| (id, terms.clone())).collect();
    let saved = serde_json::to_string(&register.saved()).unwrap();
    assert!(register.ended_below(other.0.id()).is_empty());
    other.end();
    assert_eq!(register.ended_below(other.0.id()), [last]);
    let mut next = Register::default();
    let ended = next.take_over(serde_json::from_str(&saved).unwrap(), jobs);
    assert_eq!(next.jobs().map(|(id, terms)| (id, terms.cpus)).collect::<Vec<_>>(), [((1000, 7), 4)]);
    assert_eq!(ended.into_keys().collect::<Vec<_>>(), [(1000, 8)]);
}

#[test]
fn mistakes_are_named() {
    assert!(mistake(&begin(1, "batch")).is_none());
    let range = |min, max| BeginStep { malleable: Some(Malleable { min, max }), ..begin(1, "0") };
    assert!(mistake(&range(1, 8)).is_none() && mistake(&range(4, 4)).is_none());
    for wrong in [range(0, 4), range(3, 2)] {
        assert!(mistake(&wrong).is_some_and(|objection| objection.reason.contains("malleable")));
    }
    let other = BeginStep { version: STEP_VERSION + 1, ..begin(1, "0") };
    assert!(mistake(&other).is_some_and(|objection| objection.reason.contains("version")));
    for wrong in [BeginStep { cpus: 0, ..begin(1, "0") }, begin(1, ""), begin(1, "a b")] {
        assert!(mistake(&wrong).is_some());
    }
}
