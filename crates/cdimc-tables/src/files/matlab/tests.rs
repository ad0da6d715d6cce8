//! Tests with small files built byte by byte, intact and damaged.

use super::{MatFile, MatValue};
use crate::error::Flaw;
use crate::files::Budget;
use flate2::{Compression, write::ZlibEncoder};
use ndarray::{Array2, array};
use proptest::prelude::*;
use std::io::Write;

/// Type codes of stored numbers.
const STORAGE: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 9, 12, 13];

/// Format of a written file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    little_endian: bool,
    compressed: bool,
    /// Payloads of up to four bytes share eight with their tag.
    small: bool,
}

pub(crate) const PLAIN: Style = Style { little_endian: true, compressed: false, small: false };

impl Style {
    /// Converts a big-endian number to this byte order.
    fn ordered(self, big_endian: &[u8]) -> Vec<u8> {
        let mut bytes = big_endian.to_vec();
        if self.little_endian {
            bytes.reverse();
        }
        bytes
    }

    fn u32(self, x: u32) -> Vec<u8> {
        self.ordered(&x.to_be_bytes())
    }

    fn element(self, kind: u32, payload: &[u8]) -> Vec<u8> {
        let n = payload.len();
        if self.small && (1..=4).contains(&n) {
            let mut bytes = self.u32((n as u32) << 16 | kind);
            bytes.extend(payload);
            bytes.resize(8, 0);
            return bytes;
        }
        let mut bytes = [self.u32(kind), self.u32(n as u32), payload.to_vec()].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    pub(crate) fn numbers(self, kind: u32, values: &[i8]) -> Vec<u8> {
        let number = |&x: &i8| match kind {
            1 | 2 => self.ordered(&x.to_be_bytes()),
            3 | 4 => self.ordered(&i16::from(x).to_be_bytes()),
            5 | 6 => self.ordered(&i32::from(x).to_be_bytes()),
            7 => self.ordered(&f32::from(x).to_be_bytes()),
            9 => self.ordered(&f64::from(x).to_be_bytes()),
            _ => self.ordered(&i64::from(x).to_be_bytes()),
        };
        self.element(kind, &values.iter().flat_map(number).collect::<Vec<u8>>())
    }

    pub(crate) fn array(self, name: &str, class: u32, shape: &[u32], body: &[u8]) -> Vec<u8> {
        let flags = [self.u32(class), self.u32(0)].concat();
        let shape: Vec<u8> = shape.iter().flat_map(|&extent| self.u32(extent)).collect();
        let content = [
            self.element(6, &flags),
            self.element(5, &shape),
            self.element(1, name.as_bytes()),
            body.to_vec(),
        ];
        self.element(14, &content.concat())
    }

    pub(crate) fn file(self, variables: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = vec![b' '; 124];
        bytes.extend(if self.little_endian { *b"\0\x01IM" } else { *b"\x01\0MI" });
        for variable in variables {
            if self.compressed {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(variable).unwrap();
                let content = encoder.finish().unwrap();
                bytes.extend(self.u32(15));
                bytes.extend(self.u32(content.len() as u32));
                bytes.extend(content);
            } else {
                bytes.extend(variable);
            }
        }
        bytes
    }

    /// Returns two views in a cell array (features x samples in the second), labels and a title.
    fn example(self) -> Vec<u8> {
        let first = self.array("", 6, &[3, 2], &self.numbers(2, &[1, 2, 3, 4, 5, 6]));
        let second = self.array("", 9, &[1, 3], &self.numbers(2, &[7, 8, 9]));
        let views = self.array("X", 1, &[1, 2], &[first, second].concat());
        let labels = self.array("Y", 8, &[3, 1], &self.numbers(1, &[-1, 0, 1]));
        let title = self.array("title", 4, &[1, 2], &self.element(4, &[0; 4]));
        self.file(&[views, labels, title])
    }
}

fn parse(bytes: &[u8]) -> Result<MatFile, Flaw> {
    MatFile::parse(bytes, Budget::of_file(bytes.len(), None))
}

fn matrix(file: &MatFile, name: &str) -> Result<Array2<f64>, Flaw> {
    Ok(file.view(name, None)?.to_owned())
}

fn message<T: std::fmt::Debug>(result: Result<T, Flaw>) -> String {
    let Flaw(message) = result.unwrap_err();
    assert!(!message.contains('\n'), "{message}");
    message
}

fn style() -> impl Strategy<Value = Style> {
    any::<[bool; 3]>().prop_map(|[little_endian, compressed, small]| Style {
        little_endian,
        compressed,
        small,
    })
}

proptest! {
    #[test]
    fn every_class_storage_byte_order_and_form_is_read(
        style in style(), storage in 0..STORAGE.len(), class in 6_u32..=15, logical: bool,
        values in prop::collection::vec(0..=127_i8, 0..7),
    ) {
        let kind = STORAGE[storage];
        let flags = if logical { class | 0x0200 } else { class };
        let body = style.numbers(kind, &values);
        let variable = style.array("a", flags, &[values.len() as u32, 1], &body);
        let expected = values.iter().map(|&x| f64::from(x));
        let read = parse(&style.file(&[variable])).unwrap();
        prop_assert!(matrix(&read, "a").unwrap().into_iter().eq(expected));
    }

    #[test]
    fn a_truncated_file_gives_an_error_or_whole_variables(style in style(), at in 0.0..1.0) {
        let whole = style.example();
        let original = parse(&whole).unwrap();
        match parse(&whole[..(at * whole.len() as f64) as usize]) {
            Ok(part) => prop_assert!(original.0.starts_with(&part.0)),
            Err(Flaw(reason)) => prop_assert!(!reason.contains('\n')),
        }
    }

    #[test]
    fn flipped_bits_never_panic(
        style in style(), flips in prop::collection::vec((0.0..1.0, 0..8_u8), 1..4),
    ) {
        let mut bytes = style.example();
        let n = bytes.len() as f64;
        for (at, bit) in flips {
            bytes[(at * n) as usize] ^= 1 << bit;
        }
        if let Ok(file) = parse(&bytes) {
            for name in file.names() {
                // Reading matrices must not panic either.
                let _ = file.matrices(name);
            }
        }
    }

    #[test]
    fn a_flipped_bit_of_compressed_data_changes_nothing_or_is_an_error(at in 0.0..1.0, bit in 0..8_u8) {
        let style = Style { compressed: true, ..PLAIN };
        let mut bytes = style.example();
        let original = parse(&bytes).unwrap();
        let first = u32::from_le_bytes([bytes[132], bytes[133], bytes[134], bytes[135]]);
        bytes[136 + (at * f64::from(first)) as usize] ^= 1 << bit;
        if let Ok(file) = parse(&bytes) {
            prop_assert_eq!(file, original);
        }
    }

    #[test]
    fn noise_after_the_header_never_panics(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let array = PLAIN.element(14, &noise);
        for noise in [noise, array] {
            let _ = parse(&[PLAIN.file(&[]), noise].concat());
        }
    }
}

#[test]
fn cells_are_matrices_with_rows_as_in_matlab() {
    let file = parse(&PLAIN.example()).unwrap();
    let views = file.matrices("X").unwrap();
    assert_eq!(views, [array![[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], array![[7.0, 8.0, 9.0]]]);
    assert!(views.iter().all(|view| view.dense().is_standard_layout()));
    assert_eq!(matrix(&file, "Y").unwrap(), array![[-1.0], [0.0], [1.0]]);
    assert_eq!(file.variable("title").unwrap(), &MatValue::Text("\0\0".to_owned()));
}

#[test]
fn errors_name_what_is_missing() {
    let file = parse(&PLAIN.example()).unwrap();
    assert_eq!(message(matrix(&file, "Z")), "no variable Z: it has X, Y, title");
    assert_eq!(message(file.view("X", Some(2))), "X has 2 cells, no cell 2");
    assert_eq!(message(file.view("Y", Some(0))), "Y is not a cell array");
    assert_eq!(message(matrix(&file, "X")), "X is a cell array of 2: a numeric matrix is needed");
    assert_eq!(message(matrix(&file, "title")), "title is text: a numeric matrix is needed");
}

#[test]
fn unsupported_variables_are_named_and_the_others_are_read() {
    let a_struct = PLAIN.array("s", 2, &[1, 1], &[]);
    let complex = PLAIN.array("z", 6 | 0x0800, &[1, 1], &PLAIN.numbers(9, &[1]));
    let plain = PLAIN.array("m", 6, &[1, 1], &PLAIN.numbers(9, &[5]));
    let file = parse(&PLAIN.file(&[a_struct, complex, plain])).unwrap();
    assert_eq!(message(matrix(&file, "s")), "s is a struct: a numeric matrix is needed");
    assert!(message(matrix(&file, "z")).contains("complex"));
    assert_eq!(matrix(&file, "m").unwrap(), array![[5.0]]);
}

#[test]
fn a_sparse_matrix_has_zeros_where_it_has_no_entry() {
    let sparse = |rows: &[i8], starts: &[i8]| {
        let body = [PLAIN.numbers(5, rows), PLAIN.numbers(5, starts), PLAIN.numbers(9, &[7, 8, 9])];
        parse(&PLAIN.file(&[PLAIN.array("s", 5, &[2, 3], &body.concat())]))
    };
    let file = sparse(&[1, 0, 1], &[0, 1, 1, 3]).unwrap();
    assert_eq!(matrix(&file, "s").unwrap(), array![[0.0, 0.0, 8.0], [7.0, 0.0, 9.0]]);
    for (rows, end) in [([1, 0, 2], 3), ([1, 0, -1], 3), ([1, 0, 1], 4)] {
        let message = message(sparse(&rows, &[0, 1, 1, end]));
        assert!(message.contains("`s`, a sparse matrix"), "{rows:?}, {end}: {message}");
    }
    // MATLAB allocates more than it fills.
    let spare = sparse(&[1, 0, 0], &[0, 1, 1, 2]).unwrap();
    assert_eq!(matrix(&spare, "s").unwrap(), array![[0.0, 0.0, 8.0], [7.0, 0.0, 0.0]]);
    // Two columns of 2^31 - 1 rows.
    let body = [PLAIN.numbers(5, &[0]), PLAIN.numbers(5, &[0, 0, 0]), PLAIN.numbers(9, &[0])];
    let huge = PLAIN.array("s", 5, &[0x7fff_ffff, 2], &body.concat());
    assert!(message(parse(&PLAIN.file(&[huge]))).contains("takes more than 268 MB of memory"));
}

#[test]
fn integers_beyond_a_float_keep_their_digits() {
    let id = (1_i64 << 53) + 1;
    let body = PLAIN.element(12, &[id.to_le_bytes(), (-id).to_le_bytes()].concat());
    let file = parse(&PLAIN.file(&[PLAIN.array("ids", 14, &[2, 1], &body)])).unwrap();
    let MatValue::Numeric { exact, .. } = file.variable("ids").unwrap() else { panic!("a number") };
    assert_eq!(exact.as_deref(), Some(&[i128::from(id), i128::from(-id)][..]));
}

#[test]
fn version_7_3_gives_the_same_as_level_5() {
    let mut file = hdf5_pure::FileBuilder::new();
    file.with_userblock(512).with_userblock_content(b"MATLAB 7.3 MAT-file");
    // In HDF5 the last extent runs fastest, in MATLAB the first.
    let x = file.create_dataset("X");
    x.with_f64_data(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).with_shape(&[3, 2]);
    x.set_attr("MATLAB_class", hdf5_pure::AttrValue::AsciiString("double".into()));
    let name = file.create_dataset("name");
    name.with_u16_data(&[104, 105]).with_shape(&[2, 1]);
    name.set_attr("MATLAB_class", hdf5_pure::AttrValue::AsciiString("char".into()));
    let ids = file.create_dataset("ids");
    ids.with_u64_data(&[u64::MAX, 1]).with_shape(&[1, 2]);
    ids.set_attr("MATLAB_class", hdf5_pure::AttrValue::AsciiString("uint64".into()));
    let file = parse(&file.finish().unwrap()).unwrap();
    assert_eq!(matrix(&file, "X").unwrap(), array![[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
    assert_eq!(file.variable("name").unwrap(), &MatValue::Text("hi".into()));
    let MatValue::Numeric { exact, shape, .. } = file.variable("ids").unwrap() else { panic!() };
    assert_eq!((&shape[..], exact.as_deref()), (&[2, 1][..], Some(&[i128::from(u64::MAX), 1][..])));
}

#[test]
fn other_formats_are_named() {
    assert!(parse(b"\x89HDF\r\n\x1a\n and so on").is_err());
    assert!(message(parse(b"1,2,3")).starts_with("5 bytes"));
    assert!(message(parse(&[0; 300])).contains("begins as one of version 4"));
    assert!(message(parse(&[b' '; 300])).contains("no MAT file of version 5"));
    assert!(message(parse(&PLAIN.file(&[]))).contains("no variable is there"));
}

#[test]
fn declared_lengths_are_checked_against_the_file() {
    let huge = PLAIN.array("a", 6, &[65_535, 65_535], &PLAIN.numbers(9, &[1]));
    assert!(message(parse(&PLAIN.file(&[huge]))).contains("4294836225 values"));
    let overflow = PLAIN.array("a", 6, &[0x7fff_ffff; 3], &PLAIN.numbers(9, &[1]));
    assert!(message(parse(&PLAIN.file(&[overflow]))).contains("shape"));
    let cells = PLAIN.array("a", 1, &[65_535, 65_535], &[]);
    assert!(message(parse(&PLAIN.file(&[cells]))).contains("4294836225 cells promised"));
    // A compressed element whose content promises 4 GB.
    let bomb = Style { compressed: true, ..PLAIN };
    let bytes = bomb.file(&[[PLAIN.u32(14), PLAIN.u32(u32::MAX), vec![0; 64]].concat()]);
    assert!(message(parse(&bytes)).contains("cannot hold the 4294967295 bytes"));
    let mut nested = PLAIN.array("", 6, &[0, 0], &[]);
    for _ in 0..10_000 {
        nested = PLAIN.array("a", 1, &[1, 1], &nested);
    }
    assert!(message(parse(&PLAIN.file(&[nested]))).contains("nested more than 16 deep"));
}
