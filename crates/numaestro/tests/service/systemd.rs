//! The service under a real systemd (see `boot.rs`): started by a socket, watched, killed, started
//! anew, reloaded and stopped, with programs of a user that must not notice anything of it.

use std::io::{Read, Write};
use std::process::Command;

use numaestro_skip::{part, skip};

use crate::boot::{Machine, systemd_version, wait_for, write_units};
use crate::{free_port, status_of};

/// A program of somebody who is not root, in the machine; its process id in there.
fn program(machine: &Machine) -> String {
    let script = "setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/ sh -c \
                  'echo $$ >/dev/shm/NAME; exec numaestro run -- sleep 600' >/dev/null 2>&1 & sleep 0.1";
    let name = format!("numaestro-test-{}", std::process::id());
    machine.expect(&["bash", "-c", &script.replace("NAME", &name)]);
    let path = format!("/dev/shm/{name}");
    let pid = wait_for("the program", || {
        std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')).map(|text| text.trim().to_owned())
    });
    let _ = std::fs::remove_file(path);
    wait_for("the program to be managed", || managed(machine, &pid));
    pid
}

/// The program is one of the manager's, with processors.
fn managed(machine: &Machine, pid: &str) -> Option<()> {
    let status = status_of(&machine.output(&["numaestro", "status", "--json"]).stdout)?;
    let found = status.apps.iter().any(|app| app.pid.to_string() == pid && app.count > 0);
    found.then_some(())
}

/// Runs as what it is, and is not a zombie.
#[track_caller]
fn expect_alive(machine: &Machine, pid: &str) {
    assert_eq!(machine.expect(&["cat", &format!("/proc/{pid}/comm")]).trim(), "sleep");
}

fn main_pid(machine: &Machine) -> String {
    machine.property("MainPID")
}

#[test]
fn programs_do_not_notice_what_happens_to_the_service() {
    let machine = match Machine::boot() {
        Ok(machine) => machine,
        Err(reason) => skip!("{reason}"),
    };
    machine.write("/run/units/numaestro.service.d/test.conf", "[Service]\nWatchdogSec=2");
    machine.expect(&["systemctl", "daemon-reload"]);
    machine.expect(&["systemctl", "start", "numaestro.socket"]);
    assert_eq!(machine.property("ActiveState"), "inactive");

    // Whoever comes first starts it.
    let pid = program(&machine);
    assert_eq!(machine.property("ActiveState"), "active");
    wait_for("the line of status", || machine.property("StatusText").starts_with("1 program on ").then_some(()));
    let first = main_pid(&machine);
    let inode = machine.expect(&["stat", "--format=%i %a", "/run/numaestro/control"]);
    assert!(inode.trim_end().ends_with(" 666"), "{inode}");

    // It lives on signs of life: longer than it would be left without.
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert_eq!(main_pid(&machine), first, "a healthy manager is left alone");

    // Killed, while clients come all the time: none of them fails.
    let clients = "for i in $(seq 30); do numaestro status --json >/dev/null || exit 1; sleep 0.02; done";
    let clients = machine.command(&["bash", "-c", clients]).spawn().unwrap();
    machine.expect(&["kill", "-KILL", &first]);
    let clients = clients.wait_with_output().unwrap();
    assert!(clients.status.success(), "somebody could not connect during the restart");
    wait_for("the program to be taken over", || managed(&machine, &pid));
    expect_alive(&machine, &pid);
    let second = main_pid(&machine);
    assert_ne!(second, first);
    assert_eq!(machine.expect(&["stat", "--format=%i %a", "/run/numaestro/control"]), inode, "the same socket");

    // Hanging: the service manager misses the signs of life.
    machine.expect(&["kill", "-STOP", &second]);
    wait_for("another manager", || (!["0", &second].contains(&main_pid(&machine).as_str())).then_some(()));
    wait_for("the program to be taken over", || managed(&machine, &pid));
    expect_alive(&machine, &pid);
    assert_eq!(machine.property("NRestarts"), "2");

    // A killed manager that had controllers turned on for its part of the cgroup tree: no process
    // can be put where they are.
    let group = "/sys/fs/cgroup/system.slice/numaestro.service";
    let dirty = format!(
        "set -e; read one _ </sys/fs/cgroup/cgroup.controllers; for at in /sys/fs/cgroup {group}/..; do \
         echo +$one >$at/cgroup.subtree_control; done; mkdir {group}/app-77 {group}/inner; \
         for p in $(cat {group}/cgroup.procs); do echo $p >{group}/inner/cgroup.procs; done; \
         echo +$one >{group}/cgroup.subtree_control; sleep 600 >/dev/null 2>&1 & echo $! >{group}/app-77/cgroup.procs"
    );
    let controllers = machine.expect(&["cat", "/sys/fs/cgroup/cgroup.controllers"]);
    if controllers.trim().is_empty() {
        part("no controller of cgroup v2 here to be left turned on");
    } else {
        machine.expect(&["bash", "-c", &dirty]);
        let third = main_pid(&machine);
        machine.expect(&["kill", "-KILL", &third]);
        wait_for("another manager", || {
            (!["0", &third].contains(&main_pid(&machine).as_str()) && machine.property("ActiveState") == "active")
                .then_some(())
        });
        wait_for("the program to be taken over", || managed(&machine, &pid));
        let left = machine.expect(&["cat", &format!("{group}/app-77/cgroup.procs")]);
        let left = left.trim();
        assert!(!left.is_empty() && !left.contains('\n'), "what was in the group has been left alone: {left}");
        machine.expect(&["kill", left]);
    }

    machine.expect(&["systemctl", "reload", "numaestro.service"]);
    assert_eq!(machine.property("ActiveState"), "active");

    // In order: again everything stays.
    machine.expect(&["systemctl", "restart", "numaestro.service"]);
    expect_alive(&machine, &pid);
    machine.expect(&["numaestro", "status"]);
    assert_eq!(machine.expect(&["stat", "--format=%i %a", "/run/numaestro/control"]), inode, "the same socket");

    machine.expect(&["systemctl", "stop", "numaestro.socket"]);
    assert_eq!(machine.property("ActiveState"), "inactive");
    expect_alive(&machine, &pid);
    let of = |pid: &str| machine.expect(&["grep", "Cpus_allowed:", &format!("/proc/{pid}/status")]);
    assert_eq!(of(&pid), of("1"), "all processors again");
    assert!(
        !machine.output(&["test", "-e", "/run/numaestro/control"]).status.success(),
        "nothing to be mistaken for it"
    );
    // Locks go with their holders. The log is there if a guard of a killed manager was still alive
    // to act.
    let left = machine.expect(&["ls", "/run/numaestro"]);
    assert_eq!(left.lines().filter(|name| *name != "daemon.log").collect::<Vec<_>>(), Vec::<&str>::new());
    machine.expect(&["kill", &pid]);
}

#[test]
fn the_page_of_metrics_comes_from_a_process_without_rights() {
    let machine = match Machine::boot() {
        Ok(machine) => machine,
        Err(reason) => skip!("{reason}"),
    };
    let free = format!("127.0.0.1:{}", free_port());
    let exec = "[Service]\nExecStart=\nExecStart=/run/bin/numaestro-manager --system --config /run/units/metrics.toml";
    machine.write("/run/units/numaestro.service.d/test.conf", exec);
    machine.write("/run/units/metrics.toml", "[metrics]\nlisten = \"127.0.0.1:9464\"");
    let listen = format!("[Socket]\nListenStream=\nListenStream={free}");
    machine.write("/run/units/numaestro-metrics.socket.d/test.conf", &listen);
    machine.expect(&["systemctl", "daemon-reload"]);
    machine.expect(&["systemctl", "start", "numaestro.service", "numaestro-metrics.socket"]);
    let mut stream = std::net::TcpStream::connect(&free).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("numaestro_build_info"), "{page}");
    let proxy = machine.expect(&["systemctl", "show", "--property=MainPID", "--value", "numaestro-metrics.service"]);
    let status = machine.expect(&["cat", &format!("/proc/{}/status", proxy.trim())]);
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    assert!(!line("Uid:").split_whitespace().any(|id| id == "0"), "{status}");
    assert_eq!(u64::from_str_radix(line("CapBnd:"), 16), Ok(0), "{status}");
}

#[test]
fn wrong_settings_end_it_once_and_for_all() {
    let machine = match Machine::boot() {
        Ok(machine) => machine,
        Err(reason) => skip!("{reason}"),
    };
    let exec = "[Service]\nExecStart=\nExecStart=/run/bin/numaestro-manager --system --config /run/units/bad.toml\n\
                StandardError=file:/run/numaestro/said";
    machine.write("/run/units/numaestro.service.d/test.conf", exec);
    machine.write("/run/units/bad.toml", "polcy = \"equi\"");
    machine.expect(&["systemctl", "daemon-reload"]);
    assert!(!machine.systemctl(&["start", "numaestro.service"]).status.success());
    assert_eq!(machine.property("ExecMainStatus"), "78");
    assert_eq!(machine.property("NRestarts"), "0", "it is not tried again");
    let said = machine.expect(&["cat", "/run/numaestro/said"]);
    assert!(said.contains("/run/units/bad.toml:1: unknown field `polcy`; did you mean `policy`?"), "{said}");
}

#[test]
fn units_are_what_systemd_understands() {
    if systemd_version().is_none() || Command::new("systemd-analyze").arg("--version").output().is_err() {
        skip!("no systemd-analyze here");
    }
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_numaestro")).parent().unwrap().display().to_string();
    for kind in ["system", "user"] {
        let root = tempfile::tempdir().unwrap();
        // Any program will do for the helper.
        write_units(kind, &bin, "/bin", root.path());
        let units = std::fs::read_dir(root.path()).unwrap().flatten().map(|unit| unit.file_name());
        for unit in &units.collect::<Vec<_>>() {
            let text = std::fs::read_to_string(root.path().join(unit)).unwrap().replace("/bin/after-stop", "/bin/true");
            std::fs::write(root.path().join(unit), text).unwrap();
            let mut command = Command::new("systemd-analyze");
            command.args(["verify", "--man=no"]).env("XDG_RUNTIME_DIR", root.path());
            if kind == "user" {
                command.arg("--user");
            }
            let output = command.arg(root.path().join(unit)).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.trim().is_empty(), "{kind}/{}: {said}", unit.display());
        }
    }
}
