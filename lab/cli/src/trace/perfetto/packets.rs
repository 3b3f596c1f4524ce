//! Writes packets, each of which is a file of its own: files that stand one after the other are
//! one.

use super::proto::{
    BuiltinClock, ChildTracksOrdering, Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, EventType, Trace,
    TracePacket, TrackDescriptor, TrackEvent,
};
use numaestro_engine::Nanos;
use prost::Message;
use std::io::{Result, Write};

/// All packets come from one writer.
const SEQUENCE: u32 = 1;
/// The unit of all counters; those of one application have the same scale.
const UNIT: &str = "processors";

/// A row of the viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track(u64);

/// The file, being written.
pub struct Packets<'a> {
    out: &'a mut dyn Write,
    /// The number of tracks so far. Number 0 is the track that needs no description.
    tracks: u64,
}

impl<'a> Packets<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, tracks: 0 }
    }

    /// Says what the date was at time 0.
    pub fn date(&mut self, began: Nanos) -> Result<()> {
        let clock = |clock: BuiltinClock, timestamp| Clock { clock_id: Some(clock as u32), timestamp: Some(timestamp) };
        let clock_snapshot = Some(ClockSnapshot {
            clocks: vec![clock(BuiltinClock::Boottime, 0), clock(BuiltinClock::Realtime, began)],
            primary_trace_clock: Some(BuiltinClock::Boottime.into()),
        });
        self.push(TracePacket { clock_snapshot, ..TracePacket::default() })
    }

    /// Adds a track below its parent and the earlier tracks there.
    pub fn track(&mut self, parent: Option<Track>, name: &str, about: Option<String>) -> Result<Track> {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: parent.map(|Track(uuid)| uuid),
            child_ordering: Some(ChildTracksOrdering::Explicit.into()),
            description: about,
            ..TrackDescriptor::default()
        })
    }

    /// Adds a track that counts processors.
    pub fn counter(&mut self, parent: Track, name: &str) -> Result<Track> {
        self.describe(TrackDescriptor {
            name: Some(name.to_owned()),
            parent_uuid: Some(parent.0),
            counter: Some(CounterDescriptor {
                unit_name: Some(UNIT.to_owned()),
                y_axis_share_key: Some(UNIT.to_owned()),
            }),
            ..TrackDescriptor::default()
        })
    }

    fn describe(&mut self, track: TrackDescriptor) -> Result<Track> {
        self.tracks += 1;
        let (uuid, rank) = (Some(self.tracks), i32::try_from(self.tracks).ok());
        let track_descriptor = Some(TrackDescriptor { uuid, sibling_order_rank: rank, ..track });
        self.push(TracePacket { track_descriptor, ..TracePacket::default() })?;
        Ok(Track(self.tracks))
    }

    /// Writes an interval. Readers keep the order of packets of the same time: an interval that
    /// begins where another ends on its track must be written after it.
    pub fn slice(
        &mut self,
        track: Track,
        (from, to): (Nanos, Nanos),
        name: &str,
        arguments: Vec<DebugAnnotation>,
    ) -> Result<()> {
        let begin = TrackEvent { name: Some(name.to_owned()), debug_annotations: arguments, ..TrackEvent::default() };
        self.event(track, from, EventType::SliceBegin, begin)?;
        self.event(track, to, EventType::SliceEnd, TrackEvent::default())
    }

    /// Writes a moment.
    pub fn instant(&mut self, track: Track, at: Nanos, name: String, arguments: Vec<DebugAnnotation>) -> Result<()> {
        let event = TrackEvent { name: Some(name), debug_annotations: arguments, ..TrackEvent::default() };
        self.event(track, at, EventType::Instant, event)
    }

    /// Writes the value of a counter from this time on.
    pub fn count(&mut self, track: Track, at: Nanos, value: u32) -> Result<()> {
        let event = TrackEvent { counter_value: Some(value.into()), ..TrackEvent::default() };
        self.event(track, at, EventType::Counter, event)
    }

    fn event(&mut self, Track(uuid): Track, at: Nanos, kind: EventType, event: TrackEvent) -> Result<()> {
        let track_event = Some(TrackEvent { r#type: Some(kind.into()), track_uuid: Some(uuid), ..event });
        self.push(TracePacket { timestamp: Some(at), track_event, ..TracePacket::default() })
    }

    fn push(&mut self, packet: TracePacket) -> Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
    }
}
