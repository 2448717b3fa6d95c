//! What opens a session or announces a node: INIT, OPEN, JOIN.

use crate::{
    fields::{hex, number, Exts, Fields, Refused},
    shared::{read_whatami, read_zid, whatami, zid, List, Object},
};
#[cfg(has_patch)]
use crate::shared::read_z64;
use serde_json::{json, Value};
use std::time::Duration;
use zenoh_protocol::{
    common::{ZExtUnit, ZExtZ64, ZExtZBuf},
    core::{Priority, Resolution},
    transport::{batch_size, BatchSize, InitAck, InitSyn, Join, OpenAck, OpenSyn, PrioritySn},
};

// --- INIT ---------------------------------------------------------------------------------------------------------

/// The fields that both INITs share; a macro, because the two structs are two types.
macro_rules! init_means {
    ($m:expr, $ack:expr, $cookie:expr) => {{
        let m = $m;
        let sized = m.resolution != Resolution::default() || m.batch_size != batch_size::UNICAST;
        let exts = List::default()
            .unit("QoS", &m.ext_qos)
            .z64("QoSLink", m.ext_qos_link.as_ref().map(|e| e.value))
            .zbuf("Auth", m.ext_auth.as_ref().map(|e| &e.value))
            .zbuf("MultiLink", m.ext_mlink.as_ref().map(|e| &e.value))
            .unit("LowLatency", &m.ext_lowlatency)
            .unit("Compression", &m.ext_compression);
        #[cfg(has_patch)]
        let exts = exts.z64("Patch", Some(u64::from(m.ext_patch.raw())).filter(|v| *v != 0));
        #[cfg(has_region_name)]
        let exts = exts.with("RegionName", region_name(&m.ext_region_name));
        Object::default()
            .set("ack", $ack)
            .set("version", m.version)
            .set("whatami", whatami(m.whatami))
            .set("zid", zid(&m.zid))
            .opt("resolution", sized.then_some(m.resolution.as_u8()))
            .opt("batch_size", sized.then_some(m.batch_size))
            .opt("cookie", $cookie)
            .exts(exts)
            .kind("Init")
    }};
}

pub fn init(m: &InitSyn) -> Value {
    init_means!(m, false, None::<String>)
}

pub fn init_ack(m: &InitAck) -> Value {
    init_means!(m, true, Some(hex(&m.cookie)))
}

/// The structs keep the raw bytes, and the name is text: nothing but text can be told.
#[cfg(has_region_name)]
fn region_name<const ID: u8>(ext: &Option<ZExtZBuf<ID>>) -> Option<Value> {
    use zenoh_buffers::buffer::SplitBuffer;
    ext.as_ref().map(|e| json!({ "name": String::from_utf8_lossy(&e.value.contiguous()) }))
}

macro_rules! read_init_struct {
    ($f:expr, $type:ident { $($cookie:tt)* }) => {{
        let f = $f;
        let mut exts = f.exts()?;
        let m = $type {
            version: f.int("version")?,
            whatami: read_whatami(f)?,
            zid: read_zid(f, "zid")?,
            resolution: f.opt_int::<u8>("resolution")?.map_or_else(Resolution::default, Resolution::from),
            batch_size: f.opt_int::<BatchSize>("batch_size")?.unwrap_or(batch_size::UNICAST),
            $($cookie)*
            ext_qos: exts.take("QoS").map(|_| ZExtUnit::new()),
            ext_qos_link: exts.value("QoSLink")?.map(ZExtZ64::new),
            ext_auth: exts.payload("Auth")?.map(|v| ZExtZBuf::new(v.into())),
            ext_mlink: exts.payload("MultiLink")?.map(|v| ZExtZBuf::new(v.into())),
            ext_lowlatency: exts.take("LowLatency").map(|_| ZExtUnit::new()),
            ext_compression: exts.take("Compression").map(|_| ZExtUnit::new()),
            #[cfg(has_patch)]
            ext_patch: read_z64(Some(exts.value("Patch")?.unwrap_or(0))).expect("a value was given"),
            #[cfg(has_region_name)]
            ext_region_name: match exts.take("RegionName") {
                None => None,
                Some(e) => Some(ZExtZBuf::new(e.text("name")?.as_bytes().to_vec().into())),
            },
        };
        exts.done()?;
        Ok(m)
    }};
}

pub fn read_init(f: &Fields) -> Result<InitSyn, Refused> {
    read_init_struct!(f, InitSyn {})
}

pub fn read_init_ack(f: &Fields) -> Result<InitAck, Refused> {
    read_init_struct!(f, InitAck { cookie: f.bytes("cookie")?.into(), })
}

// --- OPEN ---------------------------------------------------------------------------------------------------------

/// A lease as the writer tells it: whole seconds in seconds, all else in milliseconds.
fn lease(object: Object, lease: Duration) -> Object {
    let whole = lease.as_millis() % 1000 == 0;
    let value = if whole { u128::from(lease.as_secs()) } else { lease.as_millis() };
    let value = u64::try_from(value).map_or_else(|_| value.to_string().into(), number);
    object.set("lease_in_seconds", whole).set("lease", value)
}

fn read_lease(f: &Fields) -> Result<Duration, Refused> {
    let value = f.int("lease")?;
    Ok(if f.flag("lease_in_seconds")? { Duration::from_secs(value) } else { Duration::from_millis(value) })
}

macro_rules! open_means {
    ($m:expr, $ack:expr, $cookie:expr, $mlink:expr) => {{
        let m = $m;
        let exts = List::default().unit("QoS", &m.ext_qos).zbuf("Auth", m.ext_auth.as_ref().map(|e| &e.value));
        let exts = $mlink(exts).unit("LowLatency", &m.ext_lowlatency).unit("Compression", &m.ext_compression);
        #[cfg(has_remote_bound)]
        let exts = exts.z64("RemoteBound", m.ext_remote_bound.as_ref().map(|e| e.value));
        #[cfg(has_south)]
        let exts = exts.z64("RemoteBound", m.ext_south.as_ref().map(|e| e.value));
        lease(Object::default().set("ack", $ack), m.lease)
            .set("initial_sn", m.initial_sn)
            .opt("cookie", $cookie)
            .exts(exts)
            .kind("Open")
    }};
}

pub fn open_syn(m: &OpenSyn) -> Value {
    let mlink = |exts: List| exts.zbuf("MultiLinkSyn", m.ext_mlink.as_ref().map(|e| &e.value));
    open_means!(m, false, Some(hex(&m.cookie)), mlink)
}

pub fn open_ack(m: &OpenAck) -> Value {
    let mlink = |exts: List| exts.unit("MultiLinkAck", &m.ext_mlink);
    open_means!(m, true, None::<String>, mlink)
}

macro_rules! read_open_struct {
    ($f:expr, $type:ident { $($cookie:tt)* }, $mlink:expr) => {{
        let f = $f;
        let mut exts = f.exts()?;
        let ext_mlink = $mlink(&mut exts)?;
        let m = $type {
            lease: read_lease(f)?,
            initial_sn: f.int("initial_sn")?,
            $($cookie)*
            ext_mlink,
            ext_qos: exts.take("QoS").map(|_| ZExtUnit::new()),
            ext_auth: exts.payload("Auth")?.map(|v| ZExtZBuf::new(v.into())),
            ext_lowlatency: exts.take("LowLatency").map(|_| ZExtUnit::new()),
            ext_compression: exts.take("Compression").map(|_| ZExtUnit::new()),
            #[cfg(has_remote_bound)]
            ext_remote_bound: exts.value("RemoteBound")?.map(ZExtZ64::new),
            #[cfg(has_south)]
            ext_south: exts.value("RemoteBound")?.map(ZExtZ64::new),
        };
        exts.done()?;
        Ok(m)
    }};
}

pub fn read_open_syn(f: &Fields) -> Result<OpenSyn, Refused> {
    let mlink = |exts: &mut Exts| -> Result<_, Refused> {
        Ok(exts.payload("MultiLinkSyn")?.map(|v| ZExtZBuf::new(v.into())))
    };
    read_open_struct!(f, OpenSyn { cookie: f.bytes("cookie")?.into(), }, mlink)
}

pub fn read_open_ack(f: &Fields) -> Result<OpenAck, Refused> {
    let mlink = |exts: &mut Exts| -> Result<_, Refused> {
        Ok(exts.take("MultiLinkAck").map(|_| ZExtUnit::new()))
    };
    read_open_struct!(f, OpenAck {}, mlink)
}

// --- JOIN ---------------------------------------------------------------------------------------------------------

pub fn join(m: &Join) -> Value {
    let sized = m.resolution != Resolution::default() || m.batch_size != batch_size::MULTICAST;
    let pairs = |sns: &[PrioritySn]| sns.iter().map(|s| json!([s.reliable, s.best_effort])).collect::<Vec<_>>();
    let exts = List::default()
        .with("QoS", m.ext_qos.as_ref().map(|q| json!({ "sns": pairs(&q[..]) })))
        .zbuf("Shm", m.ext_shm.as_ref().map(|e| &e.value));
    #[cfg(has_patch)]
    let exts = exts.z64("Patch", Some(u64::from(m.ext_patch.raw())).filter(|v| *v != 0));
    let object = Object::default()
        .set("version", m.version)
        .set("whatami", whatami(m.whatami))
        .set("zid", zid(&m.zid))
        .opt("resolution", sized.then_some(m.resolution.as_u8()))
        .opt("batch_size", sized.then_some(m.batch_size));
    lease(object, m.lease)
        .set("next_sn_reliable", m.next_sn.reliable)
        .set("next_sn_best_effort", m.next_sn.best_effort)
        .exts(exts)
        .kind("Join")
}

pub fn read_join(f: &Fields) -> Result<Join, Refused> {
    let mut exts = f.exts()?;
    let m = Join {
        version: f.int("version")?,
        whatami: read_whatami(f)?,
        zid: read_zid(f, "zid")?,
        resolution: f.opt_int::<u8>("resolution")?.map_or_else(Resolution::default, Resolution::from),
        batch_size: f.opt_int::<BatchSize>("batch_size")?.unwrap_or(batch_size::MULTICAST),
        lease: read_lease(f)?,
        next_sn: PrioritySn { reliable: f.int("next_sn_reliable")?, best_effort: f.int("next_sn_best_effort")? },
        ext_qos: exts.take("QoS").map(|e| read_sns(&e)).transpose()?,
        ext_shm: exts.payload("Shm")?.map(|v| ZExtZBuf::new(v.into())),
        #[cfg(has_patch)]
        ext_patch: read_z64(Some(exts.value("Patch")?.unwrap_or(0))).expect("a value was given"),
    };
    exts.done()?;
    Ok(m)
}

fn read_sns(f: &Fields) -> Result<Box<[PrioritySn; Priority::NUM]>, Refused> {
    let mut sns = [PrioritySn::DEFAULT; Priority::NUM];
    let pairs: Option<Vec<[u32; 2]>> = f
        .list("sns")?
        .iter()
        .map(|pair| {
            let sn = |i| pair.get(i).and_then(Value::as_u64).and_then(|n: u64| u32::try_from(n).ok());
            Some([sn(0)?, sn(1)?])
        })
        .collect();
    match pairs {
        Some(pairs) if pairs.len() == sns.len() => {
            for (slot, [reliable, best_effort]) in sns.iter_mut().zip(pairs) {
                *slot = PrioritySn { reliable, best_effort };
            }
            Ok(Box::new(sns))
        }
        _ => f.refuse("sns", "expected eight pairs of 32-bit sequence numbers"),
    }
}
