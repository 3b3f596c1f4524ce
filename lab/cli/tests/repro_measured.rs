//! Claims that are measured, as a user sees them: `bench claims` says what it would measure, and
//! `repro run --measured` shows what a file of measurements says beside what was simulated. The
//! measurement itself takes minutes, and is no test.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use user::{User, json, text};

/// A file of measurements in which a change of policy costs 0.5 %, and one that stops the programs
/// 7 %.
const FILE: &str = r#"{
  "numaestro_measured": 1,
  "machine": { "processors": 2, "cpu": "a processor", "load": "0.10 0.20 0.30" },
  "quick": false,
  "claims": [
    { "claim": "N-switch", "cause": "", "foreign": 0.04, "noisy": false, "samples": [
      { "name": "time",
        "on": [1.003, 1.004, 1.005, 1.006, 1.007],
        "off": [1.06, 1.07, 1.07, 1.08, 1.08] } ] },
    { "claim": "N-sync", "cause": "needs two processors", "foreign": 0, "noisy": false, "samples": [] }
  ]
}
"#;

const CLAIM: [&str; 4] = ["repro", "run", "--quick", "N-switch"];

#[test]
fn measured_claims_stand_beside_simulated_ones() {
    let user = User::new();
    let (file, page) = (user.path("m.json"), user.path("m.html"));
    std::fs::write(&file, FILE).expect("written");
    let (file, page) = (file.to_str().expect("text"), page.to_str().expect("text"));
    let without = text(&user.output(CLAIM).stdout);
    assert!(!without.contains("easured"), "nothing was given: {without}");
    let words = [&CLAIM[..], &["--measured", file, "--html", page]].concat();
    let table = text(&user.output(words).stdout);
    let shown =
        ["measured  reproduced", "1.005 (1.003 to 1.007), at most 1.02; off: 1.070", "not shown", "a processor"];
    for part in shown {
        assert!(table.contains(part), "{part} in {table}");
    }
    assert!(table.contains("1 no power of 1 claims"), "what was simulated counts as before: {table}");
    let html = std::fs::read_to_string(page).expect("the page");
    assert!(
        html.contains("<dt>measured</dt><dd>reproduced") && html.contains("Measured with real programs: 1 reproduced")
    );
    let document = json(&user.output([&CLAIM[..], &["--measured", file, "--json", "-"]].concat()));
    let claim = &document["claims"][0];
    assert_eq!(
        (claim["status"].as_str(), claim["measured"]["status"].as_str()),
        (Some("no-power"), Some("reproduced"))
    );
    assert_eq!(claim["measured"]["quantities"][0]["off"]["median"], 1.07);
    assert_eq!(document["measured"]["summary"]["reproduced"], 1);
}

#[test]
fn a_feature_that_changes_nothing_has_shown_nothing() {
    let user = User::new();
    let file = user.path("m.json");
    let path = file.to_str().expect("text");
    for (from, to, status) in [
        ("\"off\": [1.06, 1.07, 1.07, 1.08, 1.08]", "\"off\": [1.00, 1.00, 1.01, 1.01, 1.01]", "no-power"),
        ("\"on\": [1.003", "\"on\": [1.090", "not-reproduced"),
    ] {
        std::fs::write(&file, FILE.replacen(from, to, 1)).expect("written");
        let document = json(&user.output([&CLAIM[..], &["--measured", path, "--json", "-"]].concat()));
        assert_eq!(document["claims"][0]["measured"]["status"], status);
    }
}

#[test]
fn a_mistake_in_a_file_of_measurements_has_its_line_and_nothing_runs() {
    let user = User::new();
    let file = user.path("m.json");
    let path = file.to_str().expect("text");
    for (from, to, line, expected) in [
        ("N-switch", "N-Tab1", 6, "expected one of N-sync, N-switch"),
        ("\"quick\": false", "\"quick\": 0", 4, "true or false"),
        ("1.006", "slow", 8, "expected"),
        (
            "\"noisy\": false, \"samples\"",
            "\"verdict\": \"reproduced\", \"noisy\": false, \"samples\"",
            6,
            "unknown field",
        ),
    ] {
        std::fs::write(&file, FILE.replacen(from, to, 1)).expect("written");
        let folder = user.path("answers");
        let keep = ["--measured", path, "--out", folder.to_str().expect("text")];
        let out = user.output([&CLAIM[..], &keep].concat());
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(4), "{said}");
        assert!(said.contains(&format!("m.json:{line}: ")) && said.contains(expected), "{said}");
        assert!(out.stdout.is_empty() && !folder.exists(), "nothing was begun");
    }
}

#[test]
fn what_would_be_measured_is_listed_with_limits_and_what_is_not_shown() {
    let user = User::new();
    let all = text(&user.output(["bench", "claims", "--list"]).stdout);
    for part in
        ["N-sync", "N-switch", "N-search", "A-over", "cannot show", "feature off", "at most 0.5", "at least 0.01"]
    {
        assert!(all.contains(part), "{part} in {all}");
    }
    let one = text(&user.output(["bench", "claims", "N-search", "--list"]).stdout);
    assert!(one.contains("bounce") && !one.contains("A-over"), "{one}");
    let out = user.output(["bench", "claims", "N-Tab1"]);
    assert!(!out.status.success() && text(&out.stderr).contains("there are N-sync, N-switch"), "{}", text(&out.stderr));
}
