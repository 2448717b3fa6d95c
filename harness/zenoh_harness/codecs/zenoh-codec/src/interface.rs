//! The functions of `zcodec.h`.

use crate::{
    guard::{self, Spent},
    layers::{self, Answer, Wants},
    stack,
};
use serde_json::{json, Value};
use std::{
    cell::RefCell,
    ffi::{c_char, CString},
    ptr, slice, str,
    sync::{Once, OnceLock},
};

const INTERFACE: u32 = 1;
/// By number, as the header has them.
const LAYERS: [&str; 7] = ["transport", "network", "scouting", "batch", "lowlatency", "vle", "keyexpr"];
const CAPABILITIES: [&str; 6] = ["decode", "encode", "relate", "meaning", "plain", "allocated"];

const DECODED: u32 = 0;
const REFUSED: u32 = 1;
const UNIMPLEMENTED: u32 = 2;
const CRASHED: u32 = 3;
const ENCODED: u32 = 4;
const RELATED: u32 = 5;

const WANT_ENCODED: u32 = 1;
const WANT_MEANING: u32 = 2;
const WANT_PLAIN: u32 = 4;

const NONE: u64 = u64::MAX;

/// What one call may ask of the allocator: a message is at most 64 KiB, so this is three orders of magnitude above need.
const CAP: usize = 256 << 20;

#[repr(C)]
pub struct Told {
    size: u64,
    largest: u64,
    allocated: u64,
    bytes: *const u8,
    bytes_size: u64,
    text: *const u8,
    text_size: u64,
}

thread_local! {
    /// What the last answer points at.
    static KEPT: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

#[no_mangle]
pub extern "C" fn zcodec_interface() -> u32 {
    INTERFACE
}

#[no_mangle]
pub extern "C" fn zcodec_hello() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let identity = json!({ "name": "zenoh-codec", "version": env!("CARGO_PKG_VERSION"), "language": "rust" });
        let hello = json!({ "ok": true, "identity": identity, "layers": LAYERS, "capabilities": CAPABILITIES });
        CString::new(hello.to_string()).unwrap_or_default()
    });
    text.as_ptr()
}

/// # Safety
/// `data` points at `size` bytes, `told` at an answer.
#[no_mangle]
pub unsafe extern "C" fn zcodec_decode(layer: u32, data: *const u8, size: u64, wants: u32, told: *mut Told) -> u32 {
    let wants = Wants {
        meaning: wants & WANT_MEANING != 0,
        encoded: wants & WANT_ENCODED != 0,
        plain: wants & WANT_PLAIN != 0,
        debug: false,
    };
    let data = bytes(data, size);
    answer(told, || match LAYERS.get(layer as usize) {
        Some(name) => layers::decode(name, data.to_vec(), wants),
        None => Answer::Unimplemented(format!("no layer has the number {layer}")),
    })
}

/// # Safety
/// `json` points at `size` bytes, `told` at an answer.
#[no_mangle]
pub unsafe extern "C" fn zcodec_encode(layer: u32, json: *const u8, size: u64, told: *mut Told) -> u32 {
    let json = bytes(json, size);
    answer(told, || match (LAYERS.get(layer as usize), serde_json::from_slice::<Value>(json)) {
        (None, _) => Answer::Unimplemented(format!("no layer has the number {layer}")),
        (_, Err(why)) => Answer::refused(format!("not JSON: {why}")),
        (Some(name), Ok(means)) => layers::encode(name, &means),
    })
}

/// # Safety
/// `left` and `right` point at as many bytes as their sizes say, `told` at an answer.
#[no_mangle]
pub unsafe extern "C" fn zcodec_relate(
    left: *const u8,
    left_size: u64,
    right: *const u8,
    right_size: u64,
    told: *mut Told,
) -> u32 {
    let (left, right) = (bytes(left, left_size), bytes(right, right_size));
    answer(told, || match (str::from_utf8(left), str::from_utf8(right)) {
        (Ok(left), Ok(right)) => layers::relate(left, right),
        (Err(why), _) => Answer::refused(format!("left: {why}")),
        (_, Err(why)) => Answer::refused(format!("right: {why}")),
    })
}

unsafe fn bytes<'a>(data: *const u8, size: u64) -> &'a [u8] {
    match size {
        0 => &[],
        _ => slice::from_raw_parts(data, size as usize),
    }
}

/// Runs `ask` on the second stack, under the cap, and fills what the caller gave.
unsafe fn answer(told: *mut Told, ask: impl Fn() -> Answer) -> u32 {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| guard::install(CAP, stack::escape));
    let mut result = None;
    let ended = stack::run(&mut || result = Some(guard::guarded(&ask).unwrap_or_else(Answer::Crashed)));
    let answer = match (ended, result) {
        (Ok(()), Some(answer)) => answer,
        (Ok(()), None) => Answer::Crashed("no answer".to_owned()),
        (Err(size), _) => Answer::Crashed(format!("allocation of {size} bytes went over the cap of {CAP} a call")),
    };
    KEPT.with_borrow_mut(|kept| {
        let (status, filled) = fill(answer, kept, ended.err());
        told.write(filled);
        status
    })
}

fn fill(answer: Answer, kept: &mut (Vec<u8>, Vec<u8>), asked: Option<usize>) -> (u32, Told) {
    let (status, size, spent, data, text) = match answer {
        Answer::Decoded { means, size, encoded, spent, .. } => {
            let text = if means.is_null() { Vec::new() } else { means.to_string().into_bytes() };
            (DECODED, size as u64, Some(spent), encoded, text)
        }
        Answer::Encoded(data) => (ENCODED, 0, None, Some(data), Vec::new()),
        Answer::Related(means) => (RELATED, 0, None, None, means.to_string().into_bytes()),
        Answer::Refused { why, at, spent } => {
            (REFUSED, at.map_or(NONE, |at| at as u64), Some(spent), None, why.into_bytes())
        }
        Answer::Unimplemented(why) => (UNIMPLEMENTED, NONE, None, None, why.into_bytes()),
        Answer::Crashed(why) => (CRASHED, NONE, asked.map(|n| Spent { sum: n, largest: n }), None, why.into_bytes()),
    };
    let written = data.is_some();
    *kept = (data.unwrap_or_default(), text);
    let told = Told {
        size,
        largest: spent.map_or(NONE, |s| s.largest as u64),
        allocated: spent.map_or(NONE, |s| s.sum as u64),
        bytes: if written { kept.0.as_ptr() } else { ptr::null() },
        bytes_size: kept.0.len() as u64,
        text: kept.1.as_ptr(),
        text_size: kept.1.len() as u64,
    };
    (status, told)
}
