//! Runs scenarios in a guest; see `src/inside/mod.rs`.

fn main() -> std::process::ExitCode {
    numaestro_guest::inside::main()
}
