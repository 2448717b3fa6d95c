//! DECLARE and its nine bodies.

use crate::{
    fields::{Exts, Fields, Refused},
    network::{node_id, read_node_id, read_stamp, stamp},
    shared::{bare_key, key, qos, read_key, read_z64, List, Object},
};
use serde_json::{json, Value};
use zenoh_protocol::network::{
    declare::{common::ext::WireExprType, queryable::ext::QueryableInfoType},
    Declare, DeclareBody, DeclareFinal, DeclareKeyExpr, DeclareQueryable, DeclareSubscriber, DeclareToken, Mapping,
    UndeclareKeyExpr, UndeclareQueryable, UndeclareSubscriber, UndeclareToken,
};

pub fn means(m: &Declare) -> Value {
    let exts = List::default()
        .z64("QoS", qos(m.ext_qos))
        .with("Timestamp", stamp(&m.ext_tstamp))
        .z64("NodeId", node_id(&m.ext_nodeid));
    Object::default().opt("interest_id", m.interest_id).exts(exts).set("body", body(&m.body)).kind("Declare")
}

pub fn build(f: &Fields) -> Result<Declare, Refused> {
    let mut exts = f.exts()?;
    let (kind, fields) = f.body("body")?;
    let m = Declare {
        interest_id: f.opt_int("interest_id")?,
        ext_qos: read_z64(exts.value("QoS")?).unwrap_or_default(),
        ext_tstamp: read_stamp(&mut exts)?,
        ext_nodeid: read_node_id(&mut exts)?,
        body: read_body(kind, &fields)?,
    };
    exts.done()?;
    Ok(m)
}

fn body(body: &DeclareBody) -> Value {
    let entity = |id: u32, k| Object::default().set("id", id).set("key", key(k));
    let gone = |id: u32, ext: &WireExprType| {
        Object::default().set("id", id).exts(List::default().with("WireExpr", wire_expr(ext)))
    };
    match body {
        DeclareBody::DeclareKeyExpr(b) => {
            // No M on the wire; the struct says "sender" all the same.
            let key = bare_key(&b.wire_expr, false);
            Object::default().set("expr_id", b.id).set("key", key).kind("DKeyExpr")
        }
        DeclareBody::UndeclareKeyExpr(b) => Object::default().set("expr_id", b.id).kind("UKeyExpr"),
        DeclareBody::DeclareSubscriber(b) => entity(b.id, &b.wire_expr).kind("DSubscriber"),
        DeclareBody::UndeclareSubscriber(b) => gone(b.id, &b.ext_wire_expr).kind("USubscriber"),
        DeclareBody::DeclareQueryable(b) => {
            let info = Some(info(&b.ext_info)).filter(|v| *v != 0);
            entity(b.id, &b.wire_expr).exts(List::default().z64("QueryableInfo", info)).kind("DQueryable")
        }
        DeclareBody::UndeclareQueryable(b) => gone(b.id, &b.ext_wire_expr).kind("UQueryable"),
        DeclareBody::DeclareToken(b) => entity(b.id, &b.wire_expr).kind("DToken"),
        DeclareBody::UndeclareToken(b) => gone(b.id, &b.ext_wire_expr).kind("UToken"),
        DeclareBody::DeclareFinal(_) => Object::default().kind("DFinal"),
    }
}

/// The null key (scope 0, no suffix, M=0) is what the structs hold when there was no extension.
fn wire_expr(ext: &WireExprType) -> Option<Value> {
    let k = &ext.wire_expr;
    let null = k.scope == 0 && !k.has_suffix() && k.mapping == Mapping::Receiver;
    let flags = u8::from(k.has_suffix()) | u8::from(k.mapping == Mapping::Sender) << 1;
    (!null).then(|| {
        let suffix = k.has_suffix().then(|| k.suffix.to_string());
        Object::default().set("flags", flags).set("scope", k.scope).opt("suffix", suffix).value()
    })
}

fn info(info: &QueryableInfoType) -> u64 {
    u64::from(info.complete) | u64::from(info.distance) << 8
}

fn read_body(kind: &str, f: &Fields) -> Result<DeclareBody, Refused> {
    let mut exts = f.exts()?;
    let key = || read_key(&f.object("key")?);
    let body = match kind {
        "DKeyExpr" => DeclareBody::DeclareKeyExpr(DeclareKeyExpr { id: f.int("expr_id")?, wire_expr: key()? }),
        "UKeyExpr" => DeclareBody::UndeclareKeyExpr(UndeclareKeyExpr { id: f.int("expr_id")? }),
        "DSubscriber" => DeclareBody::DeclareSubscriber(DeclareSubscriber { id: f.int("id")?, wire_expr: key()? }),
        "USubscriber" => DeclareBody::UndeclareSubscriber(UndeclareSubscriber {
            id: f.int("id")?,
            ext_wire_expr: read_wire_expr(&mut exts)?,
        }),
        "DQueryable" => {
            let raw: u64 = exts.value("QueryableInfo")?.unwrap_or(0);
            let ext_info = QueryableInfoType { complete: raw & 1 != 0, distance: (raw >> 8) as u16 };
            if info(&ext_info) != raw {
                return f.refuse("exts.QueryableInfo", "the struct holds bit 0 and bits 8 to 23 only");
            }
            DeclareBody::DeclareQueryable(DeclareQueryable { id: f.int("id")?, wire_expr: key()?, ext_info })
        }
        "UQueryable" => DeclareBody::UndeclareQueryable(UndeclareQueryable {
            id: f.int("id")?,
            ext_wire_expr: read_wire_expr(&mut exts)?,
        }),
        "DToken" => DeclareBody::DeclareToken(DeclareToken { id: f.int("id")?, wire_expr: key()? }),
        "UToken" => DeclareBody::UndeclareToken(UndeclareToken {
            id: f.int("id")?,
            ext_wire_expr: read_wire_expr(&mut exts)?,
        }),
        "DFinal" => DeclareBody::DeclareFinal(DeclareFinal),
        other => return Err(format!("no declaration is called {other}")),
    };
    exts.done()?;
    Ok(body)
}

fn read_wire_expr(exts: &mut Exts) -> Result<WireExprType, Refused> {
    let Some(f) = exts.take("WireExpr") else { return Ok(WireExprType::null()) };
    let flags: u8 = f.int("flags")?;
    let wire_expr = json!({
        "scope": f.need("scope")?,
        "suffix": f.get("suffix").cloned().unwrap_or_default(),
        "mapping": flags & 2 != 0,
    });
    Ok(WireExprType { wire_expr: read_key(&Fields::new("WireExpr", &wire_expr)?)? })
}
