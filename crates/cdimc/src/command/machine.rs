//! What this machine has, and what a fit would need of it.

use anyhow::bail;
use cdimc::cluster::Clusterer;
use cdimc::data::MultiView;
use cdimc::note;

/// Operations a second and thread that dense products reach on an ordinary processor.
const SPEED: f64 = 2e10;
/// A fit that takes more seconds than this is announced before it starts.
const LONG: f64 = 120.0;

/// Refuses a fit that cannot end well, and says how long one will take that can.
pub(super) fn check_cost(
    method: &dyn Clusterer,
    data: &MultiView,
    n_clusters: usize,
    quiet: bool,
) -> anyhow::Result<()> {
    let Some(cost) = method.cost(data, n_clusters) else { return Ok(()) };
    if let Some(available) = available_bytes()
        && cost.bytes > available
    {
        bail!(
            "{} needs about {:.1} GB of memory for such data, {:.1} GB are free: leave out columns, take \
             fewer `components` where the method has them, or another method",
            method.name(),
            cost.bytes / 1e9,
            available / 1e9
        );
    }
    let seconds = cost.operations / (SPEED * rayon::current_num_threads() as f64);
    if seconds > LONG && !quiet {
        note!(
            "{}: about {} and {:.0} MB of memory",
            method.name(),
            duration(seconds),
            cost.bytes / 1e6
        );
    }
    Ok(())
}

fn duration(seconds: f64) -> String {
    if seconds < 5400.0 {
        format!("{:.0} minutes", seconds / 60.0)
    } else {
        format!("{:.1} hours", seconds / 3600.0)
    }
}

/// Memory that this process may still take: what is free, the limit of its address space and that of its
/// control group, whichever is least; none where the system does not report it.
fn available_bytes() -> Option<f64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let free = read("/proc/meminfo").and_then(|text| field(&text, "MemAvailable:", 1024.0));
    let space = read("/proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        number(line.split_whitespace().next()?)
    });
    let group = read("/sys/fs/cgroup/memory.max").and_then(|most| {
        let used = read("/sys/fs/cgroup/memory.current").and_then(|used| number(&used));
        Some(number(&most)? - used.unwrap_or(0.0))
    });
    [free, space, group].into_iter().flatten().reduce(f64::min)
}

/// The number after `name`, in units of this many bytes.
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
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_system_that_says_what_is_free_is_heard() {
        assert!(available_bytes().unwrap() > 1e6);
    }

    #[test]
    fn times_are_told_in_units_that_fit() {
        assert_eq!([duration(150.0), duration(10800.0)], ["2 minutes", "3.0 hours"]);
    }
}
