//! Reads single files as typed values: missing is `None`, garbage is an error with the path.

use crate::error::TopologyError;
use crate::set::CpuSet;
use crate::tree::Tree;

pub(super) const CPU: &str = "sys/devices/system/cpu";
pub(super) const NODE: &str = "sys/devices/system/node";

/// A tree with typed access.
pub(super) struct Source<'a> {
    tree: &'a dyn Tree,
}

impl<'a> Source<'a> {
    pub(super) const fn new(tree: &'a dyn Tree) -> Self {
        Self { tree }
    }

    /// The text without white space around it.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.tree.read(path).map(|text| text.trim().to_owned())
    }

    pub(super) fn names(&self, path: &str) -> Vec<String> {
        self.tree.list(path)
    }

    /// A list of processors.
    pub(super) fn list(&self, path: &str) -> Result<Option<CpuSet>, TopologyError> {
        let Some(text) = self.text(path) else { return Ok(None) };
        match text.parse() {
            Ok(set) => Ok(Some(set)),
            Err(_) => Err(TopologyError::garbage(path, "a list of processors such as 0-3,8", &text)),
        }
    }

    /// A list of processors at `list`, or else a mask at `mask`.
    pub(super) fn list_or_mask(&self, list: &str, mask: &str) -> Result<Option<CpuSet>, TopologyError> {
        if let Some(set) = self.list(list)? {
            return Ok(Some(set));
        }
        let Some(text) = self.text(mask) else { return Ok(None) };
        match CpuSet::from_mask(&text) {
            Ok(set) => Ok(Some(set)),
            Err(_) => Err(TopologyError::garbage(mask, "a mask of processors such as 000000ff", &text)),
        }
    }

    /// A number; -1 is how the kernel says that it does not know.
    pub(super) fn number(&self, path: &str) -> Result<Option<u32>, TopologyError> {
        let Some(text) = self.text(path) else { return Ok(None) };
        if text == "-1" {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| TopologyError::garbage(path, "a number", &text))
    }

    /// Numbers of the entries `<prefix>N` of a directory.
    pub(super) fn numbered(&self, directory: &str, prefix: &str) -> CpuSet {
        let number = |name: &String| -> Option<u32> {
            let digits = name.strip_prefix(prefix)?;
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let number = if plain { digits.parse().ok()? } else { return None };
            (number <= crate::list::LARGEST).then_some(number)
        };
        self.names(directory).iter().filter_map(number).collect()
    }
}
