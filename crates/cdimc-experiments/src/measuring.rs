//! What `bench` and `compare` share: a case goes to a process as a line of JSON, its views as files, and what the
//! process measured comes back as JSON.

use anyhow::{Context, Result, ensure};
use cdimc_data::{Dataset, MultiView, ViewMask};
use ndarray::Array2;
use serde::{Serialize, de::DeserializeOwned};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Gives the case to a process and takes its answer; `name` is what errors call the case.
pub(crate) fn ask<T: DeserializeOwned>(
    command: &mut Command,
    case: &impl Serialize,
    name: &str,
) -> Result<T> {
    let name = format!("{} on {name}", command.get_program().to_string_lossy());
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| name.clone())?;
    let mut input = process.stdin.take().context("process without input")?;
    writeln!(input, "{}", serde_json::to_string(case)?)?;
    drop(input);
    let output = process.wait_with_output()?;
    ensure!(output.status.success(), "{name}: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.trim()).context(name)
}

/// The case on standard input.
pub(crate) fn asked<T: DeserializeOwned>() -> Result<T> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    serde_json::from_str(&line).context("the case on standard input")
}

/// Writes the views that the mask has to `view0.f64`, ...: values row by row, NaN where hidden.
pub(crate) fn write_views(folder: &Path, dataset: &Dataset, mask: &ViewMask) -> Result<()> {
    for (v, view) in dataset.views()[..mask.n_views()].iter().enumerate() {
        let mut file = BufWriter::new(File::create(folder.join(format!("view{v}.f64")))?);
        for (i, row) in view.outer_iter().enumerate() {
            for &x in row {
                let x = if mask.is_observed(i, v) { x } else { f64::NAN };
                file.write_all(&x.to_le_bytes())?;
            }
        }
        file.flush()?;
    }
    Ok(())
}

/// Reads what [`write_views`] wrote, with the mask read off the rows that are NaN.
pub(crate) fn read_views(folder: &Path, n_samples: usize, widths: &[usize]) -> Result<MultiView> {
    let read = |(v, &width): (usize, &usize)| -> Result<Array2<f64>> {
        let file = File::open(folder.join(format!("view{v}.f64")))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut values = Array2::zeros((n_samples, width));
        let mut bytes = [0; 8];
        for x in &mut values {
            file.read_exact(&mut bytes)?;
            *x = f64::from_le_bytes(bytes);
        }
        Ok(values)
    };
    let views = widths.iter().enumerate().map(read).collect::<Result<_>>()?;
    Ok(MultiView::from_nan_rows(views)?)
}
