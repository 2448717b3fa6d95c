//! What several messages share: identifiers, stamps, keys, encodings, unknown extensions.

use crate::fields::{hex, number, Exts, Fields, Refused};
use serde_json::{json, Map, Value};
use zenoh_buffers::{buffer::SplitBuffer, ZBuf};
use zenoh_protocol::{
    common::{ZExtBody, ZExtUnknown, ZExtZ64},
    core::{Encoding, Timestamp, TimestampId, WhatAmI, WireExpr, ZenohIdProto, NTP64},
    network::Mapping,
};

/// A growing object: required fields are set, optional ones are left out when absent.
#[derive(Default)]
pub struct Object(Map<String, Value>);

impl Object {
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub fn opt(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// Extensions in the writer's order; none, no key.
    pub fn exts(self, exts: List) -> Self {
        match exts.0.is_empty() {
            true => self,
            false => self.set("exts", Value::Array(exts.0)),
        }
    }

    pub fn kind(self, kind: &str) -> Value {
        json!({ kind: Value::Object(self.0) })
    }

    pub fn value(self) -> Value {
        Value::Object(self.0)
    }
}

/// A growing extension list.
#[derive(Default)]
pub struct List(Vec<Value>);

impl List {
    pub fn with(mut self, name: &str, fields: Option<Value>) -> Self {
        if let Some(fields) = fields {
            self.0.push(json!({ name: fields }));
        }
        self
    }

    pub fn unit<T>(self, name: &str, ext: &Option<T>) -> Self {
        self.with(name, ext.as_ref().map(|_| json!({})))
    }

    pub fn z64(self, name: &str, value: Option<u64>) -> Self {
        self.with(name, value.map(|v| json!({ "value": number(v) })))
    }

    pub fn zbuf(self, name: &str, value: Option<&ZBuf>) -> Self {
        self.with(name, value.map(|v| json!({ "payload": zbuf(v) })))
    }

    pub fn unknown(mut self, exts: &[ZExtUnknown]) -> Self {
        for ext in exts {
            let (enc, value) = body(&ext.body);
            let fields = Object::default()
                .set("id", ext.id & 0x0f)
                .set("mandatory", ext.is_mandatory())
                .set("enc", enc)
                .opt("value", value);
            self.0.push(fields.kind("Unknown"));
        }
        self
    }
}

pub fn zbuf(buffer: &ZBuf) -> String {
    hex(&buffer.contiguous())
}

/// How an extension or OAM body is encoded, and its value.
pub fn body(body: &ZExtBody) -> (&'static str, Option<Value>) {
    match body {
        ZExtBody::Unit => ("unit", None),
        ZExtBody::Z64(n) => ("z64", Some(number(*n))),
        ZExtBody::ZBuf(b) => ("zbuf", Some(zbuf(b).into())),
    }
}

pub fn read_body(f: &Fields, name: &str) -> Result<ZExtBody, Refused> {
    match f.text("enc")? {
        "unit" => Ok(ZExtBody::Unit),
        "z64" => Ok(ZExtBody::Z64(f.int(name)?)),
        "zbuf" => Ok(ZExtBody::ZBuf(f.bytes(name)?.into())),
        other => f.refuse("enc", &format!("no such encoding: {other}")),
    }
}

pub fn read_unknown(exts: &mut Exts) -> Result<Vec<ZExtUnknown>, Refused> {
    let mut out = Vec::new();
    while let Some(f) = exts.take("Unknown") {
        out.push(ZExtUnknown::new(f.int("id")?, f.flag("mandatory")?, read_body(&f, "value")?));
    }
    Ok(out)
}

/// Most significant byte first, as Zenoh prints it.
pub fn zid(id: &ZenohIdProto) -> String {
    let mut bytes = id.to_le_bytes()[..id.size()].to_vec();
    bytes.reverse();
    hex(&bytes)
}

pub fn read_zid(f: &Fields, name: &str) -> Result<ZenohIdProto, Refused> {
    let mut bytes = f.bytes(name)?;
    bytes.reverse();
    ZenohIdProto::try_from(&bytes[..]).or_else(|e| f.refuse(name, &e.to_string()))
}

pub fn timestamp(stamp: &Timestamp) -> Value {
    let id = stamp.get_id();
    let mut bytes = id.to_le_bytes()[..id.size()].to_vec();
    bytes.reverse();
    json!({ "time": number(stamp.get_time().as_u64()), "zid": hex(&bytes) })
}

pub fn read_timestamp(f: &Fields) -> Result<Timestamp, Refused> {
    let mut bytes = f.bytes("zid")?;
    bytes.reverse();
    let id = TimestampId::try_from(&bytes[..]).or_else(|e| f.refuse("zid", &format!("{e:?}")))?;
    Ok(Timestamp::new(NTP64(f.int("time")?), id))
}

/// The roles as the wire numbers them.
pub fn whatami(role: WhatAmI) -> u8 {
    match role {
        WhatAmI::Router => 0,
        WhatAmI::Peer => 1,
        WhatAmI::Client => 2,
    }
}

pub fn read_whatami(f: &Fields) -> Result<WhatAmI, Refused> {
    match f.int::<u8>("whatami")? {
        0 => Ok(WhatAmI::Router),
        1 => Ok(WhatAmI::Peer),
        2 => Ok(WhatAmI::Client),
        other => f.refuse("whatami", &format!("no such role: {other}")),
    }
}

pub fn key(key: &WireExpr) -> Value {
    bare_key(key, key.mapping == Mapping::Sender)
}

/// A key with the M bit of its carrier, whatever the struct says.
pub fn bare_key(key: &WireExpr, mapping: bool) -> Value {
    let suffix = key.has_suffix().then(|| key.suffix.to_string());
    Object::default().set("scope", key.scope).opt("suffix", suffix).set("mapping", mapping).value()
}

/// `mapping` where the carrier has it beside the key; M=0 when it is not told.
pub fn read_key(f: &Fields) -> Result<WireExpr<'static>, Refused> {
    let suffix = f.get("suffix").map_or(Ok(""), |_| f.text("suffix"))?;
    let mapping = if f.flag("mapping")? { Mapping::Sender } else { Mapping::Receiver };
    Ok(WireExpr { scope: f.int("scope")?, suffix: suffix.to_owned().into(), mapping })
}

/// Nothing when it is the default: the writer leaves that out.
pub fn opt_encoding(e: &Encoding) -> Option<Value> {
    (e != &Encoding::empty()).then(|| encoding(e))
}

pub fn encoding(e: &Encoding) -> Value {
    Object::default().set("id", e.id).opt("schema", e.schema.as_ref().map(|s| hex(s.as_slice()))).value()
}

pub fn read_encoding(f: Option<Fields>) -> Result<Encoding, Refused> {
    let Some(f) = f else { return Ok(Encoding::empty()) };
    let schema = f.get("schema").map(|_| f.bytes("schema")).transpose()?;
    Ok(Encoding { id: f.int("id")?, schema: schema.map(Into::into) })
}

/// The raw byte of a network QoS extension; nothing when it is the default.
pub fn qos<const ID: u8>(q: zenoh_protocol::network::ext::QoSType<ID>) -> Option<u64> {
    (q != Default::default()).then(|| ZExtZ64::<ID>::from(q).value)
}

/// The same of FRAME, FRAGMENT and the transport's OAM.
pub fn transport_qos<const ID: u8>(q: zenoh_protocol::transport::ext::QoSType<ID>) -> Option<u64> {
    (q != Default::default()).then(|| ZExtZ64::<ID>::from(q).value)
}

pub fn read_z64<const ID: u8, T: From<ZExtZ64<ID>>>(value: Option<u64>) -> Option<T> {
    value.map(|v| ZExtZ64::<ID>::new(v).into())
}
