//! numaestro on a Slurm cluster. The cluster is this host alone: `scripts/slurm-cluster.sh` starts
//! a controller and several nodes on loopback, and each test has its own.

mod cluster;
mod guide;
mod jobs;
mod kills;
mod parties;
mod plugin;
mod ranks;
mod refused;
mod sweeps;
#[path = "../user/mod.rs"]
mod user;
