//! numaestro with containers: programs in them come to the manager of the host, or have one of
//! their own inside; the manifests for Kubernetes are what Kubernetes understands.

mod manifests;
mod namespaces;
mod parties;
mod podman;
mod pods;
mod runtime;
#[path = "../user/mod.rs"]
mod user;

use user::turn;
