//! Asks the rungs in order. Each application's rates come from the best source that can tell them;
//! a source that can tell no application's rates any more is never asked again. Each change is said
//! once, in words.

use std::collections::BTreeSet;
use std::path::Path;

use super::declared::Declared;
use super::estimate::Estimate;
use super::injected::Injected;
use super::keep::{self, Kept};
use super::perf::Perf;
use super::resctrl::Resctrl;
use super::{Moment, Outcome, Rung, Source, Subject};

/// Most transactions per millisecond of a whole bus that are believed: 64 TB/s.
const SATURATION_MAX: u32 = 1_000_000_000;

/// One rung as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The rung.
    pub rung: Rung,
    /// The reason why it is not there (any more); empty if it is.
    pub lacking: String,
}

/// The rates of one application.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sample {
    /// By virtual processor, transactions per millisecond; `None`: it has not run, or is not known.
    pub rates: Vec<Option<u32>>,
    /// The rung that gave them; `None`: no source can tell, and `rates` are the last good ones as
    /// long as they hold.
    pub rung: Option<Rung>,
}

#[derive(Debug)]
struct Step {
    source: Result<Box<dyn Source>, String>,
    rung: Rung,
    /// Applications it could not tell for; each is said once.
    told: BTreeSet<u64>,
}

/// See the file's header.
#[derive(Debug, Default)]
pub struct Ladder {
    steps: Vec<Step>,
    kept: Kept,
    news: Vec<String>,
}

impl Ladder {
    /// The rungs of this machine. `root` is `/` or a recorded tree; `injected` is a file or pipe of
    /// rates, which is then believed before everything.
    pub fn open(root: &Path, injected: Option<&Path>) -> Self {
        let mut ladder = Self::default();
        if let Some(path) = injected {
            let opened = Injected::open(path).map(boxed).map_err(|cause| cause.to_string());
            ladder.push(Rung::Injected, opened);
        }
        ladder.push(Rung::Perf, Perf::here().map(boxed));
        ladder.push(Rung::Resctrl, Resctrl::open(root).map(boxed));
        ladder.push(Rung::Declared, Ok(boxed(Declared)));
        ladder.push(Rung::Estimate, Ok(boxed(Estimate::default())));
        ladder
    }

    /// Adds a rung below the present ones: a source, or the reason why there is none.
    pub fn push(&mut self, rung: Rung, source: Result<Box<dyn Source>, String>) {
        self.steps.push(Step { source, rung, told: BTreeSet::new() });
    }

    /// Every rung, from the best to the poorest.
    pub fn states(&self) -> Vec<State> {
        let state =
            |step: &Step| State { rung: step.rung, lacking: step.source.as_ref().err().cloned().unwrap_or_default() };
        self.steps.iter().map(state).collect()
    }

    /// The best rung that is there.
    pub fn best(&self) -> Option<Rung> {
        self.steps.iter().find(|step| step.source.is_ok()).map(|step| step.rung)
    }

    /// Rates of one application since it was asked last.
    pub fn sample(&mut self, subject: &Subject<'_>, moment: &Moment) -> Sample {
        for step in &mut self.steps {
            let Ok(source) = &mut step.source else { continue };
            match source.sample(subject, moment) {
                Outcome::Rates(raw) => {
                    step.told.remove(&subject.app);
                    let rates = self.kept.admit(subject.app, &raw, moment.now_ns);
                    return Sample { rates, rung: Some(step.rung) };
                }
                Outcome::Pending => return Sample { rates: Vec::new(), rung: Some(step.rung) },
                Outcome::Nothing(why) => {
                    // Usually nothing is said or guessed of a program. A program that is not
                    // counted where others are is worth a message.
                    if matches!(step.rung, Rung::Perf | Rung::Resctrl) && step.told.insert(subject.app) {
                        let (rung, app, name) = (step.rung.name(), subject.app, subject.name);
                        self.news.push(format!("{rung} cannot tell the rates of application {app} ({name}): {why}"));
                    }
                }
                Outcome::Gone(why) => {
                    self.news.push(format!("{} tells no rates any more: {why}", step.rung.name()));
                    step.source = Err(why);
                }
            }
        }
        let rates = self.kept.stand_in(subject.app, subject.threads.len(), moment.now_ns);
        Sample { rates, rung: None }
    }

    /// Saturation rates that a source has said since: `(bus, transactions per millisecond)`. Rates
    /// that cannot be true are dropped.
    pub fn saturations(&mut self) -> Vec<(u32, u32)> {
        let said =
            self.steps.iter_mut().filter_map(|step| step.source.as_mut().ok()).flat_map(|source| source.saturations());
        said.filter_map(|(bus, raw)| Some((bus, keep::sensible(raw, SATURATION_MAX).filter(|rate| *rate > 0)?)))
            .collect()
    }

    /// The changes since, a sentence each.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Raw rates that were not believed, so far.
    pub fn dropped(&self) -> u64 {
        self.kept.dropped()
    }

    /// An application has gone.
    pub fn forget(&mut self, app: u64) {
        self.kept.forget(app);
        for step in &mut self.steps {
            step.told.remove(&app);
            if let Ok(source) = &mut step.source {
                source.forget(app);
            }
        }
    }
}

fn boxed(source: impl Source + 'static) -> Box<dyn Source> {
    Box::new(source)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::super::{HOLD_NS, ThreadUse};
    use super::*;

    /// A source that gives the answers it was given.
    #[derive(Debug, Clone)]
    struct Says(Rung, Arc<Mutex<Outcome>>);

    impl Says {
        fn new(rung: Rung, outcome: Outcome) -> Self {
            Self(rung, Arc::new(Mutex::new(outcome)))
        }

        fn set(&self, outcome: Outcome) {
            *self.1.lock().unwrap() = outcome;
        }
    }

    impl Source for Says {
        fn rung(&self) -> Rung {
            self.0
        }

        fn sample(&mut self, _subject: &Subject<'_>, _moment: &Moment) -> Outcome {
            self.1.lock().unwrap().clone()
        }
    }

    fn sample(ladder: &mut Ladder, declared: Option<u32>, now_ns: u64) -> Sample {
        let threads = [Some(ThreadUse { tid: 1, used_ns: 50_000_000 })];
        let subject = Subject { app: 1, name: "cg", threads: &threads, declared, stretch_milli: 0 };
        ladder.sample(&subject, &Moment { now_ns, ..Moment::default() })
    }

    fn ladder(first: &Says) -> Ladder {
        let mut ladder = Ladder::default();
        ladder.push(first.rung(), Ok(boxed(first.clone())));
        ladder.push(Rung::Resctrl, Err("not mounted".to_owned()));
        ladder.push(Rung::Declared, Ok(boxed(Declared)));
        ladder
    }

    #[test]
    fn who_cannot_tell_passes_on_and_it_is_said_once() {
        let perf = Says::new(Rung::Perf, Outcome::Rates(vec![Some(10.0)]));
        let mut ladder = ladder(&perf);
        let of = |rate, rung| Sample { rates: vec![Some(rate)], rung: Some(rung) };
        assert_eq!(sample(&mut ladder, Some(77), 0), of(10, Rung::Perf));
        perf.set(Outcome::Nothing("EACCES".to_owned()));
        assert_eq!(sample(&mut ladder, Some(77), 1), of(77, Rung::Declared));
        assert_eq!(sample(&mut ladder, Some(77), 2), of(77, Rung::Declared));
        let news = ladder.news();
        assert!(news.len() == 1 && news[0].contains("perf") && news[0].contains("cg"), "{news:?}");
        perf.set(Outcome::Rates(vec![Some(11.0)]));
        assert_eq!(sample(&mut ladder, Some(77), 3), of(11, Rung::Perf), "it can again");
        perf.set(Outcome::Gone("stolen".to_owned()));
        assert_eq!(sample(&mut ladder, Some(77), 4), of(77, Rung::Declared));
        perf.set(Outcome::Rates(vec![Some(12.0)]));
        assert_eq!(sample(&mut ladder, Some(77), 5), of(77, Rung::Declared), "it is not asked again");
        assert_eq!(ladder.news(), ["perf tells no rates any more: stolen"]);
        assert_eq!(ladder.best(), Some(Rung::Declared));
        let lacking: Vec<String> = ladder.states().into_iter().map(|state| state.lacking).collect();
        assert_eq!(lacking, ["stolen", "not mounted", ""]);
    }

    #[test]
    fn where_nobody_can_tell_the_last_good_rate_holds_for_a_while() {
        let perf = Says::new(Rung::Perf, Outcome::Rates(vec![Some(10.0)]));
        let mut ladder = ladder(&perf);
        sample(&mut ladder, None, 0);
        perf.set(Outcome::Gone("vanished".to_owned()));
        assert_eq!(sample(&mut ladder, None, HOLD_NS), Sample { rates: vec![Some(10)], rung: None });
        assert_eq!(sample(&mut ladder, None, HOLD_NS + 1), Sample { rates: vec![None], rung: None });
    }

    #[test]
    fn a_beginning_is_waited_for() {
        let perf = Says::new(Rung::Perf, Outcome::Pending);
        assert_eq!(sample(&mut ladder(&perf), Some(77), 0).rates, [], "better none than a poorer one for one quantum");
    }

    #[test]
    fn injected_nonsense_does_not_get_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let say = |line: &str| {
            let mut writer = std::fs::OpenOptions::new().append(true).open(file.path()).unwrap();
            std::io::Write::write_all(&mut writer, format!("{line}\n").as_bytes()).unwrap();
        };
        let mut ladder = Ladder::open(Path::new("/nonexistent"), Some(file.path()));
        say(r#"{"name":"cg","rates":[1234.4]}"#);
        assert_eq!(sample(&mut ladder, None, 0), Sample { rates: vec![Some(1234)], rung: Some(Rung::Injected) });
        for bad in [r#""NaN""#, "-1", "1e30", r#""inf""#] {
            say(&format!(r#"{{"name":"cg","rates":[{bad}]}}"#));
            assert_eq!(sample(&mut ladder, None, 1).rates, [Some(1234)], "{bad}");
        }
        assert_eq!(ladder.dropped(), 4);
        assert_eq!(sample(&mut ladder, None, HOLD_NS + 1).rates, [None]);
        say(r#"{"bus":0,"saturation":-4}"#);
        say(r#"{"bus":1,"saturation":5000}"#);
        assert_eq!(ladder.saturations(), [(1, 5000)]);
        say(r#"{"end":true}"#);
        assert_ne!(sample(&mut ladder, Some(7), 2).rung, Some(Rung::Injected));
        assert!(ladder.states()[0].lacking.contains("ends"), "{:?}", ladder.states());
    }
}
