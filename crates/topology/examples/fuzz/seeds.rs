//! What is mutated: the machines of `testdata/machines`, and descriptions as somebody would type
//! them.

use numaestro_topology::MemTree;
use std::path::{Path, PathBuf};

/// Good inputs.
#[derive(Debug, Default)]
pub struct Seeds {
    /// Trees of sysfs.
    pub trees: Vec<MemTree>,
    /// hwloc's XML.
    pub documents: Vec<String>,
    /// Synthetic descriptions.
    pub descriptions: Vec<String>,
    /// Lists and masks of processors.
    pub lists: Vec<String>,
}

const DESCRIPTIONS: [&str; 8] = [
    "pack:2 numa:2 l3:4 core:8 pu:2",
    "pack:2 [numa(memory=64GiB)] core:8 pu:1",
    "numa:4(memory=512MiB) l2:2(size=512kB) core:2 pu:2",
    "pack:1 core:4 pu:2(indexes=2*4:1*2)",
    "pack:2 [numa(indexes=1,0)] die:2 l3:1 core:3 pu:2(indexes=1*24)",
    "group:2 numa:1 [numa(memory=1GB)] l3u:1 l1i:2 core:1 pu:1",
    "book:2 drawer:2 package:2 cluster:2 core:2 pu:2",
    "pu:16384",
];
const LISTS: [&str; 6] = ["0-3,8", "", "0", "0-1048575", "ffffffff,00000003", "0x1,,0xf"];

impl Seeds {
    /// Everything below `testdata/machines`.
    pub fn load() -> Self {
        let mut seeds = Self {
            descriptions: DESCRIPTIONS.map(str::to_owned).to_vec(),
            lists: LISTS.map(str::to_owned).to_vec(),
            ..Self::default()
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/machines");
        for directory in listing(&folder).iter().filter(|path| path.is_dir()) {
            for file in listing(directory) {
                let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                match file.extension().and_then(|extension| extension.to_str()) {
                    Some("xml") => seeds.documents.push(text),
                    Some("txt") if file.ends_with("sysfs.txt") => {
                        seeds
                            .trees
                            .push(MemTree::from_text(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
                    }
                    _ => {}
                }
            }
        }
        assert!(seeds.trees.len() >= 10 && seeds.documents.len() >= 10, "machines went missing");
        seeds
    }
}

/// In order, so that a number means the same input every time.
fn listing(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
