//! Checks that HDF5 requires of object headers and its decoder omits.
//!
//! A header of the first version has no checksum. The decoder skips a header with missing messages, and so would lose a
//! view or the ids. The layouts are in "Version 1 Data Object Header Prefix" to "Group Symbol Table Nodes" of the HDF5
//! file format specification.

use crate::error::ensure;
use hdf5_pure::Superblock;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

const CONTINUATION: u16 = 0x10;
const DATASPACE: u16 = 0x01;
const DATATYPE: u16 = 0x03;
const FILTERS: u16 = 0x0b;
/// Messages that only groups have: link information, link, symbol table.
const GROUP_MESSAGES: [u16; 3] = [0x02, LINK, SYMBOL_TABLE];
const ATTRIBUTE: u16 = 0x0c;
const LAYOUT: u16 = 0x08;
const LINK: u16 = 0x06;
const SYMBOL_TABLE: u16 = 0x11;
/// Valid versions of messages whose first byte is the version: data space, fill value, link, layout, filters,
/// attribute.
const VERSIONS: [(u16, u8, u8); 6] = [
    (DATASPACE, 1, 2),
    (0x05, 1, 3),
    (LINK, 1, 1),
    (LAYOUT, 1, 5),
    (FILTERS, 1, 2),
    (ATTRIBUTE, 1, 3),
];
/// Flag of a message that is stored elsewhere and shared.
const SHARED: u64 = 2;

/// Groups of `AnnData` without views, ids or classes: links in them are ignored.
const IGNORED_GROUPS: [&str; 6] = ["obsp", "raw", "uns", "varm", "varp", "#refs#"];

/// Checks every object that can be reached from the root.
///
/// # Errors
/// If an object is not a dataset, group or data type, its header is inconsistent, or a soft or external link may hide a
/// view or the ids.
pub(crate) fn check(bytes: &[u8], superblock: &Superblock) -> Result<(), String> {
    if superblock.offset_size != 8 || superblock.length_size != 8 {
        return Ok(());
    }
    let base = superblock.base_address.get();
    let n_symbols = superblock.group_leaf_node_k.map_or(0, |k| 2 * usize::from(k));
    let file = Bytes { bytes, base, n_symbols };
    // The address of the root is absolute.
    let mut open = vec![(superblock.root_group_address.wrapping_sub(base), String::new())];
    let mut seen = HashSet::new();
    while let Some((address, path)) = open.pop() {
        if !seen.insert(address) {
            continue;
        }
        for (name, target) in file.object(file.place(address)?)? {
            let name = if path.is_empty() { name } else { format!("{path}/{name}") };
            match target {
                Ok(address) => open.push((address, name)),
                Err(kind) => ensure!(
                    name.split('/').any(|part| IGNORED_GROUPS.contains(&part)),
                    "`{name}` is {kind} link, which is not read: save the file with the data in its place"
                ),
            }
        }
    }
    Ok(())
}

/// A name in a group and the address of its object, or the kind of link if it has a path in this or another file.
type Link = (String, Result<u64, &'static str>);

/// The bytes of the file and how addresses are counted.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    base: u64,
    /// Capacity of a symbol node.
    n_symbols: usize,
}

/// Kind and body of a message.
type Message<'a> = (u16, &'a [u8]);

impl<'a> Bytes<'a> {
    fn place(self, address: u64) -> Result<usize, String> {
        let at = address.checked_add(self.base).and_then(|at| usize::try_from(at).ok());
        at.filter(|&at| at < self.bytes.len()).ok_or_else(|| damaged("an address"))
    }

    fn part(self, at: usize, length: usize) -> Result<&'a [u8], String> {
        let end = at.checked_add(length);
        end.and_then(|end| self.bytes.get(at..end)).ok_or_else(|| damaged("a length"))
    }

    /// Returns the links of the object at this place.
    fn object(self, at: usize) -> Result<Vec<Link>, String> {
        let is_second = self.part(at, 4)? == b"OHDR";
        let messages = if is_second { self.second_version(at)? } else { self.first_version(at)? };
        let has = |kinds: &[u16]| messages.iter().any(|(kind, _)| kinds.contains(kind));
        let is_known = has(&GROUP_MESSAGES) || has(&[LAYOUT, DATATYPE]);
        ensure!(is_known, "damaged: an object is neither a dataset nor a group");
        let body = |kind| messages.iter().find(|&&(of, _)| of == kind).map(|&(_, body)| body);
        if let (Some(space), Some(of), Some(layout)) =
            (body(DATASPACE), body(DATATYPE), body(LAYOUT))
        {
            check_size(space, of, layout)?;
        }
        let mut children = Vec::new();
        for (kind, body) in messages {
            match kind {
                SYMBOL_TABLE => {
                    let names = self.names(self.place(number(body, 8, 8)?)?)?;
                    self.symbols(self.place(number(body, 0, 8)?)?, names, &mut children)?;
                }
                LINK => children.push(link(body)?),
                _ => {}
            }
        }
        Ok(children)
    }

    /// Returns the messages of a header without a checksum, after checking them and their number.
    fn first_version(self, at: usize) -> Result<Vec<Message<'a>>, String> {
        let head = self.part(at, 16)?;
        let n_messages = number(head, 2, 2)? as usize;
        let part = self.part(at + 16, number(head, 8, 4)? as usize)?;
        let messages = self.messages(part, n_messages, (8, 0), |message| {
            let (kind, length) = (number(message, 0, 2)? as u16, number(message, 2, 2)?);
            Ok((kind, length as usize, number(message, 4, 1)? & SHARED == 0))
        })?;
        ensure!(
            messages.len() == n_messages,
            "damaged: an object's header has another number of messages than it declares"
        );
        Ok(messages)
    }

    /// Returns the messages of a header whose checksum the decoder checks.
    fn second_version(self, at: usize) -> Result<Vec<Message<'a>>, String> {
        let flags = self.part(at, 6)?[5];
        let mut start = at + 6;
        start += if flags & 0x20 == 0 { 0 } else { 16 };
        start += if flags & 0x10 == 0 { 0 } else { 4 };
        let width = 1 << (flags & 3);
        let length = number(self.part(start, width)?, 0, width)? as usize;
        let part = self.part(start + width, length)?;
        let head = if flags & 4 == 0 { 4 } else { 6 };
        // A mark and a checksum of four bytes each surround the messages of a continuation.
        let messages = self.messages(part, self.bytes.len(), (head, 4), |message| {
            Ok((message[0].into(), number(message, 1, 2)? as usize, false))
        })?;
        ensure!(messages.len() <= self.bytes.len(), "damaged: a header without an end");
        Ok(messages)
    }

    /// Returns the messages in a part of a header and its continuations, at most one more than `most`. Heads of messages
    /// have `head` bytes, continuations `edge` bytes around their messages. `read` returns the kind of a message, the
    /// length of its body, and whether to check it.
    fn messages(
        self,
        part: &'a [u8],
        most: usize,
        (head, edge): (usize, usize),
        read: impl Fn(&[u8]) -> Result<(u16, usize, bool), String>,
    ) -> Result<Vec<Message<'a>>, String> {
        let (mut parts, mut messages) = (vec![part], Vec::new());
        while let Some(mut rest) = parts.pop() {
            // The rest may be too short for a message.
            while rest.len() >= head && messages.len() <= most {
                let (kind, length, is_checked) = read(rest)?;
                let end = head + length;
                let body = rest.get(head..end).ok_or_else(|| damaged("a message's length"))?;
                if kind == CONTINUATION {
                    let at = self.place(number(body, 0, 8)?)?;
                    let length = number(body, 8, 8)? as usize;
                    parts.push(self.part(at + edge, length.saturating_sub(2 * edge))?);
                }
                if is_checked {
                    check_message(kind, body)?;
                }
                messages.push((kind, body));
                rest = &rest[end..];
            }
        }
        Ok(messages)
    }

    /// Returns the names of a group's links, the data of its local heap.
    fn names(self, heap: usize) -> Result<&'a [u8], String> {
        let head = self.part(heap, 32)?;
        ensure!(head[..4] == *b"HEAP", "damaged: a group's names");
        self.part(self.place(number(head, 24, 8)?)?, number(head, 8, 8)? as usize)
    }

    /// Adds the links below a node of a group's B-tree or symbol table to `children`; the links are sorted by their
    /// `names`.
    fn symbols(self, tree: usize, names: &[u8], children: &mut Vec<Link>) -> Result<(), String> {
        let (mut open, mut seen) = (vec![tree], HashSet::new());
        while let Some(at) = open.pop() {
            ensure!(seen.insert(at), "damaged: a group's index is a circle");
            let mark = self.part(at, 4)?;
            let n = number(self.part(at, 8)?, 6, 2)? as usize;
            if mark == b"TREE" {
                let entries = self.part(at + 24, 16 * n)?.chunks_exact(16);
                for entry in entries {
                    open.push(self.place(number(entry, 8, 8)?)?);
                }
            } else if mark == b"SNOD" {
                let mut last: &[u8] = &[];
                // Unused capacity is zero; anything else is a name that is not counted.
                let left = self.n_symbols.saturating_sub(n);
                let is_unused =
                    self.part(at + 8 + 40 * n, 40 * left)?.iter().all(|&byte| byte == 0);
                ensure!(is_unused, "damaged: a group has more names than it declares");
                for entry in self.part(at + 8, 40 * n)?.chunks_exact(40) {
                    let begin = number(entry, 0, 8)? as usize;
                    let name = names.get(begin..).unwrap_or_default();
                    // A name cannot begin within another.
                    let is_apart = begin == 0 || names.get(begin - 1) == Some(&0);
                    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                    ensure!(is_apart && name > last, "damaged: a group's names");
                    last = name;
                    // Kind 2 is a link with a path instead of an address.
                    let is_soft = number(entry, 16, 4)? == 2;
                    let address = number(entry, 8, 8)?;
                    let target = if is_soft { Err("a soft") } else { Ok(address) };
                    children.push((String::from_utf8_lossy(name).into_owned(), target));
                }
            } else {
                return Err(damaged("a group's index"));
            }
        }
        Ok(())
    }

    /// Returns the length of every object in a collection of the global heap, by index.
    fn heap(self, address: u64) -> Result<HashMap<u64, u64>, String> {
        let at = self.place(address)?;
        let head = self.part(at, 16)?;
        ensure!(head[..4] == *b"GCOL", "damaged: a heap of strings");
        let mut rest = &self.part(at, number(head, 8, 8)? as usize)?[16..];
        let mut objects = HashMap::new();
        while rest.len() >= 16 && number(rest, 0, 2)? != 0 {
            let length = number(rest, 8, 8)?;
            let earlier = objects.insert(number(rest, 0, 2)?, length);
            ensure!(earlier.is_none(), "damaged: two strings of one index");
            let padded = usize::try_from(length).ok().and_then(|n| n.checked_next_multiple_of(8));
            let end = padded.and_then(|n| n.checked_add(16));
            rest =
                end.and_then(|end| rest.get(end..)).ok_or_else(|| damaged("a string's length"))?;
        }
        Ok(objects)
    }
}

/// Checks that contiguous values have the size that their extents and type give.
fn check_size(space: &[u8], of: &[u8], layout: &[u8]) -> Result<(), String> {
    const CONTIGUOUS: u64 = 1;
    let is_null = number(space, 0, 1)? == 2 && number(space, 3, 1)? == 2;
    if number(layout, 0, 1)? < 3 || number(layout, 1, 1)? != CONTIGUOUS || is_null {
        return Ok(());
    }
    let start = if number(space, 0, 1)? == 1 { 8 } else { 4 };
    let mut n_bytes = Some(number(of, 4, 4)?);
    for dimension in 0..number(space, 1, 1)? as usize {
        let extent = number(space, start + 8 * dimension, 8)?;
        n_bytes = n_bytes.and_then(|n| n.checked_mul(extent));
    }
    let fits = n_bytes == Some(number(layout, 10, 8)?);
    ensure!(fits, "damaged: a dataset has another size than its extents give");
    Ok(())
}

/// Checks that the filters of a message of the first version fill it.
fn check_filters(body: &[u8]) -> Result<(), String> {
    let mut at = 8;
    for _ in 0..number(body, 1, 1)? {
        let (name, values) = (number(body, at + 2, 2)? as usize, number(body, at + 6, 2)? as usize);
        ensure!(name.is_multiple_of(8), "damaged: a filter's name");
        // Odd counts are padded.
        at += 8 + name + 4 * values.next_multiple_of(2);
    }
    let is_filled = body.len() >= at && body.len() < at + 8;
    ensure!(is_filled, "damaged: filters that do not fill their message");
    Ok(())
}

/// Checks that a message has a valid version and the bits of a number lie within its bytes.
fn check_message(kind: u16, body: &[u8]) -> Result<(), String> {
    let version = VERSIONS.iter().find(|&&(of, ..)| of == kind);
    if let Some(&(_, least, most)) = version {
        let is_known = body.first().is_some_and(|version| (least..=most).contains(version));
        ensure!(is_known, "damaged: a message of an unknown version");
    }
    if kind == FILTERS && body[0] == 1 {
        check_filters(body)?;
    }
    if kind == ATTRIBUTE {
        // Version 3 has a character set before the name. The name's length includes its zero byte.
        let start = if body[0] == 3 { 9 } else { 8 };
        let end = start + number(body, 2, 2)? as usize;
        let name = body.get(start..end).ok_or_else(|| damaged("an attribute's name"))?;
        let end = name.iter().position(|&byte| byte == 0);
        ensure!(end == name.len().checked_sub(1), "damaged: an attribute's name");
    }
    if kind != DATATYPE {
        return Ok(());
    }
    let (head, bits) = (number(body, 0, 1)?, 8 * number(body, 4, 4)?);
    ensure!((1..=5).contains(&(head >> 4)), "damaged: a message of an unknown version");
    let offset_and_precision = || Ok::<_, String>((number(body, 8, 2)?, number(body, 10, 2)?));
    let class = head & 0xf;
    if class == 0 {
        let (offset, precision) = offset_and_precision()?;
        let fits = precision > 0 && offset + precision <= bits;
        ensure!(fits, "damaged: a number is wider than its bytes");
    } else if class == 1 {
        // Positions of sign, exponent and mantissa, and the bias, must follow IEEE 754.
        let layout = [number(body, 2, 1)?, number(body, 12, 2)?, number(body, 14, 2)?];
        let ieee = [(16, 5, 10), (32, 8, 23), (64, 11, 52)];
        let fits = ieee.into_iter().any(|(width, exponent, mantissa)| {
            bits == width && layout == [width - 1, exponent << 8 | mantissa, mantissa << 8]
        });
        let fits = fits && offset_and_precision()? == (0, bits);
        let exponent = number(body, 13, 1)?;
        let fits = fits && number(body, 16, 4)? + 1 == 1 << (exponent - 1);
        ensure!(fits, "damaged: a floating-point number that is not IEEE 754");
    }
    Ok(())
}

fn link(body: &[u8]) -> Result<Link, String> {
    let flags = number(body, 1, 1)?;
    let (mut at, mut kind) = (2, 0);
    if flags & 8 != 0 {
        kind = number(body, at, 1)?;
        at += 1;
    }
    at += if flags & 4 == 0 { 0 } else { 8 };
    at += usize::from(flags & 16 != 0);
    let width = 1 << (flags & 3);
    let length = number(body, at, width)? as usize;
    let end = (at + width).saturating_add(length);
    let name = body.get(at + width..end).ok_or_else(|| damaged("a link's name"))?;
    let target = match kind {
        0 => Ok(number(body, end, 8)?),
        1 => Err("a soft"),
        64 => Err("an external"),
        _ => return Err(damaged("a link of unknown kind")),
    };
    Ok((String::from_utf8_lossy(name).into_owned(), target))
}

/// Returns the little-endian number of `width` bytes (at most eight) at a place.
pub(crate) fn number(bytes: &[u8], at: usize, width: usize) -> Result<u64, String> {
    let part = at.checked_add(width).and_then(|end| bytes.get(at..end));
    let part = part.ok_or_else(|| damaged("a message's length"))?;
    Ok(part.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte)))
}

/// Checks that each reference to a string of variable length has the length stored in the heap.
///
/// A reference consists of a length, an address of a heap's collection and an index in it: 4, 8 and 4 bytes.
pub(crate) fn check_strings(bytes: &[u8], base: u64, references: &[u8]) -> Result<(), String> {
    let file = Bytes { bytes, base, n_symbols: 0 };
    let mut collections = HashMap::new();
    for reference in references.chunks_exact(16) {
        let (length, address) = (number(reference, 0, 4)?, number(reference, 4, 8)?);
        if address == 0 || address == u64::MAX {
            continue;
        }
        let objects = match collections.entry(address) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(free) => free.insert(file.heap(address)?),
        };
        let found = objects.get(&number(reference, 12, 4)?);
        ensure!(found == Some(&length), "damaged: a string has another length in its heap");
    }
    Ok(())
}

fn damaged(what: &str) -> String {
    format!("damaged: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_every_kind_have_their_name() {
        let read = |kind: u8| {
            let body = [&[1, 8, kind, 1, b'Z'][..], &[7, 0, 0, 0, 0, 0, 0, 0]].concat();
            link(&body).map(|(name, target)| match target {
                Ok(address) => format!("{name} at {address}"),
                Err(kind) => format!("{name} is {kind} link"),
            })
        };
        assert_eq!(read(0).unwrap(), "Z at 7");
        assert_eq!(read(1).unwrap(), "Z is a soft link");
        assert_eq!(read(64).unwrap(), "Z is an external link");
        assert!(read(2).is_err());
    }
}
