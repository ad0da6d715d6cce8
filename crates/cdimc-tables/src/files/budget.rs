//! Limits the memory for the content of a file, whatever sizes the file declares.

use std::cell::Cell;

/// Smallest budget: small files often compress well.
const MIN_BUDGET_BYTES: u64 = 256 << 20;
/// Memory per byte of a file: sparse counts of single cells compress about this well.
const BUDGET_PER_FILE_BYTE: u64 = 64;

/// Remaining memory for the content of one file.
///
/// Readers call it before each allocation: damaged or malicious files can declare any size.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// The initial budget in bytes.
    pub(crate) limit: u64,
    left: Cell<u64>,
}

impl Budget {
    /// Returns the budget of a file of `n_bytes`: `max_bytes`, or 64 bytes per byte and at least 256 MiB.
    pub(crate) fn of_file(n_bytes: usize, max_bytes: Option<u64>) -> Self {
        let default = (n_bytes as u64).saturating_mul(BUDGET_PER_FILE_BYTE).max(MIN_BUDGET_BYTES);
        let limit = max_bytes.unwrap_or(default);
        Self { limit, left: Cell::new(limit) }
    }

    /// Takes the memory of an array of 8-byte numbers and returns the number of its values.
    pub(crate) fn values(&self, shape: &[usize]) -> Result<usize, String> {
        let product = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
        let bytes = product.and_then(|n| n.checked_mul(size_of::<f64>()));
        match (product, bytes) {
            (Some(n_values), Some(bytes)) => self.bytes(bytes as u64).map(|()| n_values),
            _ => Err(format!("declares an array of shape {shape:?}: no memory holds that")),
        }
    }

    pub(crate) fn bytes(&self, n_bytes: u64) -> Result<(), String> {
        let Some(left) = self.left.get().checked_sub(n_bytes) else {
            return Err(format!(
                "its content takes more than {} of memory: if the file is to be trusted, allow more \
                 (--max-bytes)",
                size(self.limit)
            ));
        };
        self.left.set(left);
        Ok(())
    }
}

fn size(n_bytes: u64) -> String {
    match n_bytes {
        0..=9_999 => format!("{n_bytes} bytes"),
        10_000..=9_999_999 => format!("{} kB", n_bytes / 1000),
        10_000_000..=9_999_999_999 => format!("{} MB", n_bytes / 1_000_000),
        _ => format!("{} GB", n_bytes / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_memory_is_not_available_again() {
        let budget = Budget::of_file(0, Some(100));
        assert_eq!(budget.values(&[3, 4]), Ok(12));
        crate::testing::refused(budget.values(&[1]), "more than 100 bytes");
        assert_eq!(budget.bytes(4), Ok(()));
    }

    #[test]
    fn large_files_have_larger_budgets() {
        assert_eq!(Budget::of_file(10, None).limit, 256 << 20);
        assert_eq!(Budget::of_file(1 << 30, None).limit, 64 << 30);
        assert!(Budget::of_file(1 << 30, None).values(&[usize::MAX, 2]).is_err());
    }
}
