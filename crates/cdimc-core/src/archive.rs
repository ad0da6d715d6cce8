//! Named arrays and a description in one safetensors file with a checksum.
//!
//! The entry `cdimc` of the file's metadata is a JSON object: the description, and a SHA-256 of everything else in the
//! file (kind, version, description, other metadata entries, arrays).

use crate::ClusterError;
use ndarray::{Array2, ArrayView2};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::path::Path;

const METADATA: &str = "cdimc";
/// Name used in messages about a file of any kind.
const ANY_KIND: &str = "cdimc file";

/// JSON of the metadata entry `cdimc`.
#[derive(Serialize, Deserialize)]
struct Label {
    kind: String,
    version: u32,
    sha256: String,
    /// JSON as text, because parsing and writing a number again may change its last digit.
    description: Value,
}

/// Named arrays, to be written or just read.
pub struct Archive {
    /// Kind of file, such as `cdimc model`.
    kind: String,
    description: String,
    /// Other metadata entries, added by programs that use the model.
    notes: BTreeMap<String, String>,
    arrays: BTreeMap<String, Array>,
}

struct Array {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Number type of an array, little-endian in the file.
pub trait Number: Copy {
    /// Type in the file.
    const DTYPE: Dtype;
    /// Appends the bytes of the number.
    fn write(self, to: &mut Vec<u8>);
    /// Returns the number with these bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Returns whether the number is finite.
    fn is_finite(self) -> bool;
}

macro_rules! number {
    ($type:ty, $dtype:expr, $is_finite:expr) => {
        impl Number for $type {
            const DTYPE: Dtype = $dtype;
            fn write(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                <$type>::from_le_bytes(own)
            }
            fn is_finite(self) -> bool {
                $is_finite(self)
            }
        }
    };
}
number!(f32, Dtype::F32, f32::is_finite);
number!(f64, Dtype::F64, f64::is_finite);
number!(u32, Dtype::U32, |_| true);
number!(u8, Dtype::U8, |_| true);

impl Archive {
    /// Version of the layout, for writing and reading.
    const VERSION: u32 = 2;

    /// Returns an archive without arrays.
    ///
    /// # Errors
    /// If the description cannot be written as JSON.
    pub fn new(kind: &'static str, description: &impl Serialize) -> Result<Self, ClusterError> {
        let description = serde_json::to_string(description)
            .map_err(|e| ClusterError::Model(format!("{kind}: {e}")))?;
        let (notes, arrays) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { kind: kind.into(), description, notes, arrays })
    }

    /// Adds a list of numbers.
    pub fn put<T: Number>(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = T>) {
        let mut bytes = Vec::new();
        values.into_iter().for_each(|value| value.write(&mut bytes));
        let shape = vec![bytes.len() / size_of::<T>()];
        self.arrays.insert(name.into(), Array { dtype: T::DTYPE, shape, bytes });
    }

    /// Adds a matrix.
    pub fn put_matrix<T: Number>(&mut self, name: impl Into<String>, values: ArrayView2<'_, T>) {
        let mut bytes = Vec::with_capacity(values.len() * size_of::<T>());
        values.iter().for_each(|value| value.write(&mut bytes));
        let shape = values.shape().to_vec();
        self.arrays.insert(name.into(), Array { dtype: T::DTYPE, shape, bytes });
    }

    /// Adds the metadata entry `key`; the checksum covers it.
    pub fn put_note(&mut self, key: &str, text: String) {
        self.notes.insert(key.to_owned(), text);
    }

    /// Returns the bytes of the file; equal archives give equal bytes.
    ///
    /// # Errors
    /// If an array cannot be described.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ClusterError> {
        self.serialized().map_err(|e| ClusterError::Model(format!("{}: {e}", self.kind)))
    }

    fn serialized(&self) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let label = Label {
            kind: self.kind.clone(),
            version: Self::VERSION,
            sha256: self.digest(),
            description: self.description.as_str().into(),
        };
        let mut metadata = self.notes.clone();
        metadata.insert(METADATA.to_owned(), serde_json::to_string(&label)?);
        let mut views = Vec::with_capacity(self.arrays.len());
        for (name, array) in &self.arrays {
            views.push((name, TensorView::new(array.dtype, array.shape.clone(), &array.bytes)?));
        }
        // The crate safetensors would write the metadata in an order that varies from run to run.
        let mut bytes = safetensors::serialize(views, None)?;
        let (length, _) = SafeTensors::read_metadata(&bytes)?;
        let content = size_of::<u64>() + length;
        let mut header: Value = serde_json::from_slice(&bytes[size_of::<u64>()..content])?;
        header["__metadata__"] = serde_json::to_value(metadata)?;
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(size_of::<u64>()), b' ');
        // In place, because the arrays can be as large as a network with its moments.
        bytes.reserve_exact(size_of::<u64>() + header.len());
        bytes.splice(..content, (header.len() as u64).to_le_bytes().into_iter().chain(header));
        Ok(bytes)
    }

    /// Returns the kind that the file declares, even if the file is damaged.
    pub fn kind_of(bytes: &[u8]) -> Option<String> {
        let (_, header) = SafeTensors::read_metadata(bytes).ok()?;
        let label = header.metadata().as_ref()?.get(METADATA)?;
        Some(serde_json::from_str::<Label>(label).ok()?.kind)
    }

    /// Reads a file of this kind.
    ///
    /// # Errors
    /// If the bytes are another kind of file, are damaged, or have another version.
    pub fn from_bytes(kind: &'static str, bytes: &[u8]) -> Result<Self, ClusterError> {
        Self::read(Some(kind), bytes)
    }

    /// Reads a file of `kind`, or of any kind.
    fn read(kind: Option<&str>, bytes: &[u8]) -> Result<Self, ClusterError> {
        let (archive, checksum) = Self::read_unchecked(kind, bytes)?;
        if archive.digest() != checksum {
            return Err(ClusterError::Model(format!(
                "damaged {}: its content does not match its checksum",
                kind.unwrap_or(ANY_KIND)
            )));
        }
        Ok(archive)
    }

    /// Reads a file without testing its checksum; returns the content and the declared checksum.
    fn read_unchecked(kind: Option<&str>, bytes: &[u8]) -> Result<(Self, String), ClusterError> {
        let refuse = |reason: String| ClusterError::Model(reason);
        let wanted = kind.unwrap_or(ANY_KIND);
        let foreign = |e: &dyn Display| refuse(format!("not a {wanted}, or a damaged one: {e}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| foreign(&e))?;
        let metadata = header.metadata().as_ref();
        let mut notes: BTreeMap<String, String> =
            metadata.into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let label = notes.remove(METADATA).ok_or_else(|| foreign(&"it has no description"))?;
        let label: Label = serde_json::from_str(&label).map_err(|e| foreign(&e))?;
        if kind.is_some_and(|kind| label.kind != kind) {
            return Err(refuse(format!("the file is a {}: a {wanted} is needed", label.kind)));
        }
        if label.version != Self::VERSION {
            let (found, expected) = (label.version, Self::VERSION);
            return Err(refuse(format!("{wanted} of version {found}: must be {expected}")));
        }
        let Value::String(description) = label.description else {
            return Err(foreign(&"its description is not text"));
        };
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| foreign(&e))?;
        let array = |view: TensorView<'_>| Array {
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            bytes: view.data().to_vec(),
        };
        let arrays =
            tensors.tensors().into_iter().map(|(name, view)| (name, array(view))).collect();
        Ok((Self { kind: label.kind, description, notes, arrays }, label.sha256))
    }

    /// Returns the description.
    ///
    /// # Errors
    /// If the description is not a valid `T`.
    pub fn description<T: DeserializeOwned>(&self) -> Result<T, ClusterError> {
        serde_json::from_str(&self.description)
            .map_err(|e| ClusterError::Model(format!("{}: {e}", self.kind)))
    }

    /// Returns whether there is an array `name`.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    /// Returns the list of numbers `name`.
    ///
    /// # Errors
    /// If there is no list of this type.
    pub fn list<T: Number>(&self, name: &str) -> Result<Vec<T>, ClusterError> {
        let (_, values) = self.array(name, 1)?;
        Ok(values)
    }

    /// Returns the matrix `name`.
    ///
    /// # Errors
    /// If there is no matrix of this type.
    pub fn matrix<T: Number>(&self, name: &str) -> Result<Array2<T>, ClusterError> {
        let (shape, values) = self.array(name, 2)?;
        Array2::from_shape_vec((shape[0], shape[1]), values)
            .map_err(|e| ClusterError::Model(format!("{}: array {name}: {e}", self.kind)))
    }

    /// Returns the error of an archive whose arrays contradict each other.
    pub fn misfit(&self) -> ClusterError {
        ClusterError::Model(format!("{}: its arrays do not fit together", self.kind))
    }

    fn array<T: Number>(
        &self,
        name: &str,
        dimensions: usize,
    ) -> Result<(&[usize], Vec<T>), ClusterError> {
        let missing =
            |what: &str| ClusterError::Model(format!("{}: array {name} {what}", self.kind));
        let array = self.arrays.get(name).ok_or_else(|| missing("is not there"))?;
        if array.dtype != T::DTYPE || array.shape.len() != dimensions {
            return Err(missing("has another type"));
        }
        let values: Vec<T> = array.bytes.chunks_exact(size_of::<T>()).map(T::read).collect();
        if !values.iter().all(|value| value.is_finite()) {
            return Err(missing("holds a number that is not finite"));
        }
        Ok((&array.shape, values))
    }

    /// SHA-256 of kind, version, description and notes, and of name, type, shape and content of every array.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        // JSON marks where each text ends.
        let texts = json!([self.kind, Self::VERSION, self.description, self.notes]);
        hash.update(texts.to_string());
        for (name, array) in &self.arrays {
            hash.update(format!("\n{name} {:?} {:?}\n", array.dtype, array.shape));
            hash.update(&array.bytes);
        }
        format!("{:x}", hash.finalize())
    }
}

/// Returns the model or checkpoint `bytes` with the metadata entry `key`, covered by the checksum.
///
/// # Errors
/// If the bytes are not a model or checkpoint, or are damaged.
pub fn with_note(bytes: &[u8], key: &str, text: String) -> Result<Vec<u8>, ClusterError> {
    let mut archive = Archive::read(None, bytes)?;
    archive.put_note(key, text);
    archive.to_bytes()
}

/// Returns the metadata entry `key` of the model or checkpoint `bytes`, as added by [`Archive::put_note`].
///
/// # Errors
/// If the bytes are not a model or checkpoint, or are damaged.
pub fn note(bytes: &[u8], key: &str) -> Result<Option<String>, ClusterError> {
    Ok(Archive::read(None, bytes)?.notes.remove(key))
}

/// Returns the model or checkpoint `bytes` with a checksum that fits its content.
///
/// Tests use it to reach the code after the checksum; an edited file could be given a valid checksum in the same way.
///
/// # Errors
/// If the bytes are not a model or checkpoint.
#[doc(hidden)] // Of tests and fuzzing, not of users.
pub fn with_new_checksum(bytes: &[u8]) -> Result<Vec<u8>, ClusterError> {
    Archive::read_unchecked(None, bytes)?.0.to_bytes()
}

/// Returns the model or checkpoint that `read` makes of the bytes of a file.
///
/// # Errors
/// If the file cannot be read, or as for `read`; the message names the file.
pub fn load<T>(
    path: &Path,
    read: impl FnOnce(&[u8]) -> Result<T, ClusterError>,
) -> Result<T, ClusterError> {
    let named = |error: &dyn Display| ClusterError::Model(format!("{}: {error}", path.display()));
    let bytes = read_bounded(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => named(&"no such file"),
        ErrorKind::IsADirectory => named(&"is a directory, a model file is needed"),
        _ => named(&error),
    })?;
    read(&bytes).map_err(|e| named(&e))
}

/// Reads a model file; only the first bytes of a file that begins like no model, because it may have no end.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    /// Largest header of a model file in bytes, as in `safetensors`.
    const MAX_HEADER: u64 = 100_000_000;
    let mut file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(8).read_to_end(&mut bytes)?;
    let length = bytes.first_chunk().map_or(0, |&length| u64::from_le_bytes(length));
    let begins_as_one = (1..=MAX_HEADER).contains(&length);
    file.take(if begins_as_one { u64::MAX } else { 1 << 16 }).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn sample() -> Archive {
        let mut archive = Archive::new("test file", &serde_json::json!({ "rate": 0.1 })).unwrap();
        archive.put_matrix("a", array![[1.0_f32, 2.0], [f32::MIN_POSITIVE, -0.0]].view());
        archive.put("b", [1_u32, 7]);
        archive
    }

    fn with_notes(notes: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = sample();
        notes.iter().for_each(|&(key, text)| archive.put_note(key, text.to_owned()));
        archive.to_bytes().unwrap()
    }

    #[test]
    fn arrays_survive_a_round_trip() {
        let bytes = sample().to_bytes().unwrap();
        assert_eq!(bytes, sample().to_bytes().unwrap());
        let read = Archive::from_bytes("test file", &bytes).unwrap();
        let a: Array2<f32> = read.matrix("a").unwrap();
        assert_eq!(a[[1, 1]].to_bits(), (-0.0_f32).to_bits());
        assert_eq!(read.list::<u32>("b").unwrap(), [1, 7]);
        assert_eq!(read.description::<Value>().unwrap()["rate"], 0.1);
        assert!(read.list::<f64>("b").is_err());
        assert!(read.list::<u32>("c").is_err());
    }

    #[test]
    fn notes_come_back_and_change_nothing_else() {
        let bytes = sample().to_bytes().unwrap();
        assert_eq!(note(&bytes, "names").unwrap(), None);
        let noted = with_notes(&[("names", "rna"), ("author", "me")]);
        assert_eq!(note(&noted, "names").unwrap().as_deref(), Some("rna"));
        let read = Archive::from_bytes("test file", &noted).unwrap();
        assert_eq!(read.list::<u32>("b").unwrap(), [1, 7]);
        for _ in 0..20 {
            assert!(with_notes(&[("author", "me"), ("names", "rna")]) == noted);
        }
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_noticed() {
        let bytes = with_notes(&[("names", "rna, protein")]);
        for length in 0..bytes.len() {
            assert!(Archive::from_bytes("test file", &bytes[..length]).is_err(), "{length} bytes");
        }
        let original = Archive::from_bytes("test file", &bytes).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // Changed white space in the header has no effect.
            if let Ok(read) = Archive::from_bytes("test file", &flipped) {
                assert_eq!(read.digest(), original.digest(), "bit {bit}");
                assert_eq!(read.notes, original.notes, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_new_checksum_fits_what_was_changed() {
        let bytes = sample().to_bytes().unwrap();
        assert_eq!(with_new_checksum(&bytes).unwrap(), bytes);
        let mut changed = bytes.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(Archive::from_bytes("test file", &changed).is_err());
        assert!(Archive::from_bytes("test file", &with_new_checksum(&changed).unwrap()).is_ok());
        assert!(with_new_checksum(&bytes[1..]).is_err());
    }
}
