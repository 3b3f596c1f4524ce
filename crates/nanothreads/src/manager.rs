//! The manager, as the C client shows it (`client/include/numaestro.h`): the primitives of the
//! NANOS CPU Manager (Martorell et al. 2000, Figs. 3 and 4). Under `numaestro run` they come from
//! the preloaded library, otherwise from a copy in this crate; with both, a program would attach
//! twice.
//!
//! Unlike every other allocation it keeps the table of virtual processors itself, and parks them.

use std::ffi::{CStr, c_int, c_uint};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Version of the interface this was written for: `major * 65536 + minor`.
const VERSION: u32 = 0x0001_0001;
const OK: c_int = 0;

mod copy {
    use std::ffi::{c_int, c_uint};

    unsafe extern "C" {
        pub safe fn nth_client_api_version() -> u32;
        pub safe fn nth_client_attach() -> c_int;
        pub safe fn nth_client_current() -> c_int;
        pub safe fn nth_client_asked_back() -> c_int;
        pub safe fn nth_client_request(processors: c_int) -> c_int;
        pub safe fn nth_client_vp_register(vp: c_int) -> c_int;
        pub safe fn nth_client_vp_release(vp: c_int) -> c_int;
        pub safe fn nth_client_vp_preempted() -> c_int;
        pub safe fn nth_client_vp_claim() -> c_int;
        pub safe fn nth_client_vp_handoff(work: c_int) -> c_int;
        pub fn nth_client_vp_info(vp: c_int, out: *mut super::Info) -> c_int;
        pub safe fn nth_client_report_speedup(processors: c_int, milli: c_uint) -> c_int;
    }
}

/// The client's functions, from either source. All of them are thread-safe; but for one they take
/// numbers only.
struct Client {
    api_version: extern "C" fn() -> u32,
    attach: extern "C" fn() -> c_int,
    current: extern "C" fn() -> c_int,
    asked_back: extern "C" fn() -> c_int,
    request: extern "C" fn(c_int) -> c_int,
    vp_register: extern "C" fn(c_int) -> c_int,
    vp_release: extern "C" fn(c_int) -> c_int,
    vp_preempted: extern "C" fn() -> c_int,
    vp_claim: extern "C" fn() -> c_int,
    vp_handoff: extern "C" fn(c_int) -> c_int,
    vp_info: unsafe extern "C" fn(c_int, *mut Info) -> c_int,
    report_speedup: extern "C" fn(c_int, c_uint) -> c_int,
}

impl Client {
    /// The functions of the preloaded library, if it has all of them.
    fn preloaded() -> Option<Self> {
        /// # Safety
        /// `F` is the type of the function of this name.
        unsafe fn find<F: Copy>(name: &CStr) -> Option<F> {
            // SAFETY: a search by name; it changes nothing.
            let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            // SAFETY: function pointers are as large as data pointers here, and the caller promises
            // the type.
            (!address.is_null()).then(|| unsafe { std::mem::transmute_copy(&address) })
        }
        // SAFETY: the types are those of the header.
        unsafe {
            Some(Self {
                api_version: find(c"numaestro_api_version")?,
                attach: find(c"numaestro_attach")?,
                current: find(c"numaestro_current")?,
                asked_back: find(c"numaestro_asked_back")?,
                request: find(c"numaestro_request")?,
                vp_register: find(c"numaestro_vp_register")?,
                vp_release: find(c"numaestro_vp_release")?,
                vp_preempted: find(c"numaestro_vp_preempted")?,
                vp_claim: find(c"numaestro_vp_claim")?,
                vp_handoff: find(c"numaestro_vp_handoff")?,
                vp_info: find(c"numaestro_vp_info")?,
                report_speedup: find(c"numaestro_report_speedup")?,
            })
        }
    }

    fn own() -> Self {
        Self {
            api_version: copy::nth_client_api_version,
            attach: copy::nth_client_attach,
            current: copy::nth_client_current,
            asked_back: copy::nth_client_asked_back,
            request: copy::nth_client_request,
            vp_register: copy::nth_client_vp_register,
            vp_release: copy::nth_client_vp_release,
            vp_preempted: copy::nth_client_vp_preempted,
            vp_claim: copy::nth_client_vp_claim,
            vp_handoff: copy::nth_client_vp_handoff,
            vp_info: copy::nth_client_vp_info,
            report_speedup: copy::nth_client_report_speedup,
        }
    }
}

/// An attached manager.
pub struct Manager {
    client: Client,
    /// Number of virtual processors, which the program asks for unless it says otherwise.
    wanted: AtomicUsize,
    /// Number of virtual processors that are not parked. One always stays: it takes jobs from
    /// outside.
    present: AtomicUsize,
    /// A virtual processor has parked, by which the program has said that it can use fewer.
    lowered: AtomicBool,
    /// By virtual processor: it is parked, or about to be.
    away: Box<[AtomicBool]>,
}

/// `struct numaestro_vp`.
#[repr(C)]
#[derive(Default)]
struct Info {
    state: c_int,
    processor: c_int,
    thread: c_int,
}

/// `NUMAESTRO_VP_UNALLOCATED`.
const UNALLOCATED: c_int = 1;

impl Manager {
    /// Attaches this process; `None` if there is no manager.
    pub fn attach(vps: usize) -> Option<Self> {
        let client = Client::preloaded().unwrap_or_else(Client::own);
        let version = (client.api_version)();
        if version >> 16 != VERSION >> 16 || version < VERSION || (client.attach)() != OK {
            return None;
        }
        let manager = Self {
            client,
            wanted: AtomicUsize::new(vps),
            present: AtomicUsize::new(vps),
            lowered: AtomicBool::new(false),
            away: (0..vps).map(|_| AtomicBool::new(false)).collect(),
        };
        manager.request(vps);
        Some(manager)
    }

    /// The calling thread is virtual processor `vp` from now on.
    pub fn register(&self, vp: usize) {
        // Without a manager (it has just died) the call fails, which does no harm.
        let _ = (self.client.vp_register)(number(vp));
    }

    /// Number of virtual processors that have a processor now, at least 1.
    pub fn processors(&self) -> usize {
        usize::try_from((self.client.current)()).unwrap_or(1).max(1)
    }

    /// Are processors asked back, or has the caller lost its own? About a nanosecond while not.
    #[inline]
    pub fn asked_back(&self) -> bool {
        (self.client.asked_back)() > 0
    }

    /// Is there a virtual processor that lost its processor in the middle of work?
    #[inline]
    pub fn any_preempted(&self) -> bool {
        (self.client.vp_preempted)() > 0
    }

    /// Tells how many processors the program wants; 0, no wish, counts as `vps`.
    pub fn wish(&self, processors: usize, vps: usize) -> bool {
        let wanted = if processors == 0 { vps } else { processors };
        self.wanted.store(wanted, Ordering::Relaxed);
        self.request(processors)
    }

    fn request(&self, processors: usize) -> bool {
        (self.client.request)(number(processors)) == OK
    }

    /// Tells that there is work again for parked virtual processors; `false` if none has parked
    /// since the last time. It tells nothing while one is about to park: its parking would come
    /// after this and undo it.
    pub fn want_more(&self) -> bool {
        let settled = |(vp, away): (usize, &AtomicBool)| !away.load(Ordering::SeqCst) || self.is_parked(vp);
        let lowered = self.lowered.load(Ordering::SeqCst)
            && self.away.iter().enumerate().all(settled)
            && self.lowered.swap(false, Ordering::SeqCst);
        if lowered {
            self.request(self.wanted.load(Ordering::Relaxed));
        }
        lowered
    }

    fn is_parked(&self, vp: usize) -> bool {
        let mut info = Info::default();
        // SAFETY: `info` has the layout of the header.
        unsafe { (self.client.vp_info)(number(vp), &raw mut info) == OK && info.state == UNALLOCATED }
    }

    /// Gives the processor of `vp`, which is the caller, back, and parks until there is one for it
    /// again. Just before, calls `before`, with `true` if the program has to say later, by
    /// [`want_more`](Self::want_more), that it can use more again. `false`: it is the last one, or
    /// there is no manager, so it has not parked.
    pub fn release(&self, vp: usize, before: impl FnOnce(bool)) -> bool {
        self.leave(vp, before, || (self.client.vp_release)(number(vp)))
    }

    /// Hands the processor of `vp`, which is the caller, to a virtual processor that lost its own,
    /// after it was passed to `wake`, and parks. `before` as in [`release`](Self::release).
    /// `false`: there was none.
    pub fn hand_over(&self, vp: usize, wake: impl FnOnce(usize), before: impl FnOnce(bool)) -> bool {
        let work = (self.client.vp_claim)();
        let Ok(heir) = usize::try_from(work) else {
            return false;
        };
        wake(heir);
        self.leave(vp, before, || (self.client.vp_handoff)(work))
    }

    fn leave(&self, vp: usize, before: impl FnOnce(bool), park: impl FnOnce() -> c_int) -> bool {
        let one_less = |present| (present > 1).then(|| present - 1);
        if self.present.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err() {
            return false;
        }
        self.away[vp].store(true, Ordering::SeqCst);
        before(!self.lowered.swap(true, Ordering::SeqCst));
        let parked = park() == OK;
        self.away[vp].store(false, Ordering::SeqCst);
        self.present.fetch_add(1, Ordering::SeqCst);
        parked
    }

    /// Reports the speedup with so many processors, in thousandths.
    pub fn report_speedup(&self, processors: usize, milli: u32) -> bool {
        (self.client.report_speedup)(number(processors), milli) == OK
    }
}

fn number(value: usize) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}
