//! A manager without the command around it: `manager daemon --dir DIR [--system]`, with
//! `DIR/config.toml` if that is there. The tests start it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use numaestro_daemon::{Config, Source, main_loop};

fn main() -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let dir = std::env::args().skip_while(|argument| argument != "--dir").nth(1);
    let dir = PathBuf::from(dir.context("usage: manager daemon --dir DIR [--system]")?);
    let file = Some((dir.join("config.toml"), false));
    let system = std::env::args().any(|argument| argument == "--system");
    main_loop(Config::load(&Source { file, dir, system, ..Source::default() })?.config).map(|_| ())
}
