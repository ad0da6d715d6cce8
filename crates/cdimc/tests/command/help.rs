//! Help, manual pages, and hints at similar names.

use crate::desk::{COMMANDS, Desk};

#[test]
fn every_short_help_fits_a_screen_and_shows_an_example() {
    let desk = Desk::new();
    for sub in COMMANDS {
        let help = desk.succeeds(&format!("{sub} -h"));
        assert!(help.contains("Example:"), "{help}");
        assert!(help.lines().count() <= 50, "{sub}: {} lines\n{help}", help.lines().count());
    }
    // Rare options are in the long help alone.
    assert!(desk.succeeds("cluster --help").contains("--sample-map"));
    assert!(!desk.succeeds("cluster -h").contains("--sample-map"));
    for (wrong, hint) in [
        ("clustr", "'cluster'"),
        ("cluster --vew rna.csv", "'--view'"),
        ("cluster --view rna.csv -k 4 --method t-mixtur -o out", "'t-mixture'"),
    ] {
        let error = desk.fails(wrong);
        assert!(error.contains("similar") && error.contains(hint), "{error}");
    }
    desk.succeeds("manual -o manual");
    assert!(desk.text("manual/cdimc.bash").contains("_cdimc"));
    assert!(desk.text("manual/cdimc-cluster.1").contains(".TH"));
}
