//! The manifests of `packaging/kubernetes` against the schemas of Kubernetes, and against each
//! other.

use crate::user::{User, text};
use numaestro_skip::skip;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Documents of the files, and for each version of Kubernetes what is wrong with them.
const VALIDATE: &str = r#"
import importlib.resources, json, sys, kubernetes_validate, yaml
schemas = importlib.resources.files("kubernetes_validate") / "kubernetes-json-schema"
versions = sorted(d.name[1:-len("-local-strict")] for d in schemas.iterdir() if d.name.endswith("-local-strict"))
documents, wrong = [], []
for file in sys.argv[1:]:
    documents += [d for d in yaml.safe_load_all(open(file)) if d["kind"] != "Kustomization"]
for version in versions:
    for document in documents:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except Exception as error:
            where = ".".join(str(step) for step in getattr(error, "path", []))
            wrong.append(f"{version} {document['kind']} {where}: {getattr(error, 'message', error)}")
json.dump({"versions": versions, "documents": documents, "wrong": wrong}, sys.stdout)
"#;

pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/kubernetes").canonicalize().expect("the manifests")
}

fn files() -> Vec<PathBuf> {
    let files = std::fs::read_dir(directory()).expect("the manifests").map(|entry| entry.expect("a file").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|kind| kind == "yaml")).collect();
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    files
}

/// What the schemas say of files; `None` where they cannot be had.
fn validated(files: &[PathBuf]) -> Option<Value> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/venv/bin/python");
    let has = Command::new(&python).args(["-c", "import kubernetes_validate, yaml"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let output = Command::new(&python).args(["-c", VALIDATE]).args(files).output().expect("starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn kubernetes_understands_every_manifest() {
    let Some(said) = validated(&files()) else { skip!("no Python that has kubernetes-validate") };
    assert!(said["versions"].as_array().is_some_and(|versions| versions.len() > 5), "{}", said["versions"]);
    assert!(said["documents"].as_array().is_some_and(|documents| documents.len() == 7));
    assert_eq!(said["wrong"], serde_json::json!([]));
}

#[test]
fn what_kubernetes_would_refuse_is_noticed() {
    let user = User::new();
    let set = std::fs::read_to_string(directory().join("daemonset.yaml")).expect("readable");
    let role = std::fs::read_to_string(directory().join("rbac.yaml")).expect("readable");
    let mistakes = [
        (&set, "hostPID: true", "hostPid: true", "hostPid"),
        (&set, "hostPID: true", "hostPID: \"yes\"", "hostPID"),
        (&set, "privileged: true", "privileged: 1", "privileged"),
        (&set, "mountPath: /node", "mountpath: /node", "mountPath"),
        (&set, "  selector:\n    matchLabels:\n      app.kubernetes.io/name: numaestro\n", "", "selector"),
        (&set, "apiVersion: apps/v1", "apiVersion: apps/v1beta9", ""),
        (&role, "verbs: [\"list\"]", "verbs: list", "verbs"),
    ];
    for (manifest, from, to, named) in mistakes {
        let path = user.path("wrong.yaml");
        let changed = manifest.replace(from, to);
        std::fs::write(&path, &changed).expect("writable");
        let Some(said) = validated(&[path]) else { skip!("no Python that has kubernetes-validate") };
        let wrong = said["wrong"].to_string();
        assert!(changed != *manifest && wrong != "[]", "{from} -> {to}");
        assert!(wrong.contains(named), "{from} -> {to}: {wrong}");
    }
}

/// The entry of a list with this name.
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list.as_array().and_then(|list| list.iter().find(|entry| entry["name"] == name));
    found.unwrap_or_else(|| panic!("no {name} in {list}"))
}

#[test]
fn the_manifests_agree_with_each_other_and_with_the_command() {
    let Some(said) = validated(&files()) else { skip!("no Python that has kubernetes-validate") };
    let documents = said["documents"].as_array().expect("a list");
    let of = |kind: &str| documents.iter().find(|document| document["kind"] == kind).expect("a document");
    let node = &of("DaemonSet")["spec"]["template"]["spec"];
    let program = &of("Job")["spec"]["template"]["spec"];
    let [manager, keeper] = ["manager", "parties"].map(|name| named(&node["containers"], name));

    // The directories of the node.
    let path = |pod: &Value, volume: &str| named(&pod["volumes"], volume)["hostPath"]["path"].clone();
    assert_eq!(path(node, "sockets"), "/run/numaestro", "where `daemon --system` is");
    for volume in ["sockets", "shim"] {
        assert_eq!(path(node, volume), path(program, volume));
        let solver = named(&program["containers"], "solver");
        assert_eq!(named(&solver["volumeMounts"], volume)["mountPath"], path(program, volume));
    }
    let variables = &named(&program["containers"], "solver")["env"];
    assert_eq!(named(variables, "NUMAESTRO_ATTACH")["value"], "/run/numaestro/attach");
    let put = named(&node["initContainers"], "shim")["command"].as_array().expect("words");
    let file = put[3].as_str().and_then(|path| path.rsplit('/').next()).expect("a file");
    let shim = path(node, "shim");
    assert_eq!(named(variables, "LD_PRELOAD")["value"], format!("{}/{file}", shim.as_str().expect("a path")));
    assert_eq!(node["hostPID"], true);

    // The settings, and the table that they name.
    let user = User::new();
    let settings = of("ConfigMap")["data"]["node.toml"].as_str().expect("settings");
    // What is commented out is right as well.
    let all: String = settings.lines().map(|line| uncommented(line) + "\n").collect();
    for settings in [settings, &all] {
        std::fs::write(user.path("node.toml"), settings).expect("writable");
        let path = user.path("node.toml").display().to_string();
        let output = user.output(["daemon", "--check-config", "--system", "--config", &path]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    assert_ne!(all, settings);
    let settings: toml::Table = settings.parse().expect("settings");
    assert_eq!(settings["cgroups"].as_str(), Some("off"), "programs stay in the groups of their pods");
    let table = settings["containers"]["table"].as_str().expect("a path");
    assert_eq!(keeper["command"][1], table);
    for container in [manager, keeper] {
        let mount = named(&container["volumeMounts"], "parties")["mountPath"].as_str().expect("a path");
        assert_eq!(Path::new(table).parent(), Some(Path::new(mount)));
    }
    let script = std::fs::read_to_string(directory().join("pod-parties")).expect("readable");
    let label = of("Job")["spec"]["template"]["metadata"]["labels"].as_object().and_then(|labels| labels.keys().next());
    assert!(script.contains(&format!("${{LABEL:-{}}}", label.expect("a label"))), "{label:?}");

    let kept = std::fs::read_to_string(directory().join("kustomization.yaml")).expect("readable");
    for path in files() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let listed = kept.contains(&format!("  - {name}\n"));
        assert_eq!(listed, !["kustomization.yaml", "example.yaml"].contains(&name.as_str()), "{name}");
    }
}

/// `# [table]` and `# key = value` without the sign; other comments stay.
fn uncommented(line: &str) -> String {
    match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with('[') || rest.contains(" = ") => rest.to_owned(),
        _ => line.to_owned(),
    }
}
