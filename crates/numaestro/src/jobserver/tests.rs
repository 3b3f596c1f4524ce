//! The rules, case by case.

use super::*;
use std::ffi::CString;

fn words(text: &str) -> Vec<OsString> {
    text.split_ascii_whitespace().map(OsString::from).collect()
}

/// The decision about a command line, with a ninja that knows jobservers and this make.
fn of(command: &str, wish: Option<JobserverArg>, make_knows_fifo: bool) -> Offer {
    let words = words(command);
    let build = Build {
        name: words[0].to_str().unwrap(),
        arguments: &words[1..],
        makeflags: "",
        cargo_makeflags: "",
        cargo_jobs: false,
        ninja_knows: true,
        make_knows_fifo,
    };
    decide(wish, &build)
}

fn is_left(command: &str, wish: Option<JobserverArg>, why: &str) {
    let Offer::Left(said) = of(command, wish, true) else { panic!("{command} is not left alone") };
    assert!(said.contains(why), "{said}");
}

const ON: Option<JobserverArg> = Some(JobserverArg::On);
const OFF: Option<JobserverArg> = Some(JobserverArg::Off);

#[test]
fn what_is_parallel_by_itself_follows_and_no_make_becomes_parallel_unasked() {
    for make_knows_fifo in [false, true] {
        let hidden = Offer::Made(Audience { make: Some(Form::Hidden), cargo: false });
        assert_eq!(of("ninja all", None, make_knows_fifo), hidden);
        let cargo = Offer::Made(Audience { make: None, cargo: true });
        assert_eq!(of("cargo build --release", None, make_knows_fifo), cargo);
        assert_eq!(of("ls -l", None, make_knows_fifo), Offer::None);
        assert_eq!(of("cmake --build .", None, make_knows_fifo), Offer::None);
        assert_eq!(of("gcc -O2 -flto a.c", None, make_knows_fifo), Offer::None);
        for command in ["make", "ninja", "cargo build", "gcc -flto=jobserver a.c", "bash"] {
            assert_eq!(of(command, OFF, make_knows_fifo), Offer::None, "{command}");
        }
    }
    is_left("make all", None, "without -j");
    is_left("gmake", None, "without -j");
}

#[test]
fn on_request_everybody_is_told_in_the_form_that_the_make_here_understands() {
    for (make_knows_fifo, form) in [(false, Form::Descriptors), (true, Form::Fifo)] {
        for command in ["make -C sub all", "cmake --build .", "bash", "gcc -flto=jobserver x.o"] {
            let all = Offer::Made(Audience { make: Some(form), cargo: true });
            assert_eq!(of(command, ON, make_knows_fifo), all, "{command}");
        }
        let lto = Offer::Made(Audience { make: Some(form), cargo: false });
        assert_eq!(of("g++-12 -flto=jobserver x.o", None, make_knows_fifo), lto);
    }
    // The older make ends when it reads what ninja needs.
    assert_eq!(of("ninja", ON, false), Offer::Made(Audience { make: Some(Form::Hidden), cargo: false }));
}

#[test]
fn a_number_of_the_users_is_left_alone() {
    for command in [
        "make -j8",
        "make -j 8 all",
        "make -kj8",
        "make --jobs=3",
        "make -C sub -j",
        "ninja -j8",
        "ninja -vj8",
        "ninja -C out -j 8",
        "cargo build -j8",
        "cargo build --jobs 2",
    ] {
        for wish in [None, ON] {
            is_left(command, wish, "number of jobs was given by -");
        }
    }
    for command in ["make -fjobs.mk", "make -Cj8", "make -k jobs", "cargo run -- -j8", "ninja -fj.ninja"] {
        assert!(matches!(of(command, ON, true), Offer::Made(_)), "{command}");
    }
    let arguments = words("build");
    let mut build = Build {
        name: "cargo",
        arguments: &arguments,
        makeflags: "",
        cargo_makeflags: "",
        cargo_jobs: true,
        ninja_knows: false,
        make_knows_fifo: true,
    };
    assert!(matches!(decide(None, &build), Offer::Left(why) if why.contains("CARGO_BUILD_JOBS")));
    for (makeflags, left) in [("kj4", true), ("-j4", true), ("k -j4", true), ("k", false), ("-- j=4", false)] {
        (build.name, build.makeflags, build.cargo_jobs) = ("make", makeflags, false);
        assert_eq!(matches!(decide(ON, &build), Offer::Left(_)), left, "{makeflags}");
    }
    build.makeflags = "-j4 --jobserver-auth=3,4";
    assert!(matches!(decide(ON, &build), Offer::Left(why) if why.contains("below a build")));
    (build.name, build.makeflags) = ("ninja", "");
    assert!(matches!(decide(None, &build), Offer::Left(why) if why.contains("1.13")));
}

fn environment(entries: &[&str]) -> Environment {
    Environment::new(entries.iter().map(|e| CString::new(*e).expect("no zero")).collect())
}

#[test]
fn the_users_flags_stay_and_ours_can_be_taken_out_again() {
    let told = |before: &str, form: Form| {
        let mut it = environment(&[&format!("MAKEFLAGS={before}")]);
        announce(Audience { make: Some(form), cargo: true }, [200, 201], 77, 4, &mut it);
        let told = it.get(MAKE).unwrap().into_string().unwrap();
        forget(&mut it);
        assert_eq!(it.get(MAKE).unwrap_or_default().to_str().unwrap(), before);
        assert_eq!((it.get(CARGO), it.get(OURS)), (None, None));
        told
    };
    assert_eq!(told("", Form::Descriptors), "-j4 --jobserver-auth=200,201");
    assert_eq!(told("ks", Form::Fifo), "ks -j4 --jobserver-auth=fifo:/proc/77/fd/200");
    assert_eq!(told("", Form::Hidden), "-- --jobserver-auth=fifo:/proc/77/fd/200");
    assert_eq!(told("k", Form::Hidden), "k -- --jobserver-auth=fifo:/proc/77/fd/200");
    let mut it = environment(&["MAKEFLAGS=k -- V=1"]);
    announce(Audience { make: Some(Form::Hidden), cargo: false }, [200, 201], 77, 4, &mut it);
    assert_eq!(it.get(MAKE).unwrap(), "k -- V=1 --jobserver-auth=fifo:/proc/77/fd/200");
    let mut it = environment(&["MAKEFLAGS=k -- V=1"]);
    announce(Audience { make: Some(Form::Descriptors), cargo: false }, [200, 201], 77, 4, &mut it);
    assert_eq!(it.get(MAKE).unwrap(), "k -j4 --jobserver-auth=200,201 -- V=1");
    let mut it = environment(&["MAKEFLAGS=-- V=1"]);
    announce(Audience { make: Some(Form::Descriptors), cargo: false }, [200, 201], 77, 4, &mut it);
    assert_eq!(it.get(MAKE).unwrap(), "-j4 --jobserver-auth=200,201 -- V=1");
}

#[test]
fn a_program_is_looked_into_and_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ninja");
    std::fs::write(&file, "xx--jobserver-auth=yy").unwrap();
    assert!(contains(&file, b"--jobserver-auth=") && !contains(&file, b"jobserver-style"));
    assert!(!contains(&dir.path().join("none"), b"x"));
}
