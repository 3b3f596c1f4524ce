//! A process-id namespace alone, for machines without an engine of containers. It is no container:
//! root directory and control group are the host's.

use crate::runtime::{LONG, SOME_LOOKS, apps, kernel, manager, missing, shim};
use crate::turn;
use crate::user::{User, start, text, until};
use numaestro_skip::skip;
use std::process::{Command, Stdio};

/// Words that begin a command in a namespace of its own.
const INSIDE: [&str; 5] = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];

#[test]
fn a_program_in_a_process_id_namespace_keeps_its_manager_and_steers_nobody() {
    let _turn = turn();
    if let Some(reason) = missing() {
        skip!("{reason}");
    }
    if !rustix::process::geteuid().is_root() {
        skip!("only root makes such a namespace everywhere");
    }
    let tried = Command::new(INSIDE[0]).args(&INSIDE[1..]).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        skip!("no namespaces here");
    }
    let user = User::new();
    let _manager = manager(&user);
    let mut program = Command::new(INSIDE[0]);
    program.args(&INSIDE[1..]).arg(kernel()).args(["--reps", LONG]);
    program.env("LD_PRELOAD", shim().join("libnumaestro_preload.so"));
    program.env("NUMAESTRO_ATTACH", user.path("run/attach"));
    let program = start(program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    until("the program", || apps(&user).iter().any(|app| app["name"] == "sor"));
    let pid =
        apps(&user).iter().find(|app| app["name"] == "sor").and_then(|app| app["pid"].as_u64()).expect("a number");
    std::thread::sleep(SOME_LOOKS);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("lives");
    assert_eq!(maps.matches("memfd:numaestro").count(), 1, "it has attached again and again");

    let stop = user.wrapped(&INSIDE, ["stop"]).stdin(Stdio::null()).output().expect("starts");
    assert_eq!(stop.status.code(), Some(77), "{}", text(&stop.stderr));
    assert!(text(&stop.stderr).contains("from inside a container"), "{}", text(&stop.stderr));
    drop(program);
    until("nobody", || apps(&user).is_empty());
    assert!(user.output(["stop"]).status.success());
}
