//! Reads the clinical table.

use crate::clinical::{Clinical, ClinicalTable, SurvivalColumns};
use crate::command::input::Input;
use crate::tables::Joined;
use anyhow::bail;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A clinical table and its columns of survival.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ClinicalInput {
    pub(crate) file: PathBuf,
    /// Name of the id column of the clinical table, if it differs from the name in the views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    pub(crate) survival: Option<SurvivalColumns>,
}

impl ClinicalInput {
    /// Returns the table in the order of `samples`, without columns that are in their views.
    pub(super) fn read(&self, input: &Input, samples: &Joined) -> anyhow::Result<Clinical> {
        let table: ClinicalTable = input.clinical(&self.file, self.id.as_deref(), &samples.ids)?;
        if let Some(columns) = &self.survival {
            for column in [&columns.time, &columns.event] {
                if !table.names().contains(column) {
                    let (file, there) = (self.file.display(), table.names().join("`, `"));
                    bail!("{file}: no column `{column}` (--survival); there are: `{there}`");
                }
            }
        }
        let mut clinical = Clinical::new(&table, self.survival.as_ref(), &samples.ids);
        clinical.leave_out_clustered(samples);
        for note in &clinical.notes {
            tracing::warn!("{}: {note}", self.file.display());
        }
        Ok(clinical)
    }
}
