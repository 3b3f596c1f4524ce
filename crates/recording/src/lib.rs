//! Recordings: what a manager has heard and decided, in a ring of files of bounded size and age.
//!
//! A file is a **segment**: a journal as text, compressed as LZ4 frames, so `lz4cat` shows it. Its
//! first line is the journal's head, the second says the format ([`Begins`]). Where the manager
//! lived before the segment, a line with the whole state follows. Each frame ends with a
//! [`Stamp`]: journals have the clock of the machine's start, and people have another one.
//!
//! ```text
//! {"numaestro_journal":1,"machine":…}
//! {"at":1000,"recording":{"version":1,"numaestro":"0.1.0","run":"…","segment":3,"continues":true}}
//! {"at":1000,"state":{…}}
//! {"at":1200,"event":{…},"actions":[…]}
//! {"at":2000,"wall":1764100000000000000}
//! ```
//!
//! [`Recorder`] is the writer's end. The manager only appends lines to a buffer; a thread of its
//! own compresses and writes once a second, so a slow disk holds nobody up. A disk that is full,
//! read-only or too slow ends the recording, and [`Recorder::trouble`] says why. A frame is written
//! whole or it is torn: [`Segment::read`] gives the lines before, and says that some are lost.
//!
//! Nothing here knows the engine: lines are text, but for those that are defined here.

mod lines;
mod reader;
mod ring;
mod writer;

pub use lines::{Begins, Stamp, VERSION};
pub use reader::{Contents, Opening, ReadError};
pub use ring::{Limits, Ring, Segment};
pub use writer::Recorder;
