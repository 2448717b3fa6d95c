//! SCOUT and HELLO.

use crate::{
    fields::{Fields, Refused},
    shared::{read_whatami, read_zid, whatami, zid, Object},
};
use serde_json::Value;
use zenoh_protocol::{
    core::{Locator, WhatAmIMatcher},
    scouting::{HelloProto, Scout, ScoutingBody, ScoutingMessage},
};

/// The matcher's own byte has a high bit set that never travels.
const WHAT: u8 = 0b111;

pub fn means(message: &ScoutingMessage) -> Value {
    match &message.body {
        ScoutingBody::Scout(m) => Object::default()
            .set("version", m.version)
            .set("what", u8::from(m.what) & WHAT)
            .opt("zid", m.zid.as_ref().map(zid))
            .kind("Scout"),
        ScoutingBody::Hello(m) => {
            let locators: Vec<_> = m.locators.iter().map(Locator::as_str).collect();
            Object::default()
                .set("version", m.version)
                .set("whatami", whatami(m.whatami))
                .set("zid", zid(&m.zid))
                .opt("locators", Some(locators).filter(|l| !l.is_empty()))
                .kind("Hello")
        }
    }
}

pub fn build(kind: &str, f: &Fields) -> Result<ScoutingMessage, Refused> {
    f.exts()?.done()?;
    match kind {
        "Scout" => {
            let what = WhatAmIMatcher::try_from(f.int::<u8>("what")?)
                .or_else(|()| f.refuse("what", "three bits at most"))?;
            let zid = f.get("zid").map(|_| read_zid(f, "zid")).transpose()?;
            Ok(Scout { version: f.int("version")?, what, zid }.into())
        }
        "Hello" => {
            let mut locators = Vec::new();
            for value in f.list("locators")? {
                let text = value.as_str().unwrap_or_default();
                locators.push(Locator::try_from(text).or_else(|e| f.refuse("locators", &e.to_string()))?);
            }
            let zid = read_zid(f, "zid")?;
            Ok(HelloProto { version: f.int("version")?, whatami: read_whatami(f)?, zid, locators }.into())
        }
        other => Err(format!("no scouting message is called {other}")),
    }
}
