//! Reads matrices, numbers and words of HDF5 files; callers apply the conventions.
//!
//! A shape is accepted only if the file can hold it. Missing parts are errors, while HDF5 itself returns fill values.

use crate::error::{Flaw, Problem, ensure, not_a_matrix, not_read};
use crate::files::sparse::Compressed;
use crate::files::{Budget, as_texts, hdf5_headers};
use cdimc_data::Sparse;
pub(crate) use hdf5_pure::{AttrValue, DType, Dataset, Group, Object, is_hdf5_bytes};
use hdf5_pure::{Chunk, ChunkIndex, Error, File, FormatError, Layout, VlenStringReadOptions};
use ndarray::Array2;
use std::collections::HashMap;
use std::sync::OnceLock;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Flaw::from(error).into()
    }
}

/// An open file and its memory budget.
#[derive(Debug)]
pub(crate) struct Hdf5File {
    file: File,
    budget: Budget,
    /// Positions of the nodes of chunk indices, computed once.
    nodes: OnceLock<Vec<usize>>,
}

impl Hdf5File {
    pub(crate) fn open(bytes: Vec<u8>, budget: Budget) -> Result<Self, Flaw> {
        let n_bytes = bytes.len();
        let file = File::from_bytes(bytes)?;
        let superblock = file.superblock();
        let whole = superblock.eof_address;
        // Old versions count from the base address, new ones from the beginning.
        ensure!(whole <= n_bytes as u64, "cut off: {n_bytes} bytes of {whole}");
        hdf5_headers::check(file.as_bytes(), superblock)?;
        Ok(Self { file, budget, nodes: OnceLock::new() })
    }

    pub(crate) fn root(&self) -> Group {
        self.file.root()
    }

    /// Returns the names in a group, sorted.
    pub(crate) fn names(group: &Group) -> Result<Vec<String>, Flaw> {
        let mut names = group.datasets()?;
        names.extend(group.groups()?);
        // A dataset with a damaged header looks like a named data type.
        if let Some(name) = group.named_datatypes()?.first() {
            return Err(format!("`{name}` is neither a dataset nor a group").into());
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn shape(dataset: &Dataset) -> Result<Vec<usize>, Flaw> {
        Ok(dataset.shape()?.into_iter().map(extent).collect())
    }

    pub(crate) fn matrix(&self, dataset: &Dataset, name: &str) -> Result<Array2<f64>, Flaw> {
        let shape = Self::shape(dataset)?;
        let [n_rows, n_columns] = shape[..] else {
            return Err(Flaw(not_a_matrix(name, shape.len())));
        };
        let values = self.numbers(dataset, name)?;
        Ok(Array2::from_shape_vec((n_rows, n_columns), values)?)
    }

    /// Reads a sparse matrix of `AnnData` (`data`, `indices` and `indptr`) or MATLAB (`data`, `ir` and `jc`).
    pub(crate) fn sparse(&self, group: &Group, name: &str) -> Result<Sparse, Flaw> {
        let attrs = group.attrs()?;
        let attr = |name: &str| attrs.get(name).and_then(AttrValue::as_str).unwrap_or_default();
        let numbers = |name: &str| attrs.get(name).and_then(AttrValue::to_u64s);
        let (of_matlab, shape) = (numbers("MATLAB_sparse"), numbers("shape"));
        match (of_matlab.as_deref(), shape.as_deref()) {
            (Some(&[n_rows]), _) => {
                let starts = self.list(group, "jc")?;
                // The number of columns follows from their starts.
                let shape = [extent(n_rows), starts.len().saturating_sub(1)];
                self.compressed(group, name, shape, true, (starts, "ir"))
            }
            (None, Some(&[n_rows, n_columns])) => {
                let (kind, version) = (attr("encoding-type"), attr("encoding-version"));
                // A damaged byte may have changed the encoding.
                ensure!(
                    ["csr_matrix", "csc_matrix"].contains(&kind),
                    "`{name}` has the encoding `{kind}`: `csr_matrix` and `csc_matrix` are read"
                );
                ensure!(
                    ["", "0.1.0"].contains(&version),
                    "`{name}` has version {version} of the encoding `{kind}`: 0.1.0 is read"
                );
                let (shape, starts) =
                    ([n_rows, n_columns].map(extent), self.list(group, "indptr")?);
                self.compressed(group, name, shape, kind == "csc_matrix", (starts, "indices"))
            }
            _ => Err(not_read(name, "group").into()),
        }
    }

    /// Reads the counts `(n_barcodes, n_features)` in the group `matrix` of 10x Genomics.
    pub(crate) fn counts(&self, group: &Group) -> Result<Sparse, Flaw> {
        let shape = <[usize; 2]>::try_from(self.list(group, "shape")?);
        let [n_features, n_barcodes] =
            shape.map_err(|shape| format!("`shape` has {} numbers: must have 2", shape.len()))?;
        let starts = self.list(group, "indptr")?;
        self.compressed(group, "matrix", [n_barcodes, n_features], false, (starts, "indices"))
    }

    /// Reads compressed rows or columns that begin at `starts`; a dataset `places` has the places of the values in `data`.
    fn compressed(
        &self,
        group: &Group,
        name: &str,
        shape: [usize; 2],
        by_column: bool,
        (starts, places): (Vec<usize>, &str),
    ) -> Result<Sparse, Flaw> {
        // Without entries MATLAB writes neither places nor values.
        let is_empty = places == "ir" && if_there(group.dataset("data"))?.is_none();
        let (places, entries) = if is_empty {
            (Vec::new(), Vec::new())
        } else {
            (self.list(group, places)?, self.numbers(&group.dataset("data")?, name)?)
        };
        Ok(Compressed { shape, by_column, starts, places, entries }.read(name, &self.budget)?)
    }

    /// Reads indices; invalid ones become `usize::MAX`, which is in no matrix.
    fn list(&self, group: &Group, name: &str) -> Result<Vec<usize>, Flaw> {
        let dataset = group.dataset(name)?;
        let beyond = |x: i64| usize::try_from(x).unwrap_or(usize::MAX);
        Ok(self.integers(&dataset)?.into_iter().map(beyond).collect())
    }

    /// Reads the values of a dataset of any shape, the last dimension running fastest.
    pub(crate) fn numbers(&self, dataset: &Dataset, name: &str) -> Result<Vec<f64>, Flaw> {
        use DType::{Enum, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        match dataset.dtype()? {
            F32 | F64 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => {}
            // Booleans of h5py.
            Enum(words) if words == ["FALSE", "TRUE"] => {}
            other => return Err(not_read(name, &other.to_string()).into()),
        }
        self.check_memory(dataset)?;
        Ok(dataset.read_f64()?)
    }

    /// Reads the values of a dataset as signed whole numbers.
    pub(crate) fn integers(&self, dataset: &Dataset) -> Result<Vec<i64>, Flaw> {
        self.check_memory(dataset)?;
        if matches!(dataset.dtype()?, DType::F32 | DType::F64) {
            let values = dataset.read_f64()?;
            return match values.iter().find(|x| x.fract() != 0.0) {
                Some(x) => Err(format!("{x} among the indices: they must be whole numbers").into()),
                None => Ok(values.into_iter().map(|x| x as i64).collect()),
            };
        }
        Ok(dataset.read_i64()?)
    }

    /// Reads the values of a dataset as strings; numbers keep all digits.
    pub(crate) fn words(&self, dataset: &Dataset) -> Result<Vec<String>, Flaw> {
        self.check_memory(dataset)?;
        let words = match dataset.dtype()? {
            DType::String => dataset.read_string()?,
            DType::VariableLengthString => {
                self.budget.bytes(dataset.vlen_string_payload_size()?)?;
                if dataset.element_size()? == 16 {
                    let references = dataset.read_raw()?;
                    let base = self.file.superblock().base_address.get();
                    hdf5_headers::check_strings(self.file.as_bytes(), base, &references)?;
                }
                dataset.read_vlen_strings(VlenStringReadOptions::default())?
            }
            DType::F32 | DType::F64 => as_texts(&dataset.read_f64()?),
            DType::U64 => as_texts(&dataset.read_u64()?),
            _ => as_texts(&dataset.read_i64()?),
        };
        // The decoder replaces invalid UTF-8, so that different words become equal.
        let is_utf8 = !words.iter().any(|word| word.contains(char::REPLACEMENT_CHARACTER));
        ensure!(is_utf8, "it holds text that is not UTF-8");
        Ok(words)
    }

    /// Reads the strings in the dataset of this name in a group, or returns `None` if there is none.
    pub(crate) fn words_in(&self, group: &Group, name: &str) -> Result<Option<Vec<String>>, Flaw> {
        if_there(group.dataset(name))?.map(|dataset| self.words(&dataset)).transpose()
    }

    /// Checks that the file can hold the declared values and that memory for them is left.
    pub(crate) fn check_memory(&self, dataset: &Dataset) -> Result<(), Flaw> {
        let shape = Self::shape(dataset)?;
        let n_values = self.budget.values(&shape)? as u64;
        let element = dataset.element_size()?;
        let n_bytes = n_values.saturating_mul(element);
        if element > 8 {
            self.budget.bytes(n_bytes)?;
        }
        let absent = || Flaw::from("damaged: a part of its values is not in the file");
        match dataset.layout()? {
            _ if n_values == 0 => Ok(()),
            Layout::Contiguous { address: Some(_), size } if size == n_bytes => Ok(()),
            Layout::Compact { size } if size == n_bytes => Ok(()),
            Layout::Chunked { chunk_shape, index } => {
                let most = self.file.as_bytes().len() as u64;
                let count = |(&n, &of_chunk): (&usize, &u64)| (n as u64).div_ceil(of_chunk.max(1));
                let mut counts = shape.iter().zip(&chunk_shape).map(count);
                let n_chunks = counts.try_fold(1, u64::checked_mul).filter(|&n| n <= most);
                let n_chunks = n_chunks.ok_or_else(absent)?;
                let chunk = chunk_shape.iter().try_fold(element, |n, &m| n.checked_mul(m));
                let chunk = chunk.unwrap_or(u64::MAX);
                self.budget.bytes(chunk)?;
                let chunks = dataset.chunks()?;
                // If the filters are lost, compressed bytes would be read as values.
                ensure!(
                    !dataset.filters().is_empty() || chunks.iter().all(|c| c.storage_size == chunk),
                    "damaged: a chunk without filters has another size"
                );
                let inside = |offset: &[u64]| {
                    offset.len() == shape.len()
                        && offset.iter().zip(&shape).all(|(&at, &extent)| at < extent as u64)
                        && offset.iter().zip(&chunk_shape).all(|(at, &n)| at % n.max(1) == 0)
                };
                let mut places: Vec<&[u64]> =
                    chunks.iter().map(|chunk| &chunk.offset[..]).filter(|at| inside(at)).collect();
                places.sort_unstable();
                places.dedup();
                let is_sound = index != ChunkIndex::BTreeV1
                    || self.keys_are_sound(&chunks, &chunk_shape, element);
                if places.len() as u64 == n_chunks && is_sound { Ok(()) } else { Err(absent()) }
            }
            _ => Err(absent()),
        }
    }

    /// Returns whether HDF5 itself finds these chunks in their index; our decoder reads the whole index.
    ///
    /// HDF5 searches the index: a chunk outside the keys on its path is absent and read as fill values. A node has a
    /// key before and after each entry; a key counts chunks along every dimension and along the bytes of an element.
    fn keys_are_sound(&self, chunks: &[Chunk], chunk_shape: &[u64], element: u64) -> bool {
        const HEAD: usize = 24;
        let bytes = self.file.as_bytes();
        let base = self.file.superblock().base_address.get();
        let extents = [chunk_shape, &[element]].concat();
        let counts = |offset: &[u64]| -> Option<Vec<u64>> {
            let places = offset.iter().zip(&extents);
            places.map(|(at, &n)| (at % n.max(1) == 0).then_some(at / n.max(1))).collect()
        };
        let number = |at: usize| hdf5_headers::number(bytes, at, 8).ok();
        let nodes = self.nodes.get_or_init(|| {
            let starts = (0..bytes.len().saturating_sub(HEAD)).filter(|&at| bytes[at] == b'T');
            // Mark of a node in an index of chunks.
            starts.filter(|&at| bytes[at..].starts_with(b"TREE\x01")).collect()
        });
        // First and last chunk below every address of a level.
        let mut below: HashMap<u64, [Vec<u64>; 2]> = HashMap::new();
        for chunk in chunks {
            let Some(place) = counts(&[&chunk.offset[..], &[0]].concat()) else { return false };
            below.insert(chunk.address.wrapping_sub(base), [place.clone(), place]);
        }
        let size = 8 * (extents.len() + 2);
        for level in 0..=u8::MAX {
            let mut here: HashMap<u64, [Vec<u64>; 2]> = HashMap::new();
            for &node in nodes.iter().filter(|&&node| bytes[node + 5] == level) {
                let key = |entry: usize| -> Option<Vec<u64>> {
                    let start = node + HEAD + entry * size + 8;
                    let offset = (0..extents.len()).map(|j| number(start + 8 * j));
                    offset.collect::<Option<Vec<u64>>>().and_then(|offset| counts(&offset))
                };
                let n_entries = u16::from_le_bytes([bytes[node + 6], bytes[node + 7]]);
                for entry in 0..usize::from(n_entries) {
                    let child = number(node + HEAD + (entry + 1) * size - 8);
                    let span = child.and_then(|child| below.get(&child));
                    let Some([first, last]) = span else { continue };
                    let keys = (key(entry), key(entry + 1));
                    let (Some(before), Some(behind)) = keys else { return false };
                    let begins = if level == 0 { before == *first } else { before <= *first };
                    if !begins || *last >= behind {
                        return false;
                    }
                    here.entry((node as u64).wrapping_sub(base))
                        .and_modify(|span| span[1].clone_from(last))
                        .or_insert_with(|| [first.clone(), last.clone()]);
                }
            }
            if here.is_empty() {
                break;
            }
            below = here;
        }
        true
    }
}

/// Returns the dataset or group that was opened by its name, or `None` if there is none.
pub(crate) fn if_there<T>(opened: Result<T, Error>) -> Result<Option<T>, Flaw> {
    use Error::{Format, NotADataset, NotAGroup};
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(NotADataset(_) | NotAGroup(_) | Format(FormatError::PathNotFound(_))) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns a number as an extent or place; a larger one becomes `usize::MAX`, which no file has.
fn extent(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
