//! What HDF5 demands of the object headers under a file's root, and its decoder does not.
//!
//! A header of the first version bears no checksum. One whose messages do not fill it, or which lost the
//! message that makes it a dataset or a group, would be passed over: a view or the ids would be gone.
//! The layouts are those of "Version 1 Data Object Header Prefix" to "Group Symbol Table Nodes" in the
//! HDF5 file format specification.

use hdf5_pure::Superblock;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

const CONTINUATION: u16 = 0x10;
const DATASPACE: u16 = 0x01;
const DATATYPE: u16 = 0x03;
const FILTERS: u16 = 0x0b;
/// Link information, a link, and a symbol table: what makes a header a group.
const OF_A_GROUP: [u16; 3] = [0x02, LINK, SYMBOL_TABLE];
const ATTRIBUTE: u16 = 0x0c;
const LAYOUT: u16 = 0x08;
const LINK: u16 = 0x06;
const SYMBOL_TABLE: u16 = 0x11;
/// The versions there are of messages whose first byte says it: data space, fill value, link, layout, filters,
/// attribute.
const VERSIONS: [(u16, u8, u8); 6] = [
    (DATASPACE, 1, 2),
    (0x05, 1, 3),
    (LINK, 1, 1),
    (LAYOUT, 1, 5),
    (FILTERS, 1, 2),
    (ATTRIBUTE, 1, 3),
];
/// A message that lies elsewhere, which many objects share.
const SHARED: u64 = 2;

/// Groups of `AnnData` in which no view, id or class is looked for: links in them may lead elsewhere.
const UNUSED: [&str; 6] = ["obsp", "raw", "uns", "varm", "varp", "#refs#"];

/// Checks every object that hangs on the root by links that can be followed.
///
/// # Errors
/// If an object is neither a dataset nor a group nor a type of data, its header does not hold together, or a name is
/// that of a soft or external link, behind which a view or the ids may be.
pub(crate) fn check(bytes: &[u8], superblock: &Superblock) -> Result<(), String> {
    if superblock.offset_size != 8 || superblock.length_size != 8 {
        return Ok(());
    }
    let base = superblock.base_address.get();
    let n_symbols = superblock.group_leaf_node_k.map_or(0, |k| 2 * usize::from(k));
    let file = Bytes { bytes, base, n_symbols };
    // That of the root counts from the beginning already.
    let mut open = vec![(superblock.root_group_address.wrapping_sub(base), String::new())];
    let mut seen = HashSet::new();
    while let Some((address, path)) = open.pop() {
        if !seen.insert(address) {
            continue;
        }
        for Link { name, target } in file.object(file.place(address)?)? {
            let name = if path.is_empty() { name } else { format!("{path}/{name}") };
            match target {
                Target::Address(address) => open.push((address, name)),
                Target::Path(_)
                    if UNUSED.iter().any(|part| name.split('/').any(|of| of == *part)) => {}
                Target::Path(kind) => {
                    return Err(format!(
                        "`{name}` is {kind} link, which is not read: save the file with the data in its place"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// A name in a group and what it stands for.
struct Link {
    name: String,
    target: Target,
}

enum Target {
    /// Where the object lies.
    Address(u64),
    /// A path in this or another file, by the kind of link.
    Path(&'static str),
}

/// The file, its numbers and where its addresses point.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    base: u64,
    /// Entries that a node of symbols has room for.
    n_symbols: usize,
}

/// A message's kind and body.
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

    /// The links of the object at this place.
    fn object(self, at: usize) -> Result<Vec<Link>, String> {
        let messages = if self.part(at, 4)? == b"OHDR" {
            self.second_version(at)?
        } else {
            self.first_version(at)?
        };
        let has = |kinds: &[u16]| messages.iter().any(|(kind, _)| kinds.contains(kind));
        if !has(&OF_A_GROUP) && !has(&[LAYOUT, DATATYPE]) {
            return Err(damaged("an object is neither a dataset nor a group"));
        }
        let body = |kind| messages.iter().find(|&&(of, _)| of == kind).map(|&(_, body)| body);
        if let (Some(space), Some(of), Some(layout)) =
            (body(DATASPACE), body(DATATYPE), body(LAYOUT))
        {
            fills(space, of, layout)?;
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

    /// The messages of a header without a checksum: as many as it says, and they fill it.
    fn first_version(self, at: usize) -> Result<Vec<Message<'a>>, String> {
        let head = self.part(at, 16)?;
        let n_messages = number(head, 2, 2)? as usize;
        let mut parts = vec![self.part(at + 16, number(head, 8, 4)? as usize)?];
        let mut messages: Vec<Message> = Vec::new();
        while let Some(mut rest) = parts.pop() {
            while rest.len() >= 8 {
                let (kind, length) = (number(rest, 0, 2)? as u16, number(rest, 2, 2)? as usize);
                let body = rest.get(8..8 + length).ok_or_else(|| damaged("a message's length"))?;
                if kind == CONTINUATION {
                    let at = self.place(number(body, 0, 8)?)?;
                    parts.push(self.part(at, number(body, 8, 8)? as usize)?);
                }
                if number(rest, 4, 1)? & SHARED == 0 {
                    sound(kind, body)?;
                }
                messages.push((kind, body));
                if messages.len() > n_messages {
                    break;
                }
                rest = &rest[8 + length..];
            }
        }
        if messages.len() == n_messages {
            Ok(messages)
        } else {
            Err(damaged("an object's header has not the messages that it counts"))
        }
    }

    /// The messages of a header that our decoder compares with its checksum.
    fn second_version(self, at: usize) -> Result<Vec<Message<'a>>, String> {
        let flags = self.part(at, 6)?[5];
        let mut start = at + 6;
        start += if flags & 0x20 == 0 { 0 } else { 16 };
        start += if flags & 0x10 == 0 { 0 } else { 4 };
        let width = 1 << (flags & 3);
        let length = number(self.part(start, width)?, 0, width)? as usize;
        let mut parts = vec![self.part(start + width, length)?];
        let head = if flags & 4 == 0 { 4 } else { 6 };
        let mut messages: Vec<Message> = Vec::new();
        while let Some(mut rest) = parts.pop() {
            // What is left behind the last message may be too short for one.
            while rest.len() >= head {
                let length = number(rest, 1, 2)? as usize;
                let end = head + length;
                let body = rest.get(head..end).ok_or_else(|| damaged("a message's length"))?;
                let kind = rest[0].into();
                if kind == CONTINUATION {
                    let at = self.place(number(body, 0, 8)?)?;
                    // Between a mark of four bytes and a checksum of four.
                    let length = (number(body, 8, 8)? as usize).saturating_sub(8);
                    parts.push(self.part(at + 4, length)?);
                }
                messages.push((kind, body));
                if messages.len() > self.bytes.len() {
                    return Err(damaged("a header without an end"));
                }
                rest = &rest[end..];
            }
        }
        Ok(messages)
    }

    /// Where the names of a group's links lie: the data of its local heap.
    fn names(self, heap: usize) -> Result<&'a [u8], String> {
        let head = self.part(heap, 32)?;
        if head[..4] != *b"HEAP" {
            return Err(damaged("a group's names"));
        }
        self.part(self.place(number(head, 24, 8)?)?, number(head, 8, 8)? as usize)
    }

    /// The objects under a node of a group's B-tree, or in a node of its symbols, which are found by the order of
    /// their `names`.
    fn symbols(self, tree: usize, names: &[u8], children: &mut Vec<Link>) -> Result<(), String> {
        let (mut open, mut seen) = (vec![tree], HashSet::new());
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                return Err(damaged("a group's index is a circle"));
            }
            let mark = self.part(at, 4)?;
            let n = number(self.part(at, 8)?, 6, 2)? as usize;
            if mark == b"TREE" {
                let entries = self.part(at + 24, 16 * n)?.chunks_exact(16);
                for entry in entries {
                    open.push(self.place(number(entry, 8, 8)?)?);
                }
            } else if mark == b"SNOD" {
                let mut last: &[u8] = &[];
                // The room that is left is zero: an entry there is a name that is not counted.
                let left = self.n_symbols.saturating_sub(n);
                if self.part(at + 8 + 40 * n, 40 * left)?.iter().any(|&byte| byte != 0) {
                    return Err(damaged("a group has more names than it counts"));
                }
                for entry in self.part(at + 8, 40 * n)?.chunks_exact(40) {
                    let begin = number(entry, 0, 8)? as usize;
                    let name = names.get(begin..).unwrap_or_default();
                    // A name that begins within another is not its own.
                    if begin.checked_sub(1).is_some_and(|before| names.get(before) != Some(&0)) {
                        return Err(damaged("a group's names"));
                    }
                    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                    if name <= last {
                        return Err(damaged("a group's names"));
                    }
                    last = name;
                    // A link that bears a path instead of an address is of kind 2.
                    let is_soft = number(entry, 16, 4)? == 2;
                    let target = Target::Address(number(entry, 8, 8)?);
                    let target = if is_soft { Target::Path("a soft") } else { target };
                    children
                        .push(Link { name: String::from_utf8_lossy(name).into_owned(), target });
                }
            } else {
                return Err(damaged("a group's index"));
            }
        }
        Ok(())
    }
}

/// Whether values that lie in one piece take as many bytes as their extents and their type say.
fn fills(space: &[u8], of: &[u8], layout: &[u8]) -> Result<(), String> {
    const ONE_PIECE: u64 = 1;
    let is_null = number(space, 0, 1)? == 2 && number(space, 3, 1)? == 2;
    if number(layout, 0, 1)? < 3 || number(layout, 1, 1)? != ONE_PIECE || is_null {
        return Ok(());
    }
    let start = if number(space, 0, 1)? == 1 { 8 } else { 4 };
    let mut n_bytes = Some(number(of, 4, 4)?);
    for dimension in 0..number(space, 1, 1)? as usize {
        let extent = number(space, start + 8 * dimension, 8)?;
        n_bytes = n_bytes.and_then(|n| n.checked_mul(extent));
    }
    if n_bytes == Some(number(layout, 10, 8)?) {
        Ok(())
    } else {
        Err(damaged("a dataset has not as many bytes as its extents say"))
    }
}

/// Whether the filters of a message of the first version fill it.
fn filters(body: &[u8]) -> Result<(), String> {
    let mut at = 8;
    for _ in 0..number(body, 1, 1)? {
        let (name, values) = (number(body, at + 2, 2)? as usize, number(body, at + 6, 2)? as usize);
        if !name.is_multiple_of(8) {
            return Err(damaged("a filter's name"));
        }
        // Odd ones are padded.
        at += 8 + name + 4 * values.next_multiple_of(2);
    }
    let is_filled = body.len() >= at && body.len() < at + 8;
    if is_filled { Ok(()) } else { Err(damaged("filters that do not fill their message")) }
}

/// Whether a message is of a version that there is, and a number's bits lie within its bytes.
fn sound(kind: u16, body: &[u8]) -> Result<(), String> {
    let version = VERSIONS.iter().find(|&&(of, ..)| of == kind);
    if version
        .is_some_and(|&(_, least, most)| body.first().is_none_or(|v| !(least..=most).contains(v)))
    {
        return Err(damaged("a message of a version that there is not"));
    }
    if kind == FILTERS && body[0] == 1 {
        filters(body)?;
    }
    if kind == ATTRIBUTE {
        // Of version 3 there is a character set before the name; the name's zero byte is counted.
        let start = if body[0] == 3 { 9 } else { 8 };
        let end = start + number(body, 2, 2)? as usize;
        let name = body.get(start..end).ok_or_else(|| damaged("an attribute's name"))?;
        if name.iter().position(|&byte| byte == 0) != name.len().checked_sub(1) {
            return Err(damaged("an attribute's name"));
        }
    }
    if kind != DATATYPE {
        return Ok(());
    }
    let (head, bits) = (number(body, 0, 1)?, 8 * number(body, 4, 4)?);
    if !(1..=5).contains(&(head >> 4)) {
        return Err(damaged("a message of a version that there is not"));
    }
    let offset_and_precision = || Ok::<_, String>((number(body, 8, 2)?, number(body, 10, 2)?));
    match head & 0xf {
        0 => {
            let (offset, precision) = offset_and_precision()?;
            let fits = precision > 0 && offset + precision <= bits;
            return if fits { Ok(()) } else { Err(damaged("a number is wider than its bytes")) };
        }
        1 => {}
        _ => return Ok(()),
    }
    // Where a floating-point number has its sign, exponent and mantissa, and the bias: as in IEEE 754.
    let layout = [number(body, 2, 1)?, number(body, 12, 2)?, number(body, 14, 2)?];
    let ieee = [(16, 5, 10), (32, 8, 23), (64, 11, 52)];
    let fits = ieee.into_iter().any(|(width, exponent, mantissa)| {
        bits == width && layout == [width - 1, exponent << 8 | mantissa, mantissa << 8]
    });
    let fits = fits && offset_and_precision()? == (0, bits);
    let exponent = number(body, 13, 1)?;
    if fits && number(body, 16, 4)? + 1 == 1 << (exponent - 1) {
        Ok(())
    } else {
        Err(damaged("a floating-point number that is none of IEEE 754"))
    }
}

/// The link in a message.
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
        0 => Target::Address(number(body, end, 8)?),
        1 => Target::Path("a soft"),
        64 => Target::Path("an external"),
        _ => return Err(damaged("a link of unknown kind")),
    };
    Ok(Link { name: String::from_utf8_lossy(name).into_owned(), target })
}

/// The number of so many bytes, at most eight, at a place.
fn number(bytes: &[u8], at: usize, width: usize) -> Result<u64, String> {
    let part = at.checked_add(width).and_then(|end| bytes.get(at..end));
    let part = part.ok_or_else(|| damaged("a message's length"))?;
    Ok(part.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte)))
}

/// Whether each of these references to a string of variable length has the length that the heap has.
///
/// A reference is a length, an address of a heap's collection and an index in it: 4, 8 and 4 bytes.
///
/// # Errors
/// If one has not, or its heap does not hold together.
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
        if objects.get(&number(reference, 12, 4)?) != Some(&length) {
            return Err(damaged("a string has another length where it lies"));
        }
    }
    Ok(())
}

impl Bytes<'_> {
    /// The length of every object in a collection of the global heap, by its index.
    fn heap(self, address: u64) -> Result<HashMap<u64, u64>, String> {
        let at = self.place(address)?;
        let head = self.part(at, 16)?;
        if head[..4] != *b"GCOL" {
            return Err(damaged("a heap of strings"));
        }
        let mut rest = &self.part(at, number(head, 8, 8)? as usize)?[16..];
        let mut objects = HashMap::new();
        while rest.len() >= 16 && number(rest, 0, 2)? != 0 {
            let length = number(rest, 8, 8)?;
            if objects.insert(number(rest, 0, 2)?, length).is_some() {
                return Err(damaged("two strings of one index"));
            }
            let padded = usize::try_from(length).ok().and_then(|n| n.checked_next_multiple_of(8));
            let end = padded.and_then(|n| n.checked_add(16));
            rest =
                end.and_then(|end| rest.get(end..)).ok_or_else(|| damaged("a string's length"))?;
        }
        Ok(objects)
    }
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
            link(&body).map(|Link { name, target }| match target {
                Target::Address(address) => format!("{name} at {address}"),
                Target::Path(kind) => format!("{name} is {kind} link"),
            })
        };
        assert_eq!(read(0).unwrap(), "Z at 7");
        assert_eq!(read(1).unwrap(), "Z is a soft link");
        assert_eq!(read(64).unwrap(), "Z is an external link");
        assert!(read(2).is_err());
    }
}
