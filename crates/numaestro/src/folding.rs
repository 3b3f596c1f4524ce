//! The words of `status` and `top` on a folded team: a pure function of the snapshot.

use crate::say;
use numaestro_abi::control::{AppStatus, FoldStatus};

/// The folding of a program whose team is folded just now.
pub fn present(app: &AppStatus) -> Option<&FoldStatus> {
    app.folding.as_ref().filter(|fold| fold.by == "user" || fold.by == "kernel")
}

/// A few characters for a column: switches a second in user space, `kernel`, or `-`.
pub fn short(app: &AppStatus) -> String {
    match present(app) {
        None => "-".to_owned(),
        Some(fold) if fold.by == "user" => rate(f64::from(fold.switches_per_second)),
        Some(_) => "kernel".to_owned(),
    }
}

/// One or two sentences for a program whose team is folded just now.
pub fn sentence(app: &AppStatus) -> Option<String> {
    let fold = present(app)?;
    if fold.by == "user" {
        let back = match fold.unfolds {
            0 => String::new(),
            times => format!(", {} given back to the kernel so far", say::counted(times as usize, "region")),
        };
        return Some(format!(
            "folded in user space: {} on {}, {} switches a second{back}.",
            say::counted(fold.threads as usize, "thread"),
            say::counted(fold.carriers as usize, "kernel thread"),
            rate(f64::from(fold.switches_per_second)),
        ));
    }
    let why = if fold.why.is_empty() { String::new() } else { format!(", because {}", fold.why) };
    let next = if fold.next.is_empty() { String::new() } else { format!(" Next: {}.", fold.next) };
    let (threads, processors) =
        (say::counted(fold.threads as usize, "thread"), say::counted(app.count as usize, "processor"));
    Some(format!("folded by the kernel: {threads} on {processors}{why}.{next}"))
}

/// Times per second in at most six characters.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 1e6 => format!("{:.1}M", r / 1e6),
        r if r >= 1e4 => format!("{:.0}k", r / 1e3),
        r => format!("{r:.0}"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::occupancy::tests::example;

    /// Folding for tests of the text.
    pub fn folding(by: &str) -> FoldStatus {
        let mut fold = FoldStatus {
            by: by.into(),
            reason: "none".into(),
            threads: 8,
            carriers: 2,
            switches: 9_000_000,
            switches_per_second: 412_345,
            ..FoldStatus::default()
        };
        if by == "kernel" {
            fold.reason = "rseq".into();
            fold.why = "a library in it uses restartable sequences".into();
            fold.next = "run it without".into();
        }
        fold
    }

    #[test]
    fn a_folded_team_is_said_in_a_sentence() {
        let mut app = example().apps.remove(0);
        assert_eq!((sentence(&app), short(&app)), (None, "-".to_owned()));
        app.folding = Some(folding("none"));
        assert_eq!((sentence(&app), short(&app)), (None, "-".to_owned()), "it was folded once");
        let mut fold = folding("user");
        app.folding = Some(fold.clone());
        let text = sentence(&app).expect("folded");
        assert_eq!(text, "folded in user space: 8 threads on 2 kernel threads, 412k switches a second.");
        assert_eq!(short(&app), "412k");
        (fold.carriers, fold.unfolds) = (1, 1);
        app.folding = Some(fold);
        let text = sentence(&app).expect("folded");
        assert!(text.contains("on 1 kernel thread,") && text.ends_with(", 1 region given back to the kernel so far."));
        app.folding = Some(folding("kernel"));
        let text = "folded by the kernel: 8 threads on 2 processors, because a library in it uses restartable sequences. \
                    Next: run it without.";
        assert_eq!((sentence(&app).as_deref(), short(&app).as_str()), (Some(text), "kernel"));
        app.folding = Some(FoldStatus { by: "kernel".into(), threads: 8, ..FoldStatus::default() });
        assert_eq!(sentence(&app).as_deref(), Some("folded by the kernel: 8 threads on 2 processors."));
    }

    #[test]
    fn rates_are_short() {
        let texts = [0.0, 9999.0, 12_345.0, 999_000.0, 1_250_000.0, 4_294_967_295.0].map(rate);
        assert_eq!(texts, ["0", "9999", "12k", "999k", "1.2M", "4295.0M"]);
        assert!(texts.iter().all(|text| text.len() <= 7));
    }
}
