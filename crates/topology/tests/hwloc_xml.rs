//! hwloc's reading of a tree and ours agree, and its XML is understood in both versions.

use numaestro_topology::{CpuSet, Machine, MemTree, TopologyError, synthetic, sysfs, xml};
use proptest::prelude::*;
use std::path::Path;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares all that both can know: hwloc 2.9 does not export isolation, and writes unknown memory
/// as none.
fn check(name: &str, xml_name: &str) {
    let theirs = xml::parse(&file(&format!("{name}/{xml_name}"))).unwrap_or_else(|error| panic!("{name}: {error}"));
    let tree = MemTree::from_text(&file(&format!("{name}/sysfs.txt"))).unwrap();
    let ours = sysfs::read(&tree, None).unwrap();
    assert_eq!(theirs.pus(), ours.pus(), "{name}");
    assert_eq!(theirs.cores().len(), ours.cores().len(), "{name}");
    let memory = |m: &Machine| -> Vec<_> {
        m.numa_nodes().iter().map(|n| (n.os_index, n.memory_bytes.unwrap_or(0), n.pus.clone())).collect()
    };
    assert_eq!(memory(&theirs), memory(&ours), "{name}");
    let caches =
        |m: &Machine| -> Vec<_> { m.llcs().iter().map(|l| (l.cache_level, l.size_bytes, l.pus.clone())).collect() };
    assert_eq!(caches(&theirs), caches(&ours), "{name}");
    for from in theirs.pus() {
        for to in theirs.pus() {
            assert_eq!(theirs.distance(from.id, to.id), ours.distance(from.id, to.id), "{name} {from:?} {to:?}");
        }
    }
}

#[test]
fn agrees_with_hwloc_on_every_tree_it_reads() {
    for name in [
        "2amd64-vm",
        "16amd64-8n2c",
        "16amd64-memory-only",
        "32amd64-llc-spans-nodes",
        "16amd64-offline-isolated",
        "96arm64-no-cache-ids",
    ] {
        check(name, "hwloc.xml");
    }
}

#[test]
fn version_1_is_read_too() {
    check("16amd64-memory-only", "hwloc-v1.xml");
}

#[test]
fn kinds_of_cores_come_with_their_capacity() {
    let machine = xml::parse(&file("8arm64-three-kinds/hwloc.xml")).unwrap();
    let tree = MemTree::from_text(&file("8arm64-three-kinds/sysfs.txt")).unwrap();
    assert_eq!(machine.cores(), sysfs::read(&tree, None).unwrap().cores());
}

#[test]
fn synthetic_descriptions_mean_what_hwloc_means_by_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines/synthetic");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let (_, after) = text.split_once("name=\"SyntheticDescription\" value=\"").unwrap();
        let description = after.split('"').next().unwrap();
        let ours = synthetic::parse(description).unwrap_or_else(|error| panic!("{description}: {error}"));
        let theirs = xml::parse(&text).unwrap_or_else(|error| panic!("{description}: {error}"));
        assert_eq!(ours.pus(), theirs.pus(), "{description}");
        assert_eq!(ours.numa_nodes(), theirs.numa_nodes(), "{description}");
        let levels = |m: &Machine| m.llcs().iter().map(|llc| (llc.cache_level, llc.pus.clone())).collect::<Vec<_>>();
        assert_eq!(levels(&ours), levels(&theirs), "{description}");
        compared += 1;
    }
    assert_eq!(compared, 8);
}

#[test]
fn disallowed_and_missing_processors_are_known() {
    let text = file("16amd64-8n2c/hwloc.xml")
        .replacen("allowed_cpuset=\"0x0000ffff\"", "allowed_cpuset=\"0x000000f0\"", 1)
        .replacen("complete_cpuset=\"0x0000ffff\"", "complete_cpuset=\"0x0001ffff\"", 1);
    let machine = xml::parse(&text).unwrap();
    assert_eq!(machine.os_cpuset(machine.allowed()).to_string(), "4-7");
    assert_eq!(machine.offline(), &"16".parse::<CpuSet>().unwrap());
    assert_eq!(machine.pu_count(), 16);
}

#[test]
fn errors_name_the_line_and_the_text() {
    let text = file("2amd64-vm/hwloc.xml").replacen("os_index=\"1\" cpuset=\"0x00000002\"", "os_index=\"one\"", 99);
    let error = xml::parse(&text).unwrap_err().to_string();
    assert!(error.contains("line ") && error.contains("\"one\""), "{error}");
    assert!(matches!(xml::parse("not xml"), Err(TopologyError::Xml(_))));
    assert!(matches!(xml::parse("<html/>"), Err(TopologyError::Garbage { .. })));
    assert!(matches!(xml::parse("<topology/>"), Err(TopologyError::Garbage { .. })));
    let empty = "<topology><object type=\"Machine\"/></topology>";
    assert!(matches!(xml::parse(empty), Err(TopologyError::NoProcessor(_))));
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let depth = 100_000;
    let text = format!("<topology>{}{}</topology>", "<object>".repeat(depth), "</object>".repeat(depth));
    assert!(xml::parse(&text).is_err());
}

proptest! {
    #[test]
    fn damaged_documents_do_no_harm(
        name in prop::sample::select(vec!["16amd64-memory-only/hwloc.xml", "16amd64-memory-only/hwloc-v1.xml", "8arm64-three-kinds/hwloc.xml"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), "(|0|-1|x|9{1,12}|0xf...f|0x[0-9a-f]{1,8}|PU|Core|NUMANode|L3Cache|Package)"), 1..5),
        cut in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        // Every second part between quotes is the value of an attribute.
        let text = file(name);
        let mut parts: Vec<&str> = text.split('"').collect();
        for (which, value) in &damage {
            let position = which.index(parts.len() / 2) * 2 + 1;
            parts[position] = value;
        }
        let mut text = parts.join("\"");
        if let Some(cut) = cut {
            text.truncate(cut.index(text.len()));
        }
        match xml::parse(&text) {
            Ok(machine) => prop_assert!(!machine.allowed().is_empty() && !machine.to_string().is_empty()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
