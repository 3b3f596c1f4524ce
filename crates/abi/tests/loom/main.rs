//! What lock-free code relies on, under every interleaving of the memory model:
//! `RUSTFLAGS="--cfg loom" cargo test -p numaestro-abi --test loom --release`. Without that flag
//! this is empty.
#![cfg(loom)]

mod fold;
mod page;
