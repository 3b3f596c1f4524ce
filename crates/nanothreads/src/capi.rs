//! The C API. `include/nanothreads.h` is its manual; this file connects it with the Rust API.
//!
//! Each function is one call of the Rust API.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::barrier::Barrier;
use crate::graph::{Graph, Task};
use crate::runtime::{BuildError, Runtime};
use crate::spawn::JoinHandle;
use crate::vp;

const OK: c_int = 0;
const EXISTS: c_int = -1;
const INVALID: c_int = -2;
const SYSTEM: c_int = -3;
const CYCLE: c_int = -4;
const UNMANAGED: c_int = -5;

const VERSION: u32 = 0x0001_0000;
const UNTIED: c_uint = 1;

/// An argument of the program: the program answers for the data it points to, as with every thread
/// library.
#[derive(Clone, Copy)]
struct Argument(*mut c_void);

// SAFETY: the header says that functions and arguments are used by other threads.
unsafe impl Send for Argument {}
// SAFETY: as above.
unsafe impl Sync for Argument {}

type Procedure = unsafe extern "C" fn(*mut c_void);
type Function = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Body = unsafe extern "C" fn(usize, usize, *mut c_void);

impl Argument {
    /// # Safety
    /// `procedure` may be called with this argument.
    unsafe fn pass_to(self, procedure: Procedure) {
        // SAFETY: the caller promises it.
        unsafe { procedure(self.0) }
    }
}

static RUNTIME: Mutex<Option<Arc<Runtime>>> = Mutex::new(None);

/// Runs `work` in a nano-thread: the caller if it is one, otherwise one of the C program's runtime.
fn inside<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if vp::current().is_some() { work() } else { runtime().install(work) }
}

fn runtime() -> Arc<Runtime> {
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let made = || match Runtime::builder().build() {
        Ok(runtime) => Arc::new(runtime),
        Err(error) => panic!("no runtime for nano-threads: {error}"),
    };
    Arc::clone(slot.get_or_insert_with(made))
}

/// `nth_options`.
#[repr(C)]
pub struct Options {
    struct_size: usize,
    vps: c_uint,
    flags: c_uint,
    stack_bytes: usize,
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_api_version() -> u32 {
    VERSION
}

/// See `nanothreads.h`.
///
/// # Safety
/// `options` is null or points to options whose size is right.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_init(options: *const Options) -> c_int {
    // SAFETY: the caller promises it.
    let options = unsafe { options.as_ref() };
    let mut builder = Runtime::builder();
    if let Some(options) = options {
        if options.struct_size < size_of::<Options>() || options.flags & !UNTIED != 0 {
            return INVALID;
        }
        if options.vps > 0 {
            builder = builder.vps(options.vps as usize);
        }
        if options.stack_bytes > 0 {
            builder = builder.stack_bytes(options.stack_bytes);
        }
        if options.flags & UNTIED != 0 {
            // SAFETY: the header makes this promise the program's.
            builder = unsafe { builder.untied() };
        }
    }
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.is_some() {
        return EXISTS;
    }
    match builder.build() {
        Ok(runtime) => {
            *slot = Some(Arc::new(runtime));
            OK
        }
        Err(BuildError::Vps(_)) => INVALID,
        Err(BuildError::Thread(_)) => SYSTEM,
    }
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_finish() -> c_int {
    if vp::current().is_some() {
        return INVALID;
    }
    let runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(runtime);
    OK
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_processors() -> c_int {
    let processors = match vp::current() {
        Some(vp) => vp.registry().processors(),
        None => runtime().processors(),
    };
    c_int::try_from(processors).unwrap_or(c_int::MAX)
}

fn listened(heard: bool) -> c_int {
    if heard { OK } else { UNMANAGED }
}

fn processors_in_range(processors: c_int) -> Option<usize> {
    usize::try_from(processors).ok().filter(|&processors| processors <= 65536)
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_request(processors: c_int) -> c_int {
    processors_in_range(processors).map_or(INVALID, |processors| listened(runtime().request(processors)))
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_report_speedup(processors: c_int, speedup_milli: c_uint) -> c_int {
    match processors_in_range(processors) {
        Some(processors) if processors > 0 && speedup_milli > 0 => {
            listened(runtime().report_speedup(processors, speedup_milli))
        }
        _ => INVALID,
    }
}

/// See `nanothreads.h`.
///
/// # Safety
/// `body` may be called with `arg` by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_parallel_for(begin: usize, end: usize, grain: usize, body: Body, arg: *mut c_void) {
    let arg = Argument(arg);
    inside(move || {
        // SAFETY: the caller promises it.
        let call = |arg: Argument, from, to| unsafe { body(from, to, arg.0) };
        crate::parallel_for_chunks(begin..end.max(begin), grain, |chunk| call(arg, chunk.start, chunk.end));
    });
}

/// See `nanothreads.h`.
///
/// # Safety
/// Both functions may be called with their arguments by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_both(
    first: Procedure,
    first_arg: *mut c_void,
    second: Procedure,
    second_arg: *mut c_void,
) {
    let (first_arg, second_arg) = (Argument(first_arg), Argument(second_arg));
    // SAFETY: the caller promises it.
    let (a, b) = (move || unsafe { first_arg.pass_to(first) }, move || unsafe { second_arg.pass_to(second) });
    inside(move || crate::join(a, b));
}

/// `nth_thread`.
pub struct Thread(JoinHandle<Argument>);

/// See `nanothreads.h`.
///
/// # Safety
/// `work` may be called with `arg` by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_spawn(work: Function, arg: *mut c_void) -> *mut Thread {
    let arg = Argument(arg);
    let work = move || {
        let arg = arg;
        // SAFETY: the caller promises it.
        Argument(unsafe { work(arg.0) })
    };
    let handle = if vp::current().is_some() { crate::spawn(work) } else { runtime().spawn(work) };
    Box::into_raw(Box::new(Thread(handle)))
}

/// See `nanothreads.h`.
///
/// # Safety
/// `thread` came from `nth_spawn` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_join(thread: *mut Thread) -> *mut c_void {
    // SAFETY: the caller promises it.
    unsafe { Box::from_raw(thread) }.0.join().0
}

/// See `nanothreads.h`.
///
/// # Safety
/// `thread` came from `nth_spawn` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_detach(thread: *mut Thread) {
    // SAFETY: the caller promises it.
    drop(unsafe { Box::from_raw(thread) });
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_barrier_create(parties: usize) -> *mut Barrier {
    if parties == 0 || u16::try_from(parties).is_err() {
        return std::ptr::null_mut();
    }
    Box::into_raw(Box::new(Barrier::new(parties)))
}

/// See `nanothreads.h`.
///
/// # Safety
/// `barrier` came from `nth_barrier_create` and was not destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_barrier_wait(barrier: *const Barrier) -> c_int {
    // SAFETY: the caller promises it.
    c_int::from(unsafe { &*barrier }.wait())
}

/// See `nanothreads.h`.
///
/// # Safety
/// `barrier` is null or came from `nth_barrier_create`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_barrier_destroy(barrier: *mut Barrier) {
    if !barrier.is_null() {
        // SAFETY: the caller promises it.
        drop(unsafe { Box::from_raw(barrier) });
    }
}

/// `nth_graph`.
#[derive(Default)]
pub struct CGraph {
    graph: Graph<'static>,
    tasks: Vec<Task>,
}

/// See `nanothreads.h`.
#[unsafe(no_mangle)]
pub extern "C" fn nth_graph_create() -> *mut CGraph {
    Box::into_raw(Box::default())
}

/// See `nanothreads.h`.
///
/// # Safety
/// `graph` came from `nth_graph_create`; `work` may be called with `arg` by any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_graph_task(graph: *mut CGraph, work: Procedure, arg: *mut c_void) -> c_int {
    let arg = Argument(arg);
    // SAFETY: the caller promises it.
    let graph = unsafe { &mut *graph };
    // SAFETY: the caller promises it.
    graph.tasks.push(graph.graph.task(move || unsafe { arg.pass_to(work) }));
    c_int::try_from(graph.tasks.len() - 1).unwrap_or(INVALID)
}

/// See `nanothreads.h`.
///
/// # Safety
/// `graph` came from `nth_graph_create`; `others` points to `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_graph_after(graph: *mut CGraph, task: c_int, others: *const c_int, count: usize) -> c_int {
    // SAFETY: the caller promises it.
    let graph = unsafe { &mut *graph };
    let find = |number: c_int| usize::try_from(number).ok().and_then(|number| graph.tasks.get(number).copied());
    // SAFETY: the caller promises it; with a count of 0 the pointer may be null.
    let others = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(others, count) } };
    let others: Option<Vec<Task>> = others.iter().map(|&number| find(number)).collect();
    let (Some(task), Some(others)) = (find(task), others) else {
        return INVALID;
    };
    graph.graph.after(task, &others);
    OK
}

/// See `nanothreads.h`.
///
/// # Safety
/// `graph` came from `nth_graph_create` and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_graph_run(graph: *mut CGraph) -> c_int {
    // SAFETY: the caller promises it.
    let graph = unsafe { Box::from_raw(graph) };
    let graph = graph.graph;
    inside(move || graph.run()).map_or(CYCLE, |()| OK)
}

/// See `nanothreads.h`.
///
/// # Safety
/// `graph` is null or came from `nth_graph_create`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nth_graph_destroy(graph: *mut CGraph) {
    if !graph.is_null() {
        // SAFETY: the caller promises it.
        drop(unsafe { Box::from_raw(graph) });
    }
}
