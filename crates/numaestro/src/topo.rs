//! `numaestro topo`: draws this machine in hwloc's words, or one that is not here.

use crate::cli::TopoArgs;
use crate::machine_here::this_machine;
use crate::say;
use anyhow::Context;
use numaestro_host::DirTree;

/// The subcommand.
pub fn topo(args: &TopoArgs) -> anyhow::Result<u8> {
    let machine = match (&args.synthetic, &args.xml, &args.sysfs_root) {
        (Some(text), _, _) => numaestro_topology::synthetic::parse(text)?,
        (_, Some(file), _) => {
            let place = || file.display().to_string();
            let text = std::fs::read_to_string(file).with_context(place)?;
            numaestro_topology::xml::parse(&text).with_context(place)?
        }
        (_, _, Some(root)) => {
            // If another machine is meant, the affinity of this process says nothing.
            numaestro_topology::sysfs::read(&DirTree::new(root), None).with_context(|| root.display().to_string())?
        }
        _ => this_machine()?,
    };
    say::print(&format!("{machine}"))?;
    Ok(say::OK)
}
