//! `numaestro set`: changes the wishes for an application that runs, and says which ones hold then.

use crate::class::ClassArg;
use crate::cli::{SetArgs, milli};
use crate::manager::Manager;
use crate::say;
use crate::status::{class_word, clean};
use numaestro_abi::control::{AppName, AppWishes, NewWishes};
use std::path::PathBuf;

/// The subcommand.
pub fn set(dir: Option<PathBuf>, args: &SetArgs) -> anyhow::Result<u8> {
    let changes = &args.changes;
    let wishes = NewWishes {
        min: changes.min,
        max: changes.max,
        weight_milli: changes.weight.map(milli),
        class: changes.class.map(ClassArg::class),
    };
    let apps = Manager::required(dir)?.set(AppName::Word(args.app.clone()), wishes)?;
    say::print(&if args.json {
        format!("{}\n", serde_json::json!({ "apps": apps }))
    } else {
        apps.iter().map(|app| sentence(app) + "\n").collect()
    })?;
    Ok(say::OK)
}

/// The wishes that hold for an application, for people.
pub fn sentence(app: &AppWishes) -> String {
    let most = app.max.map_or_else(|| "no limit".to_owned(), |max| format!("at most {max}"));
    let weight = f64::from(app.weight_milli) / 1000.0;
    let has = match app.count {
        0 => "no processors of its own now".to_owned(),
        1 => "1 processor now".to_owned(),
        count => format!("{count} processors now"),
    };
    format!(
        "{} (application {}, process {}): {most}, at least {}, weight {weight}, class {}; {has}",
        clean(&app.name),
        app.app,
        app.pid,
        app.min,
        class_word(app.class)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_all_wishes_that_hold() {
        let mut app =
            AppWishes { app: 3, pid: 4711, name: "lulesh".into(), min: 1, weight_milli: 1500, ..AppWishes::default() };
        assert_eq!(
            sentence(&app),
            "lulesh (application 3, process 4711): no limit, at least 1, weight 1.5, class auto; no processors of its own now"
        );
        (app.max, app.count, app.weight_milli) = (Some(2), 2, 1000);
        assert!(sentence(&app).contains("at most 2, at least 1, weight 1, class auto; 2 processors now"));
    }
}
