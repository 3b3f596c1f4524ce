//! The trace: one line for each event and each action, in fixed columns.

use crate::Nanos;
use numaestro_engine::{Action, AppId, Event};

/// A line of time, the shell's clock, word, application, and the rest.
pub(super) fn line(at: Nanos, clock: Nanos, what: &str, app: Option<AppId>, rest: &str) -> String {
    let app = app.map_or_else(|| "-".to_owned(), |app| app.to_string());
    format!("{at:>14} {clock:>18} {what:<12} {app:>5}  {rest}").trim_end().to_owned()
}

/// Word, application and rest of an event.
pub(super) fn event(event: &Event) -> (&'static str, Option<AppId>, String) {
    let none = String::new;
    match event {
        Event::Arrive { app, wish } => {
            let claim = wish.claim.as_ref().map(|pus| format!(" has {pus}")).unwrap_or_default();
            let max = if wish.max == u32::MAX { "all".to_owned() } else { wish.max.to_string() };
            let (request, min, class, wait) = (wish.request, wish.min, wish.class, wish.wait);
            ("arrive", Some(*app), format!("wants {request}, {min} to {max}, {class:?}, wait {wait:?}{claim}"))
        }
        Event::Depart { app } => ("depart", Some(*app), none()),
        Event::Request { app, processors } => ("request", Some(*app), processors.to_string()),
        Event::Limits { app, min, max, weight_milli } => {
            ("limits", Some(*app), format!("{min} to {max}, weight {weight_milli}/1000"))
        }
        Event::Allowed { app, pus } => ("allowed", Some(*app), pus.to_string()),
        Event::Demand { app, processors, idle } => ("demand", Some(*app), format!("{processors}, idle {idle}")),
        Event::Class { app, class } => ("class", Some(*app), format!("{class:?}")),
        Event::Adopted { app, epoch } => ("adopted", Some(*app), format!("epoch {epoch}")),
        Event::Sequential { app } => ("sequential", Some(*app), none()),
        Event::Blocked { app } => ("blocked", Some(*app), none()),
        Event::Parallel { app } => ("parallel", Some(*app), none()),
        Event::Speedup { app, processors, speedup_milli } => {
            ("speedup", Some(*app), format!("{speedup_milli}/1000 with {processors}"))
        }
        Event::Bandwidth { app, rates } => ("bandwidth", Some(*app), format!("{rates:?}")),
        Event::Saturation { bus, rate } => ("saturation", None, format!("{rate} on bus {bus}")),
        Event::Memory { app, bytes } => ("memory", Some(*app), format!("{bytes:?}")),
        Event::FreeMemory { bytes } => ("free memory", None, format!("{bytes:?}")),
        Event::Parties { parties } => ("parties", None, parties.len().to_string()),
        Event::Unstoppable { app } => ("unstoppable", Some(*app), none()),
        Event::Stoppable { app } => ("stoppable", Some(*app), none()),
        Event::Offline { pu } => ("offline", None, format!("PU {pu}")),
        Event::Online { pu } => ("online", None, format!("PU {pu}")),
        Event::Unmanaged { processors } => ("unmanaged", None, processors.to_string()),
        Event::Timer => ("timer", None, none()),
        Event::Policy { policy } => ("policy", None, policy.clone()),
    }
}

/// Word, application and rest of an action.
pub(super) fn action(action: &Action) -> (&'static str, Option<AppId>, String) {
    match action {
        Action::Start { app } => ("> start", Some(*app), String::new()),
        Action::Wait { app, position } => ("> wait", Some(*app), format!("at {position}")),
        Action::Target { app, epoch, count, pus, shared, lent } => {
            let (shared, lent) = (if *shared { " shared" } else { "" }, if *lent { " lent" } else { "" });
            ("> target", Some(*app), format!("epoch {epoch}: {count} on {pus}{shared}{lent}"))
        }
        Action::Stop { app } => ("> stop", Some(*app), String::new()),
        Action::Continue { app } => ("> continue", Some(*app), String::new()),
        Action::Pages { app, home } => ("> pages", Some(*app), format!("{home:?}")),
        Action::Force { app, epoch, pus } => ("> force", Some(*app), format!("epoch {epoch} on {pus}")),
        Action::Refuse { app, reason } => ("> refuse", *app, reason.clone()),
    }
}
