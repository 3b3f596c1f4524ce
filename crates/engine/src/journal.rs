//! The journal holds one JSON object a line, and enough to repeat every decision.
//!
//! The first line carries the machine, the settings, the seed and the version. Each further line
//! carries a time, an event and the actions that followed. [`Replay`] repeats the events: they must
//! give the same actions, byte for byte. Lines of observations may stand between them; only a shell
//! can play those.
//!
//! ```text
//! {"numaestro_journal":1,"machine":{"synthetic":"core:4 pu:1"},"policy":"","grace_ns":10000000,…,"seed":1}
//! {"at":1000,"event":{"what":"arrive","app":1,"request":4,…},"actions":[{"do":"start","app":1},{"do":"target","app":1,…}]}
//! ```

mod description;
mod picture;
mod state;
mod steps;

use crate::engine::Engine;
use crate::event::{Action, Event, Nanos};
use crate::settings::Settings;
use description::Description;
use numaestro_policy::{Bus, Needs, Party};
use numaestro_quantity::label::label;
use numaestro_topology::{Machine, PuSet};
pub use picture::Picture;
use serde::{Deserialize, Serialize};
pub use state::State;
use std::borrow::Cow;
use std::fmt;

/// Version of the format.
pub const VERSION: u32 = 1;

/// A line that cannot be read, or that cannot be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalError {
    /// The mistake, for people.
    pub problem: String,
}

impl JournalError {
    pub(crate) fn new(problem: impl fmt::Display) -> Self {
        Self { problem: problem.to_string() }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "journal: {}", self.problem)
    }
}

impl std::error::Error for JournalError {}

/// The fields of the first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // Five abilities of a host, and one setting.
struct Head {
    numaestro_journal: u32,
    machine: Description,
    policy: String,
    grace_ns: Nanos,
    reclaim_ns: Nanos,
    cooldown_ns: Nanos,
    recovery_ns: Nanos,
    reserved: PuSet,
    move_for_rounding: bool,
    positions: u32,
    host_requests: bool,
    host_speedup: bool,
    host_bandwidth: bool,
    host_page_control: bool,
    host_preemption: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buses: Vec<Bus>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parties: Vec<Party>,
    seed: u64,
}

/// The fields of every further line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    at: Nanos,
    /// The name that people give the application that arrives. The engine does not use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Cow<'a, str>>,
    event: Cow<'a, Event>,
    actions: Cow<'a, [Action]>,
}

impl Body<'static> {
    fn read(line: &str) -> Result<Self, JournalError> {
        serde_json::from_str(line).map_err(JournalError::new)
    }
}

/// The first line, without its newline.
pub fn encode_head(machine: &Machine, settings: &Settings, seed: u64) -> String {
    let head = Head {
        numaestro_journal: VERSION,
        machine: Description::of(machine),
        policy: settings.policy.clone(),
        grace_ns: settings.grace_ns,
        reclaim_ns: settings.reclaim_ns,
        cooldown_ns: settings.cooldown_ns,
        recovery_ns: settings.recovery_ns,
        reserved: settings.reserved.clone(),
        move_for_rounding: settings.move_for_rounding,
        positions: settings.positions,
        host_requests: settings.host.requests,
        host_speedup: settings.host.speedup,
        host_bandwidth: settings.host.bandwidth,
        host_page_control: settings.host.page_control,
        host_preemption: settings.host.preemption,
        buses: settings.buses.clone(),
        parties: settings.parties.clone(),
        seed,
    };
    text(&head)
}

/// Reads machine, settings and seed from the first line.
///
/// # Errors
/// The line has another version, or cannot be read.
pub fn decode_head(line: &str) -> Result<(Machine, Settings, u64), JournalError> {
    let head: Head = serde_json::from_str(line).map_err(JournalError::new)?;
    if head.numaestro_journal != VERSION {
        let version = head.numaestro_journal;
        return Err(JournalError::new(format!("format {version}, but this program reads format {VERSION}")));
    }
    let settings = Settings {
        policy: head.policy,
        grace_ns: head.grace_ns,
        reclaim_ns: head.reclaim_ns,
        cooldown_ns: head.cooldown_ns,
        recovery_ns: head.recovery_ns,
        reserved: head.reserved,
        host: Needs {
            requests: head.host_requests,
            speedup: head.host_speedup,
            bandwidth: head.host_bandwidth,
            page_control: head.host_page_control,
            preemption: head.host_preemption,
        },
        buses: head.buses,
        parties: head.parties,
        move_for_rounding: head.move_for_rounding,
        positions: head.positions,
    };
    Ok((head.machine.machine()?, settings, head.seed))
}

/// One step, without its newline.
pub fn encode(at: Nanos, event: &Event, actions: &[Action]) -> String {
    encode_named(at, None, event, actions)
}

/// One step with the name that people give the application that arrives.
pub fn encode_named(at: Nanos, name: Option<&str>, event: &Event, actions: &[Action]) -> String {
    text(&body(at, name, event, actions))
}

fn body<'a>(at: Nanos, name: Option<&'a str>, event: &'a Event, actions: &'a [Action]) -> Body<'a> {
    Body { at, name: name.map(Cow::from), event: Cow::Borrowed(event), actions: actions.into() }
}

/// Appends one step as a line with its newline, as [`encode_named`] gives it.
pub fn write_named(text: &mut Vec<u8>, at: Nanos, name: Option<&str>, event: &Event, actions: &[Action]) {
    serde_json::to_writer(&mut *text, &body(at, name, event, actions)).expect("memory takes everything");
    text.push(b'\n');
}

/// The name that people give the application that arrives in this step, if the line has it. It is
/// fit to be shown, whoever has written the line.
pub fn name(line: &str) -> Option<String> {
    Body::read(line).ok()?.name.map(|name| label(&name))
}

/// Whether a line holds an observation of the shell. Only a shell can play it.
pub fn is_observation(line: &str) -> bool {
    content(line) == Some("saw")
}

/// Whether a line stands beside the steps: an observation, or what a recording says of itself. The
/// engine does not hear of it.
pub fn is_aside(line: &str) -> bool {
    matches!(content(line), Some("saw" | "recording" | "wall" | "state" | "veiled"))
}

/// The fields of a step whose event is hidden.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Veiled<'a> {
    at: Nanos,
    veiled: Cow<'a, [Action]>,
}

/// A step without its event, which was about another user's program. The engine cannot repeat it.
pub fn encode_veiled(at: Nanos, actions: &[Action]) -> String {
    text(&Veiled { at, veiled: actions.into() })
}

/// The time and the actions of such a step; `None`: it is another line.
pub fn decode_veiled(line: &str) -> Option<(Nanos, Vec<Action>)> {
    (content(line) == Some("veiled")).then_some(())?;
    let Veiled { at, veiled } = serde_json::from_str(line).ok()?;
    Some((at, veiled.into_owned()))
}

/// The name of the field behind the time.
fn content(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("{\"at\":")?.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(",\"")?.split('"').next()
}

/// Time, event and actions of one step.
///
/// # Errors
/// The line cannot be read.
pub fn decode(line: &str) -> Result<(Nanos, Event, Vec<Action>), JournalError> {
    let (at, _, event, actions) = decode_named(line)?;
    Ok((at, event, actions))
}

/// The same, with the name that people give the application that arrives, fit to be shown.
///
/// # Errors
/// The line cannot be read.
pub fn decode_named(line: &str) -> Result<(Nanos, Option<String>, Event, Vec<Action>), JournalError> {
    // A mistake is told with its place in the whole line.
    let read = steps::read(line).or_else(|_| {
        let Body { at, name, event, actions } = Body::read(line)?;
        Ok((at, name.map(Cow::into_owned), event.into_owned(), actions.into_owned()))
    });
    read.map(|(at, name, event, actions)| (at, name.map(|name| label(&name)), event, actions))
}

fn text(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("numbers, strings and lists can always be written")
}

/// A journal being repeated.
#[derive(Debug)]
pub struct Replay {
    engine: Engine,
    actions: Vec<Action>,
    /// It has repeated a step.
    stepped: bool,
}

impl Replay {
    /// Starts a replay from the first line.
    ///
    /// # Errors
    /// The line cannot be read, or no engine can be made from it.
    pub fn new(head: &str) -> Result<Self, JournalError> {
        let (machine, settings, seed) = decode_head(head)?;
        let engine = Engine::new(machine, settings, seed).map_err(JournalError::new)?;
        Ok(Self { engine, actions: Vec::new(), stepped: false })
    }

    /// Repeats one step; passes over lines beside the steps.
    ///
    /// # Errors
    /// The line cannot be read, the engine now gives other actions, or it cannot be had in the
    /// state that the line says: the journal continues one that is not there.
    pub fn step(&mut self, line: &str) -> Result<(), JournalError> {
        if content(line) == Some("state") && !self.stepped {
            return Err(JournalError::new("it begins in the middle of a manager's life, and cannot be repeated"));
        }
        if is_aside(line) {
            return Ok(());
        }
        let Body { at, name, event, .. } = Body::read(line)?;
        self.stepped = true;
        self.engine.recycle(&mut self.actions);
        self.engine.step(at, &event, &mut self.actions);
        let repeated = encode_named(at, name.as_deref(), &event, &self.actions);
        if repeated == line {
            return Ok(());
        }
        Err(JournalError::new(format!("repeated as\n  {repeated}\nbut was\n  {line}")))
    }

    /// Repeats a whole journal.
    ///
    /// # Errors
    /// As [`Self::new`] and [`Self::step`], with the number of the line.
    pub fn run(journal: &str) -> Result<Self, JournalError> {
        let mut lines = journal.lines();
        let head = lines.next().ok_or_else(|| JournalError::new("it is empty"))?;
        let mut replay = Self::new(head).map_err(|error| JournalError::new(format!("line 1: {}", error.problem)))?;
        for (position, line) in lines.enumerate() {
            replay
                .step(line)
                .map_err(|error| JournalError::new(format!("line {}: {}", position + 2, error.problem)))?;
        }
        Ok(replay)
    }

    /// The engine as the journal left it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
