//! A second stack, from which a call can be left in the middle.
//!
//! An allocator must not unwind, and when it returns null Rust aborts.  The program lets the thread that asked for too
//! much sleep for ever; a library is called on its caller's thread.  So it runs each call on a stack of its own, and
//! where the call asks for too much, goes back to the caller and leaves that stack, with all that stands on it, as it
//! is.  Nothing is unwound and nothing is freed: as with the sleeping thread.
//!
//! Elsewhere than on x86-64 Linux a call runs on the caller's stack, and too large a request aborts.

pub use imp::{escape, run};

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod imp {
    use std::{
        alloc::{GlobalAlloc, Layout, System},
        arch::global_asm,
        cell::Cell,
        ptr,
    };

    const SIZE: usize = 1 << 20;

    // Saves what a function must keep, changes stacks, and takes up what was saved there.
    global_asm!(
        ".hidden zcodec_change_stack",
        ".globl zcodec_change_stack",
        "zcodec_change_stack:",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    );

    unsafe extern "C" {
        fn zcodec_change_stack(save: *mut *mut u8, to: *mut u8);
    }

    type Job = *mut (dyn FnMut() + 'static);

    thread_local! {
        static CALLER: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
        /// Where the second stack stands, waiting for a job; null when there is none.
        static SECOND: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
        static JOB: Cell<Option<Job>> = const { Cell::new(None) };
        static ESCAPED: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Runs `job`, which must not unwind; the size that was asked for when it was left in the middle.
    pub fn run(job: &mut dyn FnMut()) -> Result<(), usize> {
        // SAFETY: the job is used until this function returns, and not longer.
        let job = unsafe { std::mem::transmute::<*mut (dyn FnMut() + '_), Job>(job) };
        JOB.set(Some(job));
        ESCAPED.set(None);
        if SECOND.get().is_null() {
            SECOND.set(fresh());
        }
        // SAFETY: both are stacks that this module left by the same function, or made to look so.
        unsafe { zcodec_change_stack(CALLER.with(Cell::as_ptr), SECOND.get()) };
        match ESCAPED.get() {
            None => Ok(()),
            Some(size) => {
                SECOND.set(ptr::null_mut());
                Err(size)
            }
        }
    }

    /// Leaves the job for good.
    pub fn escape(size: usize) -> ! {
        if JOB.get().is_none() {
            std::process::abort();
        }
        ESCAPED.set(Some(size));
        let mut nobody_comes_back = ptr::null_mut();
        // SAFETY: a job runs, so the caller waits in `run`.
        unsafe { zcodec_change_stack(&mut nobody_comes_back, CALLER.get()) };
        std::process::abort();
    }

    extern "C" fn second() -> ! {
        loop {
            if let Some(job) = JOB.get() {
                // SAFETY: `run` waits for it, and holds it.
                unsafe { (*job)() };
            }
            JOB.set(None);
            // SAFETY: the caller waits in `run`.
            unsafe { zcodec_change_stack(SECOND.with(Cell::as_ptr), CALLER.get()) };
        }
    }

    /// A stack on which `second` is about to begin.
    fn fresh() -> *mut u8 {
        let layout = Layout::from_size_align(SIZE, 4096).expect("a constant");
        // SAFETY: the words written are inside; six registers, then where to go on, aligned as after a call.
        unsafe {
            let base = System.alloc(layout);
            assert!(!base.is_null(), "no memory for a stack");
            let top = base.add(SIZE - 64).cast::<usize>();
            for register in 0..6 {
                top.add(register).write(0);
            }
            top.add(6).write(second as *const () as usize);
            top.add(7).write(0);
            top.cast()
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod imp {
    pub fn run(job: &mut dyn FnMut()) -> Result<(), usize> {
        job();
        Ok(())
    }

    pub fn escape(_size: usize) -> ! {
        std::process::abort();
    }
}
