//! Network messages: the structs of zenoh-protocol to meanings, and back.

use crate::{
    data, declare,
    fields::{number, Exts, Fields, Refused},
    shared::{
        body, key, qos, read_body, read_key, read_timestamp, read_z64, read_zid, timestamp, zid, List,
        Object,
    },
};
use serde_json::{json, Value};
use zenoh_protocol::{
    network::{
        ext::{NodeIdType, TimestampType},
        interest::{InterestMode, InterestOptions},
        request::ext::QueryTarget,
        Interest, Mapping, NetworkBody, NetworkMessage, Oam, Push, Request, Response, ResponseFinal,
    },
    zenoh::RequestBody,
};

pub fn means(message: &NetworkMessage) -> Value {
    match &message.body {
        NetworkBody::Push(m) => push(m),
        NetworkBody::Request(m) => request(m),
        NetworkBody::Response(m) => response(m),
        NetworkBody::ResponseFinal(m) => response_final(m),
        NetworkBody::Interest(m) => interest(m),
        NetworkBody::Declare(m) => declare::means(m),
        NetworkBody::OAM(m) => oam(m),
    }
}

pub fn build(kind: &str, f: &Fields) -> Result<NetworkMessage, Refused> {
    let body = match kind {
        "Push" => NetworkBody::Push(read_push(f)?),
        "Request" => NetworkBody::Request(read_request(f)?),
        "Response" => NetworkBody::Response(read_response(f)?),
        "ResponseFinal" => NetworkBody::ResponseFinal(read_response_final(f)?),
        "Interest" => NetworkBody::Interest(read_interest(f)?),
        "Declare" => NetworkBody::Declare(declare::build(f)?),
        "NetworkOam" => NetworkBody::OAM(read_oam(f)?),
        other => return Err(format!("no network message is called {other}")),
    };
    Ok(body.into())
}

// --- extensions that several messages carry ------------------------------------------------------------------------

pub fn stamp<const ID: u8>(ext: &Option<TimestampType<ID>>) -> Option<Value> {
    ext.as_ref().map(|e| json!({ "timestamp": timestamp(&e.timestamp) }))
}

pub fn read_stamp<const ID: u8>(exts: &mut Exts) -> Result<Option<TimestampType<ID>>, Refused> {
    match exts.take("Timestamp") {
        None => Ok(None),
        Some(f) => Ok(Some(TimestampType { timestamp: read_timestamp(&f.object("timestamp")?)? })),
    }
}

pub fn node_id<const ID: u8>(ext: &NodeIdType<ID>) -> Option<u64> {
    Some(u64::from(ext.node_id)).filter(|n| *n != 0)
}

pub fn read_node_id<const ID: u8>(exts: &mut Exts) -> Result<NodeIdType<ID>, Refused> {
    Ok(NodeIdType { node_id: exts.value("NodeId")?.unwrap_or(0) })
}

#[cfg(has_ts_stack)]
mod stack {
    use super::*;
    use crate::fields::hex;
    use zenoh_protocol::network::timestamp_stack::{Interception, TimestampStack, TsStackType};

    pub fn means<const ID: u8>(ext: &Option<TsStackType<ID>>) -> Option<Value> {
        ext.as_ref().map(|e| {
            let entry = |i: &Interception| json!({ "flags": i.flags, "stamp": hex(&i.timestamp) });
            let entries: Vec<_> = e.ts_stack.stack.iter().map(entry).collect();
            json!({ "conf_flags": e.ts_stack.conf_flags, "entries": entries })
        })
    }

    pub fn read<const ID: u8>(exts: &mut Exts) -> Result<Option<TsStackType<ID>>, Refused> {
        let Some(f) = exts.take("TsStack") else { return Ok(None) };
        let mut stack = Vec::new();
        for value in f.list("entries")? {
            let entry = Fields::new("TsStack.entries", value)?;
            stack.push(Interception { flags: entry.int("flags")?, timestamp: entry.bytes("stamp")? });
        }
        Ok(Some(TsStackType { ts_stack: TimestampStack { conf_flags: f.int("conf_flags")?, stack } }))
    }
}

// --- PUSH, REQUEST, RESPONSE, RESPONSE_FINAL ------------------------------------------------------------------------

fn push(m: &Push) -> Value {
    let exts = List::default()
        .z64("QoS", qos(m.ext_qos))
        .with("Timestamp", stamp(&m.ext_tstamp))
        .z64("NodeId", node_id(&m.ext_nodeid));
    #[cfg(has_ts_stack)]
    let exts = exts.with("TsStack", stack::means(&m.ext_ts_stack));
    Object::default().set("key", key(&m.wire_expr)).exts(exts).set("body", data::push_body(&m.payload)).kind("Push")
}

fn read_push(f: &Fields) -> Result<Push, Refused> {
    let mut exts = f.exts()?;
    let (kind, fields) = f.body("body")?;
    let m = Push {
        wire_expr: read_key(&f.object("key")?)?,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
        ext_nodeid: read_node_id(&mut exts)?,
        #[cfg(has_ts_stack)]
        ext_ts_stack: stack::read(&mut exts)?,
        payload: data::read_push_body(kind, &fields)?,
    };
    exts.done()?;
    Ok(m)
}

fn request(m: &Request) -> Value {
    let target = match m.ext_target {
        QueryTarget::BestMatching => None,
        QueryTarget::All => Some(1),
        QueryTarget::AllComplete => Some(2),
    };
    let timeout = m.ext_timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
    let exts = List::default()
        .z64("QoS", qos(m.ext_qos))
        .with("Timestamp", stamp(&m.ext_tstamp))
        .z64("QueryTarget", target)
        .z64("Budget", m.ext_budget.map(|b| u64::from(b.get())))
        .z64("Timeout", timeout)
        .z64("NodeId", node_id(&m.ext_nodeid));
    #[cfg(has_ts_stack)]
    let exts = exts.with("TsStack", stack::means(&m.ext_ts_stack));
    let RequestBody::Query(query) = &m.payload;
    Object::default()
        .set("id", m.id)
        .set("key", key(&m.wire_expr))
        .exts(exts)
        .set("body", data::query(query))
        .kind("Request")
}

fn read_request(f: &Fields) -> Result<Request, Refused> {
    let mut exts = f.exts()?;
    let (kind, fields) = f.body("body")?;
    if kind != "Query" {
        return f.refuse("body", &format!("a request carries a Query, not {kind}"));
    }
    let ext_target = match exts.value::<u64>("QueryTarget")? {
        None | Some(0) => QueryTarget::BestMatching,
        Some(1) => QueryTarget::All,
        Some(2) => QueryTarget::AllComplete,
        Some(other) => return f.refuse("exts.QueryTarget", &format!("no such target: {other}")),
    };
    let m = Request {
        id: f.int("id")?,
        wire_expr: read_key(&f.object("key")?)?,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
        ext_nodeid: read_node_id(&mut exts)?,
        ext_target,
        ext_budget: exts.value("Budget")?.and_then(std::num::NonZeroU32::new),
        ext_timeout: exts.value("Timeout")?.map(std::time::Duration::from_millis),
        #[cfg(has_ts_stack)]
        ext_ts_stack: stack::read(&mut exts)?,
        payload: RequestBody::Query(data::read_query(&fields)?),
    };
    exts.done()?;
    Ok(m)
}

fn response(m: &Response) -> Value {
    let responder = m.ext_respid.as_ref().map(|r| json!({ "zid": zid(&r.zid), "eid": number(r.eid.into()) }));
    let exts = List::default()
        .z64("QoS", qos(m.ext_qos))
        .with("Timestamp", stamp(&m.ext_tstamp))
        .with("ResponderId", responder);
    #[cfg(has_ts_stack)]
    let exts = exts.with("TsStack", stack::means(&m.ext_ts_stack));
    Object::default()
        .set("id", m.rid)
        .set("key", key(&m.wire_expr))
        .exts(exts)
        .set("body", data::response_body(&m.payload))
        .kind("Response")
}

fn read_response(f: &Fields) -> Result<Response, Refused> {
    let mut exts = f.exts()?;
    let (kind, fields) = f.body("body")?;
    let ext_respid = match exts.take("ResponderId") {
        None => None,
        Some(e) => Some(zenoh_protocol::network::ext::EntityGlobalIdType {
            zid: read_zid(&e, "zid")?,
            eid: e.int("eid")?,
        }),
    };
    let m = Response {
        rid: f.int("id")?,
        wire_expr: read_key(&f.object("key")?)?,
        payload: data::read_response_body(kind, &fields)?,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
        ext_respid,
        #[cfg(has_ts_stack)]
        ext_ts_stack: stack::read(&mut exts)?,
    };
    exts.done()?;
    Ok(m)
}

fn response_final(m: &ResponseFinal) -> Value {
    let exts = List::default().z64("QoS", qos(m.ext_qos)).with("Timestamp", stamp(&m.ext_tstamp));
    Object::default().set("id", m.rid).exts(exts).kind("ResponseFinal")
}

fn read_response_final(f: &Fields) -> Result<ResponseFinal, Refused> {
    let mut exts = f.exts()?;
    let m = ResponseFinal {
        rid: f.int("id")?,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
    };
    exts.done()?;
    Ok(m)
}

// --- INTEREST, OAM --------------------------------------------------------------------------------------------------

fn interest(m: &Interest) -> Value {
    let mode = match m.mode {
        InterestMode::Final => 0,
        InterestMode::Current => 1,
        InterestMode::Future => 2,
        InterestMode::CurrentFuture => 3,
    };
    let exts = List::default()
        .z64("QoS", qos(m.ext_qos))
        .with("Timestamp", stamp(&m.ext_tstamp))
        .z64("NodeId", node_id(&m.ext_nodeid));
    Object::default()
        .set("id", m.id)
        .set("mode", mode)
        .opt("options", (mode != 0).then(|| raw_options(&m.options)))
        .opt("key", m.wire_expr.as_ref().map(key))
        .exts(exts)
        .kind("Interest")
}

/// The byte as it was read: the struct's own accessor puts N and M as the key has them.
fn raw_options(o: &InterestOptions) -> u8 {
    let bits = [
        o.keyexprs(),
        o.subscribers(),
        o.queryables(),
        o.tokens(),
        o.restricted(),
        o.named(),
        o.mapping(),
        o.aggregate(),
    ];
    bits.iter().enumerate().map(|(place, set)| u8::from(*set) << place).sum()
}

fn read_interest(f: &Fields) -> Result<Interest, Refused> {
    const MAPPING: u8 = 0x40;
    let mut exts = f.exts()?;
    let mode = match f.int::<u8>("mode")? {
        0 => InterestMode::Final,
        1 => InterestMode::Current,
        2 => InterestMode::Future,
        3 => InterestMode::CurrentFuture,
        other => return f.refuse("mode", &format!("no such mode: {other}")),
    };
    let options = f.opt_int::<u8>("options")?.unwrap_or(0);
    let mut wire_expr = f.opt_object("key")?.map(|k| read_key(&k)).transpose()?;
    if let Some(key) = wire_expr.as_mut() {
        key.mapping = if options & MAPPING != 0 { Mapping::Sender } else { Mapping::Receiver };
    }
    let m = Interest {
        id: f.int("id")?,
        mode,
        options: InterestOptions::from(options),
        wire_expr,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
        ext_nodeid: read_node_id(&mut exts)?,
    };
    exts.done()?;
    Ok(m)
}

fn oam(m: &Oam) -> Value {
    let (enc, value) = body(&m.body);
    let exts = List::default().z64("QoS", qos(m.ext_qos)).with("Timestamp", stamp(&m.ext_tstamp));
    Object::default().set("id", m.id).set("enc", enc).exts(exts).opt("body", value).kind("NetworkOam")
}

fn read_oam(f: &Fields) -> Result<Oam, Refused> {
    let mut exts = f.exts()?;
    let m = Oam {
        id: f.int("id")?,
        body: read_body(f, "body")?,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
    };
    exts.done()?;
    Ok(m)
}
