//! The answers that choose threads by the bandwidth they need, and what they are compared with. Knows nothing of what they do.

use crate::part::Info;

pub(crate) const RR: Info = Info {
    name: "rr",
    summary: "Threads in turn, as many as there are processors",
    source: "RR, Antonopoulos et al. 2004, §3",
};
pub(crate) const B2ARR: Info = Info {
    name: "b2arr",
    summary: "Half of the processors to threads in turn, half to those that fit the bandwidth that is left",
    source: "Antonopoulos et al. 2004, §4",
};
pub(crate) const B2ADSS: Info = Info {
    name: "b2adss",
    summary: "Processors by request for two quanta at once, each with threads of about the same bandwidth",
    source: "Antonopoulos et al. 2004, §4",
};
pub(crate) const LQG: Info = Info {
    name: "lqg",
    summary: "All threads of an application at once, put together by the bandwidth of their latest quantum",
    source: "Antonopoulos et al. 2004, §4",
};
pub(crate) const QWG: Info = Info {
    name: "qwg",
    summary: "All threads of an application at once, put together by their mean bandwidth over some quanta",
    source: "Antonopoulos et al. 2004, §4",
};
pub(crate) const FITNESS: Info = Info {
    name: "fitness",
    summary: "Any conventional policy for a part of processors or bandwidth, threads that fit what is left for the rest",
    source: "first general method, Antonopoulos et al. 2004, §4",
};
pub(crate) const CHUNKS: Info = Info {
    name: "chunks",
    summary: "Any share for some quanta at once, each with threads of about the same bandwidth",
    source: "second general method, Antonopoulos et al. 2004, §4",
};
