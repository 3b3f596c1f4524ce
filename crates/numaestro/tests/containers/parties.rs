//! The table of parties, as the second container of the `DaemonSet` keeps it. A program of ours
//! stands for curl.

use crate::manifests::directory;
use crate::user::{User, text};
use numaestro_skip::skip;
use std::process::{Command, Stdio};

/// As the server of Kubernetes lists pods: one with the label, one without labels, one of a file,
/// and two whose authors want other pods' places.
const PODS: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[
{"metadata":{"name":"a","namespace":"lab","uid":"1f2e3d4c-5b6a-4978-8899-aabbccddeeff","labels":{"numaestro.io/party":"solvers","app":"x"}}},
{"metadata":{"name":"b","namespace":"lab","uid":"2f2e3d4c-5b6a-4978-8899-aabbccddeeff"}},
{"metadata":{"name":"c","namespace":"kube-system","uid":"3f2e3d4c-5b6a-4978-8899-aabbccddeeff",
"ownerReferences":[{"kind":"Node","name":"node-7"}],
"annotations":{"kubernetes.io/config.hash":"8a1b5d0ccd2f6a6d0c9f6e4f0b1e2d3c"},"labels":{"numaestro.io/party":"system"}}},
{"metadata":{"name":"d","namespace":"evil","uid":"4f2e3d4c-5b6a-4978-8899-aabbccddeeff",
"annotations":{"kubernetes.io/config.hash":"8a1b5d0ccd2f6a6d0c9f6e4f0b1e2d3c"},"labels":{"numaestro.io/party":"x"}}},
{"metadata":{"name":"e","namespace":"evil","uid":"5f2e3d4c-5b6a-4978-8899-aabbccddeeff","ownerReferences":[{"kind":"Node"}],
"annotations":{"kubernetes.io/config.hash":"1f2e3d4c-5b6a-4978-8899-aabbccddeeff evil/x\n7 lab/solvers"},"labels":{"numaestro.io/party":"y"}}}]}"#;

#[test]
fn a_line_for_each_pod_with_the_label() {
    if !Command::new("jq").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip!("jq is not here");
    }
    let user = User::new();
    for directory in ["bin", "credentials", "parties"] {
        std::fs::create_dir(user.path(directory)).expect("a directory");
    }
    std::fs::write(user.path("credentials/token"), "secret\n").expect("written");
    let curl = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >{0}/words\ncat >{0}/header\ncat {0}/answer 2>/dev/null || exit 22\n",
        user.place.path().display()
    );
    numaestro_skip::programs::script(user.path("bin/curl"), &curl);
    let path = format!("{}:{}", user.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let look = || {
        let mut command = Command::new(directory().join("pod-parties"));
        command.arg(user.path("parties/table")).arg("once").stdin(Stdio::null());
        command.env("PATH", &path).env("NODE_NAME", "node-7").env("CREDENTIALS", user.path("credentials"));
        command.output().expect("starts")
    };
    let read = |name: &str| std::fs::read_to_string(user.path(name)).unwrap_or_default();

    assert!(!look().status.success(), "no server answers");
    assert_eq!(read("parties/table"), "");
    std::fs::write(user.path("answer"), PODS).expect("written");
    let output = look();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = "1f2e3d4c-5b6a-4978-8899-aabbccddeeff lab/solvers\n8a1b5d0ccd2f6a6d0c9f6e4f0b1e2d3c kube-system/system\n\
                 4f2e3d4c-5b6a-4978-8899-aabbccddeeff evil/x\n5f2e3d4c-5b6a-4978-8899-aabbccddeeff evil/y\n";
    assert_eq!(read("parties/table"), table);
    assert_eq!(read("header"), "Authorization: Bearer secret\n");
    assert!(!read("words").contains("secret"), "everybody can read arguments");
    assert!(read("words").contains("fieldSelector=spec.nodeName%3Dnode-7\n"), "{}", read("words"));

    for wrong in ["", "<html>", "{\"items\": 7}"] {
        std::fs::write(user.path("answer"), wrong).expect("written");
        let output = look();
        assert!(!output.status.success(), "{wrong}");
        assert_eq!(read("parties/table"), table, "it stays as it is: {wrong}");
    }
    std::fs::write(user.path("answer"), PODS.replace("numaestro.io/party\":\"solvers", "other\":\"solvers"))
        .expect("written");
    assert!(look().status.success());
    assert_eq!(read("parties/table"), table.split_once('\n').expect("lines").1, "pods go, too");
    assert_eq!(std::fs::read_dir(user.path("parties")).expect("a directory").count(), 1, "nothing else is left");
}
