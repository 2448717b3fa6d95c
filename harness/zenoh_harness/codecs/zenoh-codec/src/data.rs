//! The sub-messages that carry data: PUT, DEL, QUERY, REPLY, ERR.

use crate::{
    fields::{number, Exts, Fields, Refused},
    shared::{
        encoding, opt_encoding, read_encoding, read_timestamp, read_unknown, read_zid, timestamp, zbuf, zid, List,
        Object,
    },
};
use serde_json::{json, Value};
use zenoh_protocol::{
    core::EntityGlobalIdProto,
    zenoh::{
        ext::{AttachmentType, SourceInfoType, ValueType},
        ConsolidationMode, Del, Err as Error, PushBody, Put, Query, Reply, ResponseBody,
    },
};

pub fn push_body(body: &PushBody) -> Value {
    match body {
        PushBody::Put(m) => put(m),
        PushBody::Del(m) => del(m),
    }
}

pub fn read_push_body(kind: &str, f: &Fields) -> Result<PushBody, Refused> {
    match kind {
        "Put" => Ok(PushBody::Put(read_put(f)?)),
        "Del" => Ok(PushBody::Del(read_del(f)?)),
        other => Err(format!("a push or reply carries Put or Del, not {other}")),
    }
}

pub fn response_body(body: &ResponseBody) -> Value {
    match body {
        ResponseBody::Reply(m) => reply(m),
        ResponseBody::Err(m) => error(m),
    }
}

pub fn read_response_body(kind: &str, f: &Fields) -> Result<ResponseBody, Refused> {
    match kind {
        "Reply" => Ok(ResponseBody::Reply(read_reply(f)?)),
        "Err" => Ok(ResponseBody::Err(read_error(f)?)),
        other => Err(format!("a response carries Reply or Err, not {other}")),
    }
}

fn source_info<const ID: u8>(ext: &Option<SourceInfoType<ID>>) -> Option<Value> {
    ext.as_ref()
        .map(|e| json!({ "zid": zid(&e.id.zid), "eid": number(e.id.eid.into()), "sn": number(e.sn.into()) }))
}

fn read_source_info<const ID: u8>(exts: &mut Exts) -> Result<Option<SourceInfoType<ID>>, Refused> {
    let Some(f) = exts.take("SourceInfo") else { return Ok(None) };
    let id = EntityGlobalIdProto { zid: read_zid(&f, "zid")?, eid: f.int("eid")? };
    Ok(Some(SourceInfoType { id, sn: f.int("sn")? }))
}

fn attachment<const ID: u8>(exts: &mut Exts) -> Result<Option<AttachmentType<ID>>, Refused> {
    Ok(exts.payload("Attachment")?.map(|v| AttachmentType { buffer: v.into() }))
}

fn put(m: &Put) -> Value {
    let exts = List::default()
        .with("SourceInfo", source_info(&m.ext_sinfo))
        .zbuf("Attachment", m.ext_attachment.as_ref().map(|a| &a.buffer))
        .unknown(&m.ext_unknown);
    Object::default()
        .opt("timestamp", m.timestamp.as_ref().map(timestamp))
        .opt("encoding", opt_encoding(&m.encoding))
        .exts(exts)
        .set("payload", zbuf(&m.payload))
        .kind("Put")
}

fn read_put(f: &Fields) -> Result<Put, Refused> {
    let mut exts = f.exts()?;
    let m = Put {
        timestamp: f.opt_object("timestamp")?.map(|t| read_timestamp(&t)).transpose()?,
        encoding: read_encoding(f.opt_object("encoding")?)?,
        ext_sinfo: read_source_info(&mut exts)?,
        ext_attachment: attachment(&mut exts)?,
        ext_unknown: read_unknown(&mut exts)?,
        payload: f.bytes("payload")?.into(),
    };
    exts.done()?;
    Ok(m)
}

fn del(m: &Del) -> Value {
    let exts = List::default()
        .with("SourceInfo", source_info(&m.ext_sinfo))
        .zbuf("Attachment", m.ext_attachment.as_ref().map(|a| &a.buffer))
        .unknown(&m.ext_unknown);
    Object::default().opt("timestamp", m.timestamp.as_ref().map(timestamp)).exts(exts).kind("Del")
}

fn read_del(f: &Fields) -> Result<Del, Refused> {
    let mut exts = f.exts()?;
    let m = Del {
        timestamp: f.opt_object("timestamp")?.map(|t| read_timestamp(&t)).transpose()?,
        ext_sinfo: read_source_info(&mut exts)?,
        ext_attachment: attachment(&mut exts)?,
        ext_unknown: read_unknown(&mut exts)?,
    };
    exts.done()?;
    Ok(m)
}

/// Nothing for Auto: the writer leaves the default out.
fn consolidation(mode: ConsolidationMode) -> Option<u8> {
    match mode {
        ConsolidationMode::Auto => None,
        ConsolidationMode::None => Some(1),
        ConsolidationMode::Monotonic => Some(2),
        ConsolidationMode::Latest => Some(3),
    }
}

fn read_consolidation(f: &Fields) -> Result<ConsolidationMode, Refused> {
    match f.opt_int::<u64>("consolidation")? {
        None | Some(0) => Ok(ConsolidationMode::Auto),
        Some(1) => Ok(ConsolidationMode::None),
        Some(2) => Ok(ConsolidationMode::Monotonic),
        Some(3) => Ok(ConsolidationMode::Latest),
        Some(other) => f.refuse("consolidation", &format!("no such mode: {other}")),
    }
}

pub fn query(m: &Query) -> Value {
    let body = m.ext_body.as_ref().map(|b| json!({ "encoding": encoding(&b.encoding), "payload": zbuf(&b.payload) }));
    let exts = List::default()
        .with("SourceInfo", source_info(&m.ext_sinfo))
        .with("QueryBody", body)
        .zbuf("Attachment", m.ext_attachment.as_ref().map(|a| &a.buffer))
        .unknown(&m.ext_unknown);
    Object::default()
        .opt("consolidation", consolidation(m.consolidation))
        .opt("parameters", Some(m.parameters.as_str()).filter(|p| !p.is_empty()))
        .exts(exts)
        .kind("Query")
}

pub fn read_query(f: &Fields) -> Result<Query, Refused> {
    let mut exts = f.exts()?;
    let ext_body = match exts.take("QueryBody") {
        None => None,
        Some(e) => {
            Some(ValueType { encoding: read_encoding(e.opt_object("encoding")?)?, payload: e.bytes("payload")?.into() })
        }
    };
    let m = Query {
        consolidation: read_consolidation(f)?,
        parameters: f.get("parameters").map_or(Ok(""), |_| f.text("parameters"))?.to_owned(),
        ext_sinfo: read_source_info(&mut exts)?,
        ext_body,
        ext_attachment: attachment(&mut exts)?,
        ext_unknown: read_unknown(&mut exts)?,
    };
    exts.done()?;
    Ok(m)
}

fn reply(m: &Reply) -> Value {
    Object::default()
        .opt("consolidation", consolidation(m.consolidation))
        .exts(List::default().unknown(&m.ext_unknown))
        .set("body", push_body(&m.payload))
        .kind("Reply")
}

fn read_reply(f: &Fields) -> Result<Reply, Refused> {
    let mut exts = f.exts()?;
    let (kind, fields) = f.body("body")?;
    let m = Reply {
        consolidation: read_consolidation(f)?,
        ext_unknown: read_unknown(&mut exts)?,
        payload: read_push_body(kind, &fields)?,
    };
    exts.done()?;
    Ok(m)
}

fn error(m: &Error) -> Value {
    let exts = List::default().with("SourceInfo", source_info(&m.ext_sinfo)).unknown(&m.ext_unknown);
    Object::default()
        .opt("encoding", opt_encoding(&m.encoding))
        .exts(exts)
        .set("payload", zbuf(&m.payload))
        .kind("Err")
}

fn read_error(f: &Fields) -> Result<Error, Refused> {
    let mut exts = f.exts()?;
    let m = Error {
        encoding: read_encoding(f.opt_object("encoding")?)?,
        ext_sinfo: read_source_info(&mut exts)?,
        ext_unknown: read_unknown(&mut exts)?,
        payload: f.bytes("payload")?.into(),
    };
    exts.done()?;
    Ok(m)
}
