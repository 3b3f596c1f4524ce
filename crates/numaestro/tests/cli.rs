//! The command as a user sees it without any program: help, usage, exit codes, JSON shapes,
//! profiles, doctor.

mod user;

use std::ffi::OsStr;
use user::{User, json, text};

// Help, usage, pages.

#[test]
fn every_subcommand_explains_itself() {
    let user = User::new();
    let all = text(&user.output(["--help"]).stdout);
    let names = "run shell adopt set release status top policy profile doctor demo bench sim repro topo stop daemon completions man";
    for name in names.split(' ') {
        assert!(
            all.lines().any(|l| l.trim_start().starts_with(&format!("{name} ")) || l.trim() == name),
            "{name} is not in\n{all}"
        );
        let help = user.output([name, "--help"]);
        assert_eq!(help.status.code(), Some(0), "{name}");
        assert!(help.stdout.len() > 100, "{name}");
    }
    assert!(all.contains("Exit codes") && all.contains("NUMAESTRO_DIR"));
    assert!(text(&user.output(["run", "--help"]).stdout).contains("Examples:"));
}

#[test]
fn wrong_usage_is_64_and_says_what_is_right() {
    let user = User::new();
    let cases: [&[&str]; 6] = [
        &[],
        &["frobnicate"],
        &["run"],
        &["run", "--min", "0", "--", "true"],
        &["run", "--weight", "-1", "--", "true"],
        &["release"],
    ];
    for words in cases {
        let output = user.output(words);
        assert_eq!(output.status.code(), Some(64), "{words:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
    }
    let output = user.output(["run", "--min", "4", "--max", "2", "--", "true"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("--min 4 is more than --max 2"));
}

#[test]
fn options_of_every_command_stand_apart_in_every_help_page() {
    let user = User::new();
    let names =
        ["run", "shell", "adopt", "set", "release", "advise", "status", "top", "doctor", "demo", "topo", "daemon"];
    let below = [["policy", "set"], ["profile", "add"]];
    for words in names.iter().map(std::slice::from_ref).chain(below.iter().map(<[&str; 2]>::as_slice)) {
        let help = text(&user.output(words.iter().chain(&["--help"])).stdout);
        let (own, everywhere) =
            help.split_once("Options of every command:").unwrap_or_else(|| panic!("{words:?}: {help}"));
        for option in ["--verbose", "--dir <DIR>", "--user"] {
            assert!(!own.contains(option) && everywhere.contains(option), "{words:?}: {option} in {help}");
        }
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let completions = text(&user.output(["completions", shell]).stdout);
        for word in ["adopt", "sim", "repro"] {
            assert!(completions.contains(word), "{word} for {shell}");
        }
    }
    assert!(text(&user.output(["man"]).stdout).contains(".TH"));
    let output = user.output([OsStr::new("man"), user.path("man1").as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for page in ["", "-run", "-policy-set"] {
        assert!(user.path(&format!("man1/numaestro{page}.1")).is_file(), "{page}");
    }
    // The laboratory has them.
    assert!(!user.path("man1/numaestro-sim.1").exists());
}

#[test]
fn who_has_no_laboratory_is_told_where_it_is() {
    let user = User::new();
    let alone = user.path("numaestro");
    numaestro_skip::programs::copy(user::numaestro(), &alone, 0o755);
    for words in [&["sim", "machines"][..], &["help", "repro"], &["what-if", "--policies", "dss"]] {
        let output = std::process::Command::new(&alone).args(words).env("PATH", "/nowhere").output().expect("starts");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains("numaestro-lab, which is not installed") && said.contains("next: install"), "{said}");
    }
}

// Without a manager.

#[test]
fn status_without_a_manager_says_so() {
    let user = User::new();
    let output = user.output(["status"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("no manager runs") && text(&output.stdout).contains("numaestro run"));
    assert_eq!(json(&user.output(["status", "--json"]))["running"], false);
    assert!(!user.path("run").exists(), "looking must not make anything");
    assert_eq!(user.output(["stop"]).status.code(), Some(0));
}

#[test]
fn an_empty_variable_is_no_wish() {
    let user = User::new();
    let mut command = user.command(["status", "--json"]);
    let output = command.env("NUMAESTRO_DIR", "").env("XDG_RUNTIME_DIR", user.place.path()).output().expect("starts");
    assert_eq!(json(&output)["dir"], user.path("numaestro").to_str().expect("text"));
}

#[test]
fn what_needs_a_manager_is_69_without_one() {
    let user = User::new();
    let output = user.output(["release", "1"]);
    assert_eq!(output.status.code(), Some(69));
    assert!(text(&output.stderr).contains("next:"), "{}", text(&output.stderr));
}

#[test]
fn profiles_are_kept() {
    let user = User::new();
    assert_eq!(user.output(["profile", "add", "lulesh"]).status.code(), Some(64), "nothing to remember");
    assert_eq!(user.output(["profile", "add", "--class", "malleable", "--max", "3", "lulesh"]).status.code(), Some(0));
    assert_eq!(
        json(&user.output(["profile", "list", "--json"])),
        serde_json::json!({ "lulesh": { "class": "malleable", "max": 3 } })
    );
    assert_eq!(user.output(["profile", "remove", "lulesh"]).status.code(), Some(0));
    assert_eq!(user.output(["profile", "remove", "lulesh"]).status.code(), Some(1));
}

#[test]
fn a_profile_reaches_the_program_and_a_damaged_file_does_not_stop_it() {
    let user = User::new();
    user.output(["profile", "add", "--class", "fold", "sh"]);
    assert_eq!(text(&user.shell("echo $NUMAESTRO_CLASS").stdout), "fold\n");
    std::fs::write(user.path(".config/numaestro/profiles.toml"), "not toml at all [").expect("writable");
    let output = user.shell("echo $NUMAESTRO_CLASS");
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("\n", Some(0)));
    assert!(text(&output.stderr).contains("profiles are not used"));
    std::fs::write(user.path(".config/numaestro/profiles.toml"), "[sh]\nclass = \"fold\"\nmax = 0\n")
        .expect("writable");
    let output = user.shell("echo $NUMAESTRO_CLASS");
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("\n", Some(0)));
    assert!(text(&output.stderr).contains("[sh] max = 0: expected a number from 1"), "{}", text(&output.stderr));
}

#[test]
fn a_limit_above_the_machine_is_none_and_a_minimum_above_it_is_refused() {
    let user = User::new();
    let all = text(&user.shell("nproc").stdout);
    assert_eq!(text(&user.output(["run", "--max", "60000", "--", "nproc"]).stdout), all);
    assert_eq!(user.output(["profile", "add", "--max", "60000", "nproc"]).status.code(), Some(0));
    assert_eq!(text(&user.output(["run", "--", "nproc"]).stdout), all);
    let refused = user.output(["run", "--min", "60000", "--", "echo", "runs"]);
    assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(125), ""));
    assert!(text(&refused.stderr).contains("60000"), "{}", text(&refused.stderr));
}

#[test]
fn a_profile_of_a_path_goes_before_one_of_a_name_that_fits_two_programs() {
    let user = User::new();
    for place in ["one", "two"] {
        std::fs::create_dir(user.path(place)).expect("made");
        numaestro_skip::programs::copy("/bin/sh", user.path(place).join("tool"), 0o755);
    }
    let one = user.path("one/tool").into_os_string().into_string().expect("text");
    let two = user.path("two/tool").into_os_string().into_string().expect("text");
    assert_eq!(user.output(["profile", "add", "--class", "fold", "tool"]).status.code(), Some(0));
    assert_eq!(user.output(["profile", "add", "--class", "malleable", &one]).status.code(), Some(0));
    let class = |tool: &str| text(&user.run(&[tool, "-c", "echo $NUMAESTRO_CLASS"]).stdout);
    assert_eq!((class(&one).as_str(), class(&two).as_str()), ("malleable\n", "fold\n"));
}

#[test]
fn the_choice_of_folding_reaches_the_program() {
    let user = User::new();
    let said = |words: &[&str]| {
        let output = user.output(words.iter().chain(&["sh", "-c", "echo $NUMAESTRO_FOLD"]));
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    assert_eq!(said(&["run", "--"]), "", "user space is the shim's default");
    assert_eq!(said(&["run", "--fold", "kernel", "--"]), "kernel");
    assert_eq!(said(&["run", "--fold", "user", "--"]), "user");
    assert_eq!(said(&["shell", "--fold", "kernel", "--"]), "kernel");
    assert_eq!(user.output(["profile", "add", "--fold", "kernel", "sh"]).status.code(), Some(0));
    assert_eq!(json(&user.output(["profile", "list", "--json"])), serde_json::json!({ "sh": { "fold": "kernel" } }));
    assert_eq!(said(&["run", "--"]), "kernel");
    assert_eq!(said(&["shell", "--"]), "kernel");
    assert_eq!(said(&["run", "--fold", "user", "--"]), "user", "the command line wins");
    let explained = text(&user.output(["run", "--dry-run", "--", "sh"]).stdout);
    assert!(explained.contains("fold kernel") && explained.contains("NUMAESTRO_FOLD=kernel"), "{explained}");
    for words in [&["run", "--fold", "me", "--", "true"][..], &["adopt", "--fold", "kernel", "1"]] {
        assert_eq!(user.output(words).status.code(), Some(64), "{words:?}");
    }
    for name in ["run", "shell"] {
        assert!(text(&user.output([name, "--help"]).stdout).contains("--fold <WHO>"), "{name}");
    }
    assert!(text(&user.output(["status", "--help"]).stdout).contains("in user space or by the kernel"));
}

#[test]
fn the_choice_for_pools_reaches_the_program() {
    let user = User::new();
    let said = |words: &[&str]| {
        let output = user.output(words.iter().chain(&["sh", "-c", "echo $NUMAESTRO_POOL"]));
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    let whole = said(&["run", "--"]);
    assert!(whole.strip_prefix("whole:").is_some_and(|count| count.parse::<u32>().is_ok_and(|n| n > 0)), "{whole}");
    assert_eq!(said(&["run", "--max", "1", "--"]), "whole:1");
    assert_eq!(said(&["run", "--pool", "now", "--"]), "now");
    assert_eq!(said(&["shell", "--pool", "now", "--"]), "now");
    assert_eq!(user.output(["profile", "add", "--pool", "now", "sh"]).status.code(), Some(0));
    assert_eq!(json(&user.output(["profile", "list", "--json"])), serde_json::json!({ "sh": { "pool": "now" } }));
    assert_eq!(said(&["run", "--"]), "now");
    assert_eq!(said(&["run", "--pool", "whole", "--"]), whole, "the command line wins");
    let explained = text(&user.output(["run", "--dry-run", "--", "sh"]).stdout);
    assert!(explained.contains("pool now") && explained.contains("NUMAESTRO_POOL=now"), "{explained}");
}

#[test]
fn doctor_and_topo_speak_of_this_machine() {
    let user = User::new();
    let output = user.output(["doctor", "--json"]);
    let report = json(&output);
    assert_eq!(output.status.code(), Some(i32::from(report["usable"] != true)));
    let checks = report["checks"].as_array().expect("a list");
    assert!((0..6).all(|rung| checks.iter().any(|c| c["rung"] == rung)), "every rung has a check");
    assert!(
        checks.iter().all(|c| c["outcome"] == "yes" || c["next"] != ""),
        "what is missing has a next step: {checks:?}"
    );
    assert!(checks.iter().any(|c| c["name"] == "shim" && c["outcome"] == "yes"), "{checks:?}");
    for name in ["folding in user space", "shadow stacks", "kernel", "custom slices"] {
        assert!(checks.iter().any(|c| c["name"] == name && c["rung"] == 2), "{name} is not in {checks:?}");
    }
    let shown = text(&user.output(["doctor"]).stdout);
    assert!(shown.contains("rung 5") && shown.contains("folding in user space"), "{shown}");
    assert_eq!(user.output(["topo"]).status.code(), Some(0));
    assert!(text(&user.output(["topo", "--synthetic", "pack:2 numa:2 core:2 pu:2"]).stdout).contains("Package"));
    assert_eq!(user.output(["topo", "--synthetic", "nonsense:2"]).status.code(), Some(1));
}

#[test]
fn output_is_plain_where_nobody_looks_on() {
    let user = User::new();
    for words in [&["doctor"][..], &["status"], &["topo"], &["run", "--dry-run", "--", "true"]] {
        let output = user.output(words);
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{words:?}");
    }
    let output = user.output(["top"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("needs a terminal"));
}
