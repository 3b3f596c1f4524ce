//! The laboratory's commands as a user types them: behind the product's name, and by themselves.

#[path = "../../../crates/numaestro/tests/user/mod.rs"]
mod user;

use std::process::{Command, Output};
use user::{User, text};

const LABORATORY: &str = env!("CARGO_BIN_EXE_numaestro-lab");

fn laboratory(words: &[&str]) -> Output {
    Command::new(LABORATORY).args(words).env_remove("NUMAESTRO_USER").output().expect("starts")
}

#[test]
fn every_subcommand_explains_itself_by_the_name_that_was_typed() {
    let user = User::new();
    let cases = [
        ("sim", "run compare machines bench chaos replay learn validate"),
        ("repro", "list run calibrate"),
        ("trace", "show export"),
        ("bench", "coexec shim speedup"),
    ];
    for (name, below) in cases {
        for word in below.split(' ') {
            for (asked, usage) in [
                (user.output([name, word, "--help"]), "numaestro"),
                (user.output(["help", name, word]), "numaestro"),
                (laboratory(&[name, word, "--help"]), "numaestro-lab"),
            ] {
                let help = text(&asked.stdout);
                assert_eq!(asked.status.code(), Some(0), "{name} {word}");
                assert!(help.contains(&format!("Usage: {usage} {name} {word}")), "{name} {word}: {help}");
                let (own, everywhere) = help.split_once("Options of every command:").expect("they stand apart");
                for option in ["--verbose", "--dir <DIR>", "--user"] {
                    assert!(!own.contains(option) && everywhere.contains(option), "{name} {word}: {option} in {help}");
                }
            }
        }
    }
}

#[test]
fn options_of_every_command_reach_it_from_both_sides() {
    let user = User::new();
    let empty = user.path("recordings-of-nobody");
    for words in [&["--dir", "DIR", "what-if"][..], &["what-if", "--dir", "DIR"], &["-v", "what-if", "--dir", "DIR"]] {
        let words: Vec<&str> =
            words.iter().map(|&w| if w == "DIR" { empty.to_str().expect("text") } else { w }).collect();
        let output = user.output(&words);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("there are no recordings"), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn wrong_usage_is_64() {
    let user = User::new();
    for words in [&["sim"][..], &["sim", "frobnicate"], &["what-if", "--seeds", "0"]] {
        for output in [user.output(words), laboratory(words)] {
            assert_eq!(output.status.code(), Some(64), "{words:?}: {}", text(&output.stderr));
            assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{words:?}");
        }
    }
}

#[test]
fn machines_and_claims_need_no_files_beside_the_command() {
    let user = User::new();
    for (words, part) in
        [(&["sim", "machines"][..], "hector"), (&["sim", "machines", "ksr1"], "ksr1"), (&["repro", "list"], "B97")]
    {
        let output = user.command(words).current_dir(user.place.path()).output().expect("starts");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(part), "{words:?}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let completions = text(&laboratory(&["completions", shell]).stdout);
        for word in ["numaestro-lab", "machines", "chaos", "replay", "repro"] {
            assert!(completions.contains(word), "{word} for {shell}");
        }
    }
    assert!(text(&laboratory(&["man"]).stdout).contains(".TH"));
    let place = user.path("man1");
    let output = laboratory(&["man", place.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for page in ["-lab", "-sim", "-sim-compare", "-repro", "-repro-run", "-what-if"] {
        assert!(place.join(format!("numaestro{page}.1")).is_file(), "{page}");
    }
    // The product has its own.
    assert!(!place.join("numaestro.1").exists() && !place.join("numaestro-man.1").exists());
}
