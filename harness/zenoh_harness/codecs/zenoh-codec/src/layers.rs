//! What each layer of the protocol means for this codec: bytes to an answer, and a meaning to bytes.

use crate::{
    fields::{hex, number, Fields},
    guard::{self, Spent},
    network, scouting,
    shared::Object,
    transport,
};
use serde_json::Value;
use std::sync::Arc;
use zenoh_buffers::{
    reader::{DidntRead, HasReader, Reader},
    writer::{DidntWrite, HasWriter},
    ZSlice,
};
use zenoh_codec::{RCodec, WCodec, Zenoh080};
use zenoh_keyexpr::{keyexpr, OwnedKeyExpr};
#[cfg(has_message_ref)]
use zenoh_protocol::transport::{TransportBodyLowLatencyRef, TransportMessageLowLatencyRef};
use zenoh_protocol::{
    network::NetworkMessage,
    scouting::ScoutingMessage,
    transport::{TransportBodyLowLatency, TransportMessage, TransportMessageLowLatency},
};

pub const LAYERS: [&str; 7] = ["transport", "network", "scouting", "batch", "lowlatency", "vle", "keyexpr"];

/// What became of one request.
pub enum Answer {
    Decoded { means: Value, size: usize, encoded: Option<Vec<u8>>, debug: String, spent: Spent },
    Encoded(Vec<u8>),
    Related(Value),
    Refused { why: String, at: Option<usize>, spent: Spent },
    Unimplemented(String),
    Crashed(String),
}

impl Answer {
    pub fn refused(why: impl Into<String>) -> Self {
        Answer::Refused { why: why.into(), at: None, spent: Spent::default() }
    }
}

/// What an answer to `decode` tells besides its verdict: each of these takes time.
#[derive(Clone, Copy, Default)]
pub struct Wants {
    pub meaning: bool,
    pub debug: bool,
    pub encoded: bool,
    /// Read from a plain slice of bytes; otherwise from a `ZSlice`, which shares its memory, as the router does.
    pub plain: bool,
}

/// Writes with the codec; nothing when it would not.
macro_rules! written {
    ($message:expr) => {{
        guard::doing("writing");
        let mut out = Vec::new();
        let mut writer = out.writer();
        let result: Result<(), DidntWrite> = Zenoh080::new().write(&mut writer, $message);
        result.is_ok().then_some(out)
    }};
}

/// Reads messages until the bytes end or, with `$many` false, after the first.
macro_rules! read {
    ($input:expr, $type:ty, $many:expr, $means:expr, $write:expr) => {
        read!($input, $type, $many, $means, $write, |_: &mut $type| 0)
    };
    ($input:expr, $type:ty, $many:expr, $means:expr, $write:expr, $give_back:expr) => {{
        let (bytes, wants) = $input;
        let bytes = Arc::new(bytes);
        let (mut means, mut encoded, mut debug) = (Vec::new(), wants.encoded.then(Vec::new), String::new());
        let (mut at, mut spent) = (0, Spent::default());
        loop {
            let (result, asked, left) = one::<$type>(&bytes, at, wants.plain);
            spent = Spent { sum: spent.sum + asked.sum, largest: spent.largest.max(asked.largest) };
            at = bytes.len() - left;
            let Ok(mut message) = result else {
                let why = format!("zenoh-codec did not read a {}", stringify!($type));
                return Answer::Refused { why, at: Some(at), spent };
            };
            at -= $give_back(&mut message);
            if wants.meaning {
                means.push($means(&message));
            }
            if wants.debug {
                debug += &format!("{}{message:?}", if debug.is_empty() { "" } else { "\n" });
            }
            if wants.encoded {
                encoded = encoded.zip($write(&message)).map(|(mut all, one): (Vec<u8>, Vec<u8>)| {
                    all.extend(one);
                    all
                });
            }
            if !$many || at == bytes.len() {
                break;
            }
        }
        let means = match $many {
            true => Object::default().set("messages", means).kind("Batch"),
            false => means.pop().unwrap_or(Value::Null),
        };
        Answer::Decoded { means, size: at, encoded, debug, spent }
    }};
}

/// Reads one message from `at` on: the result, what it asked of the allocator, and how many bytes are left.
fn one<T>(bytes: &Arc<Vec<u8>>, at: usize, plain: bool) -> (Result<T, DidntRead>, Spent, usize)
where
    Zenoh080: for<'a, 'b> RCodec<T, &'a mut &'b [u8], Error = DidntRead>
        + for<'a, 'b> RCodec<T, &'a mut &'b mut ZSlice, Error = DidntRead>,
{
    if plain {
        let mut reader = bytes[at..].reader();
        let (result, spent) = guard::counted(|| Zenoh080::new().read(&mut reader));
        return (result, spent, reader.remaining());
    }
    let mut slice = ZSlice::new(bytes.clone(), at, bytes.len()).expect("the end is the end");
    let mut reader = slice.reader();
    let (result, spent) = guard::counted(|| Zenoh080::new().read(&mut reader));
    (result, spent, reader.remaining())
}

pub fn decode(layer: &str, data: Vec<u8>, wants: Wants) -> Answer {
    let input = (data, wants);
    match layer {
        "transport" => {
            read!(input, TransportMessage, false, transport::means, |m| written!(m), transport::give_back)
        }
        "batch" => read!(input, TransportMessage, true, transport::means, |m| written!(m), transport::give_back),
        "network" => read!(input, NetworkMessage, false, network::means, |m| written!(m)),
        "lowlatency" => read!(input, TransportMessageLowLatency, true, low_latency, write_low_latency),
        "scouting" => read!(input, ScoutingMessage, false, scouting::means, |m| written!(m)),
        "vle" => read!(input, u64, false, |n: &u64| Object::default().set("value", number(*n)).kind("Vle"), |n: &u64| {
            written!(*n)
        }),
        "keyexpr" => key_expression(input.0),
        other => Answer::Unimplemented(format!("no layer is called {other}")),
    }
}

fn low_latency(message: &TransportMessageLowLatency) -> Value {
    match &message.body {
        TransportBodyLowLatency::Close(m) => transport::close(m),
        TransportBodyLowLatency::KeepAlive(_) => Object::default().kind("KeepAlive"),
        TransportBodyLowLatency::Network(m) => network::means(m),
    }
}

#[cfg(has_message_ref)]
fn write_low_latency(message: &TransportMessageLowLatency) -> Option<Vec<u8>> {
    use zenoh_protocol::network::NetworkMessageExt;
    let body = match &message.body {
        TransportBodyLowLatency::Close(m) => TransportBodyLowLatencyRef::Close(*m),
        TransportBodyLowLatency::KeepAlive(m) => TransportBodyLowLatencyRef::KeepAlive(*m),
        TransportBodyLowLatency::Network(m) => TransportBodyLowLatencyRef::Network(m.as_ref()),
    };
    written!(TransportMessageLowLatencyRef { body })
}

#[cfg(not(has_message_ref))]
fn write_low_latency(message: &TransportMessageLowLatency) -> Option<Vec<u8>> {
    written!(message)
}

/// A key expression is read when it can be made canonical; `canonical` is that form, and `encoded` its bytes.
fn key_expression(data: Vec<u8>) -> Answer {
    guard::doing("reading");
    let size = data.len();
    let text = match String::from_utf8(data) {
        Ok(text) => text,
        Err(e) => return Answer::Refused { why: e.to_string(), at: Some(e.utf8_error().valid_up_to()), spent: Spent::default() },
    };
    let valid = keyexpr::new(&text).is_ok();
    let canonical = match OwnedKeyExpr::autocanonize(text.clone()) {
        Ok(key) => key.to_string(),
        Err(e) => return Answer::refused(e.to_string()),
    };
    let encoded = Some(canonical.clone().into_bytes());
    let debug = format!("{canonical:?}");
    let means = Object::default().set("text", text).set("valid", valid).set("canonical", canonical).kind("KeyExpr");
    Answer::Decoded { means, size, encoded, debug, spent: Spent::default() }
}

/// How two canonical key expressions relate.
pub fn relate(left: &str, right: &str) -> Answer {
    guard::doing("relating");
    match (keyexpr::new(left), keyexpr::new(right)) {
        (Ok(l), Ok(r)) => {
            let relation = Object::default().set("intersects", l.intersects(r)).set("includes", l.includes(r));
            Answer::Related(relation.value())
        }
        (Err(e), _) => Answer::refused(format!("left: {e}")),
        (_, Err(e)) => Answer::refused(format!("right: {e}")),
    }
}

pub fn encode(layer: &str, means: &Value) -> Answer {
    let (kind, fields) = match Fields::variant("means", means) {
        Ok(pair) => pair,
        Err(why) => return Answer::refused(why),
    };
    let result = match layer {
        "transport" => transport::build(kind, &fields).map(|m| written!(&m)),
        "network" => network::build(kind, &fields).map(|m| written!(&m)),
        "scouting" => scouting::build(kind, &fields).map(|m| written!(&m)),
        "batch" => encode_batch(&fields, |kind, f| Ok(written!(&transport::build(kind, f)?))),
        "lowlatency" => encode_batch(&fields, encode_low_latency),
        "vle" => fields.int::<u64>("value").map(|n| written!(n)),
        "keyexpr" => fields.text("canonical").map(|text| Some(text.as_bytes().to_vec())),
        other => return Answer::Unimplemented(format!("no layer is called {other}")),
    };
    match result {
        Ok(Some(bytes)) => Answer::Encoded(bytes),
        Ok(None) => Answer::refused("zenoh-codec did not write it"),
        Err(why) if why.contains("structs") => Answer::Unimplemented(why),
        Err(why) => Answer::refused(why),
    }
}

fn encode_batch(
    fields: &Fields,
    write: impl Fn(&str, &Fields) -> Result<Option<Vec<u8>>, String>,
) -> Result<Option<Vec<u8>>, String> {
    let mut all = Some(Vec::new());
    for (i, value) in fields.list("messages")?.iter().enumerate() {
        let (kind, f) = Fields::variant(&format!("messages[{i}]"), value)?;
        all = all.zip(write(kind, &f)?).map(|(mut all, one)| {
            all.extend(one);
            all
        });
    }
    Ok(all)
}

fn encode_low_latency(kind: &str, f: &Fields) -> Result<Option<Vec<u8>>, String> {
    let body = match kind {
        "Close" => TransportBodyLowLatency::Close(transport::read_close(f)?),
        "KeepAlive" => TransportBodyLowLatency::KeepAlive(zenoh_protocol::transport::KeepAlive),
        _ => TransportBodyLowLatency::Network(network::build(kind, f)?),
    };
    Ok(write_low_latency(&TransportMessageLowLatency { body }))
}

/// What a request's answer carries besides the verdict: text, hexadecimal.
pub fn to_json(seq: &Value, answer: &Answer) -> Value {
    let object = Object::default().set("seq", seq.clone());
    match answer {
        Answer::Decoded { means, size, encoded, debug, spent } => object
            .set("ok", true)
            .set("means", means.clone())
            .set("size", *size)
            .set("encoded", encoded.as_deref().map(hex))
            .set("debug", debug.as_str())
            .set("allocated", spent.sum),
        Answer::Encoded(bytes) => object.set("ok", true).set("bytes", hex(bytes)),
        Answer::Related(relation) => object.set("ok", true).set("means", relation.clone()),
        Answer::Refused { why, at, .. } => object.set("ok", false).set("why", why.as_str()).set("at", *at),
        Answer::Unimplemented(why) => object.set("unimplemented", true).set("why", why.as_str()),
        Answer::Crashed(text) => object.set("crash", text.as_str()),
    }
    .value()
}
