//! Reads MATLAB 7.3 files: HDF5 with MATLAB's class names.

use super::{FIRST_INEXACT, MAX_DEPTH, MatValue};
use crate::error::{Flaw, ensure};
use crate::files::hdf5_file::{AttrValue, DType, Dataset, Group, Hdf5File, Object};

/// Entries of MATLAB that are not variables.
const NOT_VARIABLES: [&str; 2] = ["#refs#", "#subsystem#"];

/// Returns the named variables of a file, sorted by name.
pub(super) fn variables(file: &Hdf5File) -> Result<Vec<(String, MatValue)>, Flaw> {
    let root = file.root();
    let mut variables = Vec::new();
    for name in Hdf5File::names(&root)? {
        if NOT_VARIABLES.contains(&name.as_str()) {
            continue;
        }
        let value = match root.dataset(&name) {
            Ok(dataset) => of_dataset(file, &dataset, &name, 0)?,
            Err(_) => of_group(file, &root.group(&name)?, &name)?,
        };
        variables.push((name, value));
    }
    ensure!(!variables.is_empty(), "no variable is there");
    Ok(variables)
}

pub(crate) fn is_matlab(root: &Group) -> bool {
    let named = |name: &String| match (root.dataset(name), root.group(name)) {
        (Ok(dataset), _) => dataset.attrs().is_ok_and(|a| a.contains_key("MATLAB_class")),
        (_, Ok(group)) => {
            let attrs = group.attrs().unwrap_or_default();
            attrs.contains_key("MATLAB_class") || attrs.contains_key("MATLAB_sparse")
        }
        _ => false,
    };
    Hdf5File::names(root).is_ok_and(|names| names.iter().any(named))
}

fn of_group(file: &Hdf5File, group: &Group, name: &str) -> Result<MatValue, Flaw> {
    let attrs = group.attrs()?;
    if !attrs.contains_key("MATLAB_sparse") {
        // Only sparse matrices have parts of these names.
        let is_sparse = ["ir", "jc"].iter().all(|part| group.dataset(part).is_ok());
        ensure!(!is_sparse, "{name}: a sparse matrix without its number of rows");
        return Ok(MatValue::Unsupported("a struct"));
    }
    Ok(MatValue::Sparse(file.sparse(group, name)?.into()))
}

fn of_dataset(
    file: &Hdf5File,
    dataset: &Dataset,
    name: &str,
    depth: usize,
) -> Result<MatValue, Flaw> {
    let attrs = dataset.attrs()?;
    // An empty array stores its extents in place of values.
    let is_empty = attrs.contains_key("MATLAB_empty");
    match attrs.get("MATLAB_class").and_then(AttrValue::as_str) {
        Some("cell") if is_empty => Ok(MatValue::Cells(Vec::new())),
        Some("cell") => cells(file, dataset, name, depth),
        Some("char") if is_empty => Ok(MatValue::Text(String::new())),
        Some("char") => {
            file.check_memory(dataset)?;
            Ok(MatValue::Text(String::from_utf16_lossy(&dataset.read_u16()?)))
        }
        Some("struct") => Ok(MatValue::Unsupported("a struct")),
        Some("function_handle") => Ok(MatValue::Unsupported("a function")),
        _ if is_empty => {
            Ok(MatValue::Numeric { shape: vec![0, 0], values: Vec::new(), exact: None })
        }
        _ => match dataset.dtype()? {
            DType::Compound(_) => Ok(MatValue::UnreadMatrix("an array of complex numbers")),
            DType::ObjectReference | DType::String | DType::VariableLengthString => {
                Ok(MatValue::Unsupported("an object"))
            }
            kind => numeric(file, dataset, name, &kind),
        },
    }
}

/// In HDF5 the last extent runs fastest, in MATLAB the first.
fn numeric(file: &Hdf5File, dataset: &Dataset, name: &str, kind: &DType) -> Result<MatValue, Flaw> {
    let mut shape = Hdf5File::shape(dataset)?;
    shape.reverse();
    // Other programs write vectors and single numbers.
    while shape.len() < 2 {
        shape.push(1);
    }
    let values = file.numbers(dataset, name)?;
    let beyond = values.iter().any(|x| x.abs() >= FIRST_INEXACT);
    let exact = match kind {
        DType::I64 if beyond => Some(dataset.read_i64()?.into_iter().map(i128::from).collect()),
        DType::U64 if beyond => Some(dataset.read_u64()?.into_iter().map(i128::from).collect()),
        _ => None,
    };
    Ok(MatValue::Numeric { shape, values, exact })
}

fn cells(file: &Hdf5File, dataset: &Dataset, name: &str, depth: usize) -> Result<MatValue, Flaw> {
    ensure!(depth < MAX_DEPTH, "damaged: cells nested more than {MAX_DEPTH} deep");
    let cell = |object: &Object| match object {
        Object::Group(group) => of_group(file, group, name),
        Object::Dataset(dataset) => of_dataset(file, dataset, name, depth + 1),
        _ => Ok(MatValue::Unsupported("an object")),
    };
    file.check_memory(dataset)?;
    dataset.dereference()?.iter().map(cell).collect::<Result<_, _>>().map(MatValue::Cells)
}
