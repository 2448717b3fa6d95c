//! The conversation: requests in, answers out, in order.

use crate::{
    fields::unhex,
    layers::{to_json, Answer, Wants, LAYERS},
    workers::{Request, Workers},
};
use serde_json::{json, Value};
use std::io::{self, BufRead, Read, Write};

const CAPABILITIES: [&str; 6] = ["decode", "encode", "batch", "relate", "debug", "allocated"];
/// The largest batch of inputs that one command may announce, in bytes.
const LARGEST_BATCH: u64 = 64 << 20;

pub fn serve(cap: usize) -> io::Result<()> {
    let mut workers = Workers::new(cap)?;
    let (mut input, mut output) = (io::stdin().lock(), io::BufWriter::new(io::stdout().lock()));
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let request: Value = match serde_json::from_str(&line) {
            Ok(request) => request,
            Err(e) => {
                say(&mut output, &json!({ "error": format!("not a JSON object: {e}") }))?;
                continue;
            }
        };
        match request["cmd"].as_str() {
            Some("start") => say(&mut output, &hello())?,
            Some("capability") => say(&mut output, &capability(&request))?,
            Some("batch") => batch(&request, &mut workers, &mut input, &mut output)?,
            Some("stop") => return say(&mut output, &json!({ "ok": true })),
            _ => say(&mut output, &single(&request, &mut workers)?)?,
        }
        if workers.worn_out() {
            return Err(io::Error::other("too many calls went over the cap of allocations: start me again"));
        }
    }
}

fn say(output: &mut impl Write, answer: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *output, answer)?;
    output.write_all(b"\n")?;
    output.flush()
}

fn hello() -> Value {
    let identity = json!({ "name": "zenoh-codec", "version": env!("CARGO_PKG_VERSION"), "language": "rust" });
    json!({ "ok": true, "identity": identity, "layers": LAYERS, "capabilities": CAPABILITIES })
}

fn capability(request: &Value) -> Value {
    match request["name"].as_str() {
        Some(name) if CAPABILITIES.contains(&name) => json!({ "ok": true }),
        _ => json!({ "ok": false, "unimplemented": true }),
    }
}

fn single(request: &Value, workers: &mut Workers) -> io::Result<Value> {
    let seq = &request["seq"];
    let answer = match parse(request) {
        Err(why) => Some(Answer::refused(why)),
        Ok(None) => Some(Answer::Unimplemented(format!("no such command: {}", request["cmd"]))),
        Ok(Some(request)) => workers.run(vec![request])?.pop(),
    };
    Ok(to_json(seq, &answer.ok_or_else(|| io::Error::other("a request had no answer"))?))
}

fn parse(request: &Value) -> Result<Option<Request>, String> {
    let text = |name: &str| request[name].as_str().map(str::to_owned).ok_or(format!("{name}: expected a string"));
    Ok(match request["cmd"].as_str() {
        Some("decode") => {
            let wants = Wants { meaning: true, debug: true, encoded: true, plain: false };
            Some(Request::Decode { layer: text("layer")?, bytes: unhex(&text("bytes")?)?, wants })
        },
        Some("encode") => Some(Request::Encode { layer: text("layer")?, means: request["means"].clone() }),
        Some("relate") => Some(Request::Relate { left: text("left")?, right: text("right")? }),
        _ => None,
    })
}

/// `count` inputs, each behind its u32 length; answered by as many records of status, number and text.
fn batch(
    request: &Value,
    workers: &mut Workers,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<()> {
    let size = request["bytes"].as_u64().filter(|n| *n <= LARGEST_BATCH);
    let size = size.ok_or_else(|| io::Error::other("batch: `bytes` must tell the size, 64 MiB at most"))?;
    let mut raw = Vec::new();
    input.take(size).read_to_end(&mut raw)?;
    let layer = request["layer"].as_str().unwrap_or_default();
    let answers = workers.run(split(&raw, layer)?)?;
    let mut out = Vec::new();
    for answer in &answers {
        record(&mut out, answer);
    }
    let head = json!({ "seq": request["seq"], "ok": true, "count": answers.len(), "bytes": out.len() });
    serde_json::to_writer(&mut *output, &head)?;
    output.write_all(b"\n")?;
    output.write_all(&out)?;
    output.flush()
}

fn split(mut raw: &[u8], layer: &str) -> io::Result<Vec<Request>> {
    let mut requests = Vec::new();
    while !raw.is_empty() {
        let short = || io::Error::other("batch: a length points past the end");
        let (length, rest) = raw.split_at_checked(4).ok_or_else(short)?;
        let length = u32::from_le_bytes(length.try_into().map_err(io::Error::other)?);
        let (bytes, rest) = rest.split_at_checked(length as usize).ok_or_else(short)?;
        let wants = Wants { encoded: true, ..Wants::default() };
        requests.push(Request::Decode { layer: layer.to_owned(), bytes: bytes.to_vec(), wants });
        raw = rest;
    }
    Ok(requests)
}

/// Status (0 decoded, 1 refused, 2 unimplemented, 3 crash), the size or place as u32, and bytes behind their u32
/// length: what it encodes to again, or why.
fn record(out: &mut Vec<u8>, answer: &Answer) {
    const NOWHERE: u32 = u32::MAX;
    let (status, number, bytes): (u8, u32, &[u8]) = match answer {
        Answer::Decoded { size, encoded, .. } => (0, *size as u32, encoded.as_deref().unwrap_or_default()),
        Answer::Refused { why, at, .. } => (1, at.map_or(NOWHERE, |at| at as u32), why.as_bytes()),
        Answer::Unimplemented(why) => (2, NOWHERE, why.as_bytes()),
        Answer::Crashed(text) => (3, NOWHERE, text.as_bytes()),
        Answer::Encoded(_) | Answer::Related(_) => (2, NOWHERE, b"batches decode only"),
    };
    out.push(status);
    out.extend(number.to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(bytes);
}
