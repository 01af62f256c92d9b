//! A tracepoint's fields, as the kernel describes them in its `format` file.

use std::collections::BTreeMap;

/// The place of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// An unsigned number; None where the event is too short for it.
    #[must_use]
    pub fn number(self, raw: &[u8]) -> Option<u64> {
        let bytes = self.bytes(raw)?;
        Some(match *bytes {
            [byte] => u64::from(byte),
            [a, b] => u64::from(u16::from_ne_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }

    /// Its bytes as they lie.
    #[must_use]
    pub fn bytes(self, raw: &[u8]) -> Option<&[u8]> {
        raw.get(self.offset..self.offset + self.size)
    }
}

/// A tracepoint: the number that its events begin with, and its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// `common_type` of its events.
    pub id: u16,
    fields: BTreeMap<String, Field>,
}

impl Format {
    /// Reads the kernel's text; None where it has no id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| field(line.trim())).collect();
        Some(Self { id, fields })
    }

    /// A field by name; None where this kernel does not have it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

/// `field:__u8 saddr[4]; offset:22; size:4; signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?.rsplit([' ', '*']).next()?;
    let name = declared.split('[').next()?;
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    let field = Field { offset: number("offset:")?, size: number("size:")? };
    Some((name.to_owned(), field))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: tcp_probe\nID: 2273\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:__u8 saddr[28];\toffset:8;\tsize:28;\tsigned:0;\n\
        \tfield:__u16 sport;\toffset:64;\tsize:2;\tsigned:0;\n\
        \tfield:__u64 sock_cookie;\toffset:72;\tsize:8;\tsigned:0;\n\
        \tfield:const void * skaddr;\toffset:80;\tsize:8;\tsigned:0;\n\nprint fmt: \"sport=%hu\", REC->sport\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse(TEXT).unwrap();
        assert_eq!(format.id, 2273);
        let mut raw = vec![0; 88];
        raw[64..66].copy_from_slice(&443_u16.to_ne_bytes());
        raw[72..80].copy_from_slice(&0x1234_5678_9abc_u64.to_ne_bytes());
        assert_eq!(format.field("sport").unwrap().number(&raw), Some(443));
        assert_eq!(format.field("sock_cookie").unwrap().number(&raw), Some(0x1234_5678_9abc));
        assert_eq!(format.field("saddr").unwrap().bytes(&raw).unwrap().len(), 28);
        assert_eq!(format.field("skaddr").unwrap().number(&raw), Some(0));
        assert_eq!(format.field("skaddr").unwrap().number(&raw[..80]), None);
        assert_eq!(format.field("nothing"), None);
        assert_eq!(Format::parse("no tracepoint"), None);
    }
}
