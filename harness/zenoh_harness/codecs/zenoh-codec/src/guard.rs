//! Keeps the process alive when the codec is not: panics are caught, and an allocation that goes over the cap
//! stops its thread instead of ending the process.
//!
//! An allocator must not unwind, and when it returns null Rust aborts.  So a thread that asks for too much says so
//! and sleeps for ever, with all it holds; the owner starts another one.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::{Cell, RefCell},
    panic::{catch_unwind, AssertUnwindSafe},
    sync::{
        atomic::{AtomicUsize, Ordering},
        Condvar, Mutex, OnceLock,
    },
    thread,
};

/// How a worker stands, as its owner sees it.
#[derive(Clone, Copy, PartialEq)]
pub enum Worker {
    Busy,
    Done,
    /// It asked for this many bytes when they went over the cap, and sleeps.
    Lost(usize),
}

static STATE: Mutex<Worker> = Mutex::new(Worker::Done);
static CHANGED: Condvar = Condvar::new();
static CAP: AtomicUsize = AtomicUsize::new(usize::MAX);
static GIVE_UP: OnceLock<GiveUp> = OnceLock::new();

/// What a call does that asks for more than the cap: it never comes back.
pub type GiveUp = fn(usize) -> !;

/// What a call asked of the allocator.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    pub sum: usize,
    pub largest: usize,
}

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static SPENT: Cell<Spent> = const { Cell::new(Spent { sum: 0, largest: 0 }) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    static DOING: Cell<&'static str> = const { Cell::new("") };
}

/// The system's allocator, with a cap on what one guarded call may ask for in sum.
pub struct Counting;

impl Counting {
    fn count(&self, size: usize) {
        let watched = WATCHED.try_with(Cell::get).unwrap_or(false);
        if !watched {
            return;
        }
        let before = SPENT.try_with(Cell::get).unwrap_or_default();
        let spent = Spent { sum: before.sum.saturating_add(size), largest: before.largest.max(size) };
        let _ = SPENT.try_with(|s| s.set(spent));
        if spent.sum > CAP.load(Ordering::Relaxed) {
            give_up(size);
        }
    }
}

// SAFETY: every request goes to the system's allocator unchanged, or never returns.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size());
        found(System.alloc(layout), layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size());
        found(System.alloc_zeroed(layout), layout.size())
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count(size.saturating_sub(layout.size()));
        found(System.realloc(ptr, layout, size), size)
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        System.dealloc(ptr, layout)
    }
}

/// The system refused what the cap allowed: the same end.
fn found(ptr: *mut u8, size: usize) -> *mut u8 {
    if ptr.is_null() && WATCHED.try_with(Cell::get).unwrap_or(false) {
        give_up(size);
    }
    ptr
}

fn give_up(size: usize) -> ! {
    let _ = WATCHED.try_with(|w| w.set(false));
    match GIVE_UP.get() {
        Some(give_up) => give_up(size),
        None => std::process::abort(),
    }
}

/// Gives up on a thread of its own: tells the owner, and sleeps for ever.
pub fn sleep(size: usize) -> ! {
    report(Worker::Lost(size));
    loop {
        thread::park();
    }
}

/// Tells the owner how this worker stands.
pub fn report(state: Worker) {
    *STATE.lock().unwrap_or_else(|e| e.into_inner()) = state;
    CHANGED.notify_all();
}

/// Waits until the worker is done or lost.
pub fn wait() -> Worker {
    let mut state = STATE.lock().unwrap_or_else(|e| e.into_inner());
    while *state == Worker::Busy {
        state = CHANGED.wait(state).unwrap_or_else(|e| e.into_inner());
    }
    *state
}

/// Sets the cap, in bytes a call, and what happens beyond it; keeps the place and text of panics instead of printing them.
pub fn install(cap: usize, give_up: GiveUp) {
    CAP.store(cap, Ordering::Relaxed);
    let _ = GIVE_UP.set(give_up);
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        let _ = PANIC.try_with(|p| *p.borrow_mut() = text);
    }));
}

/// Remembers what is being done, for whoever tells of a panic.
pub fn doing(what: &'static str) {
    DOING.set(what);
}

/// Runs `f`; a panic comes back as what was being done, and its text.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    let result = catch_unwind(AssertUnwindSafe(f));
    WATCHED.set(false);
    result.map_err(|_| format!("while {}: {}", DOING.get(), PANIC.take()))
}

/// Runs `f` under the cap; what it asked for is told beside its result.
pub fn counted<T>(f: impl FnOnce() -> T) -> (T, Spent) {
    DOING.set("reading");
    SPENT.set(Spent::default());
    WATCHED.set(true);
    let result = f();
    WATCHED.set(false);
    DOING.set("telling");
    (result, SPENT.get())
}
