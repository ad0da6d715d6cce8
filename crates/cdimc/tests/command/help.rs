//! Help, manual pages, and hints at similar names.

use crate::desk::{COMMANDS, Desk};
use crate::shown::Shown;

#[test]
fn every_short_help_fits_a_screen_and_shows_an_example() {
    let desk = Desk::new();
    for sub in COMMANDS {
        let help = desk.succeeds(&format!("{sub} -h"));
        help.has("Example:");
        assert!(help.lines().count() <= 50, "{sub}: {} lines\n{help}", help.lines().count());
    }
    for (wrong, hint) in [
        ("clustr", "'cluster'"),
        ("cluster --vew rna.csv", "'--view'"),
        ("cluster --view rna.csv -k 4 --method t-mixtur -o out", "'t-mixture'"),
    ] {
        desk.fails(wrong).has("similar").has(hint);
    }
    desk.succeeds("manual -o manual");
    desk.text("manual/cdimc.bash").has("_cdimc");
    desk.text("manual/cdimc-cluster.1").has(".TH");
}
