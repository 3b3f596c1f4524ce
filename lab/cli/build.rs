//! Links the program against an old C library, as the command is.

fn main() {
    numaestro_link::programs();
}
