//! Builds the command line of QEMU for a shape.

use crate::shape::Shape;
use std::ffi::OsString;
use std::path::Path;

/// Settings of a guest besides its shape.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// More arguments of the kernel.
    pub append: Vec<String>,
    /// All processors of the guest in one thread of QEMU: they take turns, which is steadier on a
    /// busy machine.
    pub single_thread: bool,
}

/// Arguments that a quick and quiet start needs, as trials have shown.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet loglevel=3 panic=-1 oops=panic nokaslr cryptomgr.notests tsc=reliable \
    no_timer_check mitigations=off random.trust_cpu=on psi=1";

/// Files that QEMU reads and writes: the kernel, the first file system, and three serial lines.
#[derive(Debug)]
pub struct Files<'a> {
    /// The fetched packages.
    pub root: &'a Path,
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The first file system.
    pub initial: &'a str,
    /// Console, output and errors of the job.
    pub serial: [&'a str; 3],
}

/// Program and arguments; the loader that was fetched with QEMU starts it, so nothing of this
/// machine's libraries is used.
pub fn command(shape: &Shape, settings: &Settings, files: &Files<'_>) -> Vec<OsString> {
    let root = files.root.display();
    let mut out: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| out.extend(words.iter().map(OsString::from));
    let (library, x86) = (format!("{root}/usr/lib/x86_64-linux-gnu"), format!("{root}/lib/x86_64-linux-gnu"));
    let loader = ["lib64", "usr/lib64"].map(|directory| files.root.join(directory).join("ld-linux-x86-64.so.2"));
    let loader = loader.iter().find(|path| path.exists()).unwrap_or(&loader[0]);
    add(&[&loader.to_string_lossy(), "--library-path", &format!("{library}:{x86}")]);
    add(&[&format!("{root}/usr/bin/qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none"]);
    add(&["-L", &format!("{root}/usr/share/qemu"), "-L", &format!("{root}/usr/share/seabios")]);
    let threads = if settings.single_thread { "single" } else { "multi" };
    add(&["-accel", &format!("tcg,thread={threads}"), "-M", "q35", "-cpu", "max", "-no-reboot"]);
    for file in files.serial {
        add(&["-serial", &format!("file:{file}")]);
    }
    add(&["-kernel", &files.kernel.to_string_lossy(), "-initrd", files.initial]);
    add(&["-append", &[&[KERNEL_ARGUMENTS.to_owned()], settings.append.as_slice()].concat().join(" ")]);
    for argument in topology(shape) {
        add(&[&argument]);
    }
    out
}

/// Processors, memory, nodes and distances.
fn topology(shape: &Shape) -> Vec<String> {
    let (pus, cores, threads) = (shape.pu_count(), shape.cores_per_package(), shape.threads_per_core);
    let packages = pus / (cores * threads);
    let megabytes: u64 = shape.nodes.iter().map(|node| node.memory_mb).sum();
    let mut out = vec![
        "-smp".to_owned(),
        format!("{pus},sockets={packages},cores={cores},threads={threads}"),
        "-m".to_owned(),
        format!("{megabytes}M"),
    ];
    for (i, node) in shape.nodes.iter().enumerate() {
        let mut text = format!("node,nodeid={i}");
        text.extend(node.cpus.iter().map(|cpu| format!(",cpus={cpu}")));
        if node.memory_mb > 0 {
            let size = node.memory_mb;
            out.extend(["-object".to_owned(), format!("memory-backend-ram,id=m{i},size={size}M")]);
            text.extend([",memdev=m".to_owned(), i.to_string()]);
        }
        out.extend(["-numa".to_owned(), text]);
    }
    for (from, row) in shape.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate() {
            out.extend(["-numa".to_owned(), format!("dist,src={from},dst={to},val={distance}")]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_memory_has_no_memory_device() {
        let shape = Shape::parse("2:256,0:128,1:0", "", 1).unwrap();
        let text = topology(&shape).join(" ");
        assert!(text.starts_with("-smp 3,sockets=3,cores=1,threads=1 -m 384M"), "{text}");
        assert!(text.contains("node,nodeid=0,cpus=0,cpus=1,memdev=m0"), "{text}");
        assert!(text.contains("node,nodeid=1,memdev=m1"), "{text}");
        assert!(text.ends_with("node,nodeid=2,cpus=2"), "{text}");
    }
}
