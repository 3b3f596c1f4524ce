//! Links the program against the C library of `client/glibc`, as the command is: it needs no newer
//! one.

use std::path::Path;
use std::process::Command;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let client = Path::new(&manifest).join("../../client");
    for place in ["Makefile", "glibc"] {
        println!("cargo::rerun-if-changed={}", client.join(place).display());
    }
    let build = Path::new(&out).join("client");
    let flags = build.join("glibc/flags");
    let mut make = Command::new("make");
    // A make around cargo must not hand its job server to this one.
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS").env_remove("MAKELEVEL");
    make.arg("-C").arg(&client).arg(format!("BUILD={}", build.display())).arg(&flags);
    let outcome = make.output().expect("`make` and a C compiler are needed: install make and gcc");
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    println!("cargo::rustc-link-arg-bins=@{}", flags.display());
}
