//! Reading a meaning: typed access to JSON fields, with the path to the field in every refusal.

use serde_json::{Map, Value};

/// Why a meaning cannot become a message: the path to the field, and what was expected.
pub type Refused = String;

/// An object of the meaning and where it stands.
pub struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub fn new(path: &str, value: &'a Value) -> Result<Self, Refused> {
        let map = value.as_object().ok_or_else(|| format!("{path}: expected an object, got {value}"))?;
        Ok(Self { path: path.to_owned(), map })
    }

    /// The one key of an object such as `{"Put": {...}}`, and the fields below it.
    pub fn variant(path: &str, value: &'a Value) -> Result<(&'a str, Self), Refused> {
        let map = value.as_object().ok_or_else(|| format!("{path}: expected {{kind: fields}}, got {value}"))?;
        let (kind, fields) = match map.iter().next() {
            Some(pair) if map.len() == 1 => pair,
            _ => return Err(format!("{path}: expected exactly one kind, got {}", map.len())),
        };
        Ok((kind, Self::new(&format!("{path}.{kind}"), fields)?))
    }

    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    pub fn refuse<T>(&self, name: &str, why: &str) -> Result<T, Refused> {
        Err(format!("{}: {why}", self.at(name)))
    }

    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    pub fn need(&self, name: &str) -> Result<&'a Value, Refused> {
        self.get(name).ok_or_else(|| format!("{}: missing", self.at(name)))
    }

    /// An integer that fits `T`; above 2^53 it may stand as a decimal string.
    pub fn int<T: TryFrom<u64>>(&self, name: &str) -> Result<T, Refused> {
        let value = self.need(name)?;
        value
            .as_u64()
            .or_else(|| value.as_str().and_then(|s| s.parse().ok()))
            .and_then(|n| T::try_from(n).ok())
            .ok_or_else(|| format!("{}: {value} does not fit {}", self.at(name), std::any::type_name::<T>()))
    }

    pub fn opt_int<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, Refused> {
        self.get(name).map(|_| self.int(name)).transpose()
    }

    pub fn flag(&self, name: &str) -> Result<bool, Refused> {
        match self.get(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| format!("{}: expected true or false", self.at(name))),
        }
    }

    pub fn text(&self, name: &str) -> Result<&'a str, Refused> {
        self.need(name)?.as_str().ok_or_else(|| format!("{}: expected a string", self.at(name)))
    }

    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, Refused> {
        unhex(self.text(name)?).map_err(|why| format!("{}: {why}", self.at(name)))
    }

    pub fn list(&self, name: &str) -> Result<&'a [Value], Refused> {
        match self.get(name) {
            None => Ok(&[]),
            Some(value) => {
                value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{}: expected a list", self.at(name)))
            }
        }
    }

    pub fn object(&self, name: &str) -> Result<Fields<'a>, Refused> {
        Fields::new(&self.at(name), self.need(name)?)
    }

    pub fn opt_object(&self, name: &str) -> Result<Option<Fields<'a>>, Refused> {
        self.get(name).map(|value| Fields::new(&self.at(name), value)).transpose()
    }

    pub fn body(&self, name: &str) -> Result<(&'a str, Fields<'a>), Refused> {
        Fields::variant(&self.at(name), self.need(name)?)
    }

    /// The extension list, one object an extension; each name once, because the structs hold each once.
    pub fn exts(&self) -> Result<Exts<'a>, Refused> {
        let mut found: Vec<(&'a str, Fields<'a>)> = Vec::new();
        for (i, value) in self.list("exts")?.iter().enumerate() {
            let (name, fields) = Fields::variant(&self.at(&format!("exts[{i}]")), value)?;
            if name != "Unknown" && found.iter().any(|(n, _)| *n == name) {
                return self.refuse("exts", &format!("{name} stands twice, and this codec's structs hold it once"));
            }
            found.push((name, fields));
        }
        Ok(Exts { path: self.path.clone(), found })
    }
}

/// The extensions of one message, taken by name; what nobody took is an extension that the structs cannot hold.
pub struct Exts<'a> {
    path: String,
    found: Vec<(&'a str, Fields<'a>)>,
}

impl<'a> Exts<'a> {
    pub fn take(&mut self, name: &str) -> Option<Fields<'a>> {
        let i = self.found.iter().position(|(n, _)| *n == name)?;
        Some(self.found.remove(i).1)
    }

    pub fn value<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Option<T>, Refused> {
        self.take(name).map(|f| f.int("value")).transpose()
    }

    pub fn payload(&mut self, name: &str) -> Result<Option<Vec<u8>>, Refused> {
        self.take(name).map(|f| f.bytes("payload")).transpose()
    }

    pub fn done(self) -> Result<(), Refused> {
        match self.found.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("{}.exts: this codec's structs cannot hold {name}", self.path)),
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for b in bytes {
        out.push(DIGITS[usize::from(b >> 4)] as char);
        out.push(DIGITS[usize::from(b & 15)] as char);
    }
    out
}

pub fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text.bytes().map(|c| (c as char).to_digit(16).map(|d| d as u8)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits.chunks_exact(2).map(|p| p[0] << 4 | p[1]).collect()),
        _ => Err("expected an even number of hexadecimal digits".to_owned()),
    }
}

/// An integer as JSON carries it everywhere: a string where a double would lose digits.
pub fn number(n: u64) -> Value {
    if n <= (1 << 53) - 1 {
        n.into()
    } else {
        n.to_string().into()
    }
}
