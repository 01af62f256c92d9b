//! Heads of HTTP/3 messages, as pairs of names and values.

use crate::files::Answer;

/// Return the head of a GET request.
pub fn request<'a>(authority: &'a str, path: &'a str) -> [(&'static str, &'a str); 4] {
    [(":method", "GET"), (":scheme", "https"), (":authority", authority), (":path", path)]
}

/// Return the head of an answer.
pub fn response(answer: &Answer) -> [(&'static str, String); 4] {
    let [kind, length, cache] = answer.headers();
    [(":status", answer.status.to_string()), kind, length, cache]
}

/// Return the value of the first field of that name; empty where there is none.
pub fn value<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>, name: &str) -> String {
    let mut fields = fields;
    let found = fields.find(|(known, _)| *known == name.as_bytes());
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

/// Return the status of an answer; 0 where its head has none.
pub fn status<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> u16 {
    value(fields, ":status").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_name() {
        let fields = [(b":status".as_slice(), b"404".as_slice()), (b"x", b"y")];
        assert_eq!(status(fields.into_iter()), 404);
        assert_eq!(value(fields.into_iter(), "x"), "y");
        assert_eq!(value(fields.into_iter(), "z"), "");
        assert_eq!(status([(b":status".as_slice(), b"fine".as_slice())].into_iter()), 0);
    }
}
