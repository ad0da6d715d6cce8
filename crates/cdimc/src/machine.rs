//! Memory and threads of this machine, and the forecast of a fit.

use cdimc_core::{ClusterError, Clusterer, Cost};
use cdimc_data::MultiView;

/// Operations per second and thread of dense products on an ordinary processor.
const SPEED: f64 = 2e10;
/// Forecast time of a fit, in seconds, above which a message precedes it.
const LONG: f64 = 10.0;

/// Returns `requested`, or with a warning the smaller number of threads that this machine runs at once.
pub fn threads(requested: usize) -> usize {
    let most = std::thread::available_parallelism().map_or(requested, std::num::NonZero::get);
    if requested > most {
        tracing::warn!("threads = {requested}: this machine runs {most} at once; {most} are used");
    }
    requested.min(most)
}

/// Returns the forecast of a fit, if the method has one.
///
/// # Errors
/// If the number of clusters is out of range, or the fit needs more than the free memory.
pub(crate) fn forecast(
    method: &dyn Clusterer,
    data: &MultiView,
    n_clusters: usize,
) -> Result<Option<Cost>, ClusterError> {
    cdimc_core::check_n_clusters(n_clusters, data.n_samples())?;
    let cost = method.cost(data, n_clusters);
    if let Some(cost) = &cost
        && let Some(available) = available_bytes()
        && cost.bytes > available
    {
        let reason = format!(
            "it needs about {:.1} GB of memory for such data, {:.1} GB are free: leave out columns, take \
             fewer `components` where the method has them, or another method",
            cost.bytes / 1e9,
            available / 1e9
        );
        return Err(ClusterError::Inapplicable { method: method.name(), reason });
    }
    Ok(cost)
}

/// Returns one line with the forecast time of a long fit; `None` if it is short.
pub(crate) fn announcement(method: &str, cost: &Cost) -> Option<String> {
    let seconds = seconds(cost) / rayon::current_num_threads() as f64;
    let (time, megabytes) = (duration(seconds), cost.bytes / 1e6);
    (seconds > LONG).then(|| format!("{method}: about {time} and {megabytes:.0} MB of memory"))
}

/// Returns the forecast seconds of a fit on one thread of an ordinary processor.
pub(crate) fn seconds(cost: &Cost) -> f64 {
    cost.operations / SPEED
}

fn duration(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} seconds")
    } else if seconds < 5400.0 {
        format!("{:.0} minutes", seconds / 60.0)
    } else {
        format!("{:.1} hours", seconds / 3600.0)
    }
}

/// Returns the memory that this process may still take: the minimum of the free memory, the limit of its address
/// space and the limit of its control group; `None` if the system does not report it.
fn available_bytes() -> Option<f64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let free = read("/proc/meminfo").and_then(|text| field(&text, "MemAvailable:", 1024.0));
    let space = read("/proc/self/limits").and_then(|text| field(&text, "Max address space", 1.0));
    let group = read("/sys/fs/cgroup/memory.max").and_then(|most| {
        let used = read("/sys/fs/cgroup/memory.current").and_then(|used| number(&used));
        let stat = read("/sys/fs/cgroup/memory.stat");
        // Cached files are released when memory is needed.
        let held = stat.and_then(|stat| field(&stat, "inactive_file ", 1.0)).unwrap_or(0.0);
        Some(number(&most)? - (used.unwrap_or(0.0) - held).max(0.0))
    });
    [free, space, group].into_iter().flatten().reduce(f64::min)
}

/// Returns the number after `name`, multiplied by `unit`.
fn field(text: &str, name: &str, unit: f64) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(unit * line.split_whitespace().next()?.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_their_units() {
        let text = "MemTotal:  100 kB\nMemAvailable:    42 kB\n";
        assert_eq!(field(text, "MemAvailable:", 1024.0), Some(43008.0));
        assert_eq!(field(text, "MemFree:", 1024.0), None);
        let stat = "anon 100\nfile 900\ninactive_anon 5\ninactive_file 700\nactive_file 200\n";
        assert_eq!(field(stat, "inactive_file ", 1.0), Some(700.0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn free_memory_is_read_on_linux() {
        assert!(available_bytes().unwrap() > 1e6);
    }

    #[test]
    fn durations_are_written_in_fitting_units() {
        assert_eq!([duration(150.0), duration(10800.0)], ["2 minutes", "3.0 hours"]);
    }
}
