//! `numaestro dashboard` on the command line.

use crate::recordings::PartArgs;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  numaestro dashboard                          prints a link; open it in a browser on this machine
  numaestro dashboard --listen 127.0.0.1:8300  always the same port
  numaestro dashboard 3                        writes recording-3.html, of the third in `numaestro record list`
  numaestro dashboard 1 --since 14:00 --until 14:10
  numaestro dashboard tuesday.journal --output tuesday.html

The page shows who has which processors, shares against wishes, and the decisions with their reasons. A click on a decision shows
the decisions that led to it. Live, you change limits, weights and the policy there, as far as the manager lets you. `?` shows
the keys. The page of a recording is one file that needs nothing else; of a
long recording it has the newest part, if you name no other.

The link has a token: without it, nobody on this machine can see or change anything there. The dashboard ends with Ctrl-C.

Exit codes: 0 done; 1 it did not work; 2 the file is no journal.";

/// `numaestro dashboard`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct DashboardArgs {
    /// Write a page of this journal, directory of recordings, or number in `numaestro record list`;
    /// absent: show the manager, live.
    #[arg(value_name = "RECORDING")]
    pub recording: Option<String>,
    /// Where the page of a recording goes.
    #[arg(short, long, value_name = "FILE", requires = "recording")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub part: PartArgs,
    /// An address of this machine alone (loopback) and a port; port 0: one that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = loopback,
          conflicts_with = "recording")]
    pub listen: SocketAddr,
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "say it as 127.0.0.1:8300 or [::1]:8300".to_owned())?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err("only addresses of this machine alone: 127.0.0.1 or [::1]; `ssh -L` reaches it from elsewhere".to_owned())
    }
}
