//! Odd tables that the command accepts, and what it shows about them, in a snapshot.
//!
//! After a change that is meant, `INSTA_UPDATE=always cargo test -p cdimc --test command reading` writes the text again.

use crate::desk::{Desk, Shown};
use crate::refusals::FILES;
use insta::assert_snapshot;

/// Tables in addition to those of the test of refusals.
const MORE_FILES: [(&str, &str); 16] = [
    ("b.csv", "PatientID,b\nx,1\ny,2\nz,3\n"),
    ("commas.csv", "id,\"Age,years\",b\ns1,old,1\ns2,old,2\ns3,old,4\n"),
    ("control.csv", "id,\u{1b}[31mred,b\ns1,1,2\ns2,1,5\ns3,1,7\n"),
    ("counts.csv", "id,a\ns1,0\ns2,3\ns3,0\ns4,0\ns5,7\ns6,0\n"),
    ("other1.csv", "id,a\n0,1\n1,2\n2,4\n"),
    ("other2.csv", "id,b\n0.0,1\n1.0,2\n2,3\n"),
    ("other3.csv", "id,c\nq,1\nr,2\n"),
    ("plain.csv", "id,c,d\ns1,1,2\ns2,3,5\ns3,4,7\n"),
    ("summed.csv", "id,a\np0,3\np1,1\np2,2\np3,4\np4,8\np5,3\np6,5\np7,9\np8,6\np9,7\nMean,5\n"),
    // Clusters, and classes of the same samples.
    ("found.csv", "id,cluster,x\n1,0,x\n8,1,x\n7,2,x\n6,3,x\n5,0,x\n4,1,x\n3,2,x\n2,3,x\n"),
    ("ages.csv", "id,age\n1,20.5\n2,21.5\n3,22.5\n4,23.5\n5,24.5\n6,25.5\n7,26.5\n8,27.5\n"),
    ("tens.csv", "id,kind\n1,0\n8,10\n7,20\n6,30\n5,0\n4,10\n3,20\n2,30\n"),
    ("numbered.csv", "Nr,Proband,kind\n1,1,k\n2,8,l\n3,7,m\n4,6,n\n5,5,k\n6,4,l\n7,3,m\n8,2,n\n"),
    ("sites.csv", "Proband,kind,site\n1,k,A\n8,l,B\n7,m,A\n6,n,B\n5,k,A\n4,l,B\n3,m,B\n2,n,A\n"),
    ("some.csv", "id,kind\n1,k\n8,l\n7,NA\n6,NA\n5,k\n4,l\n3,NA\n2,NA\n"),
    ("semicolons.csv", "id ; kind\n1 ; k\n8 ; l\n7 ; NA \n6 ; NA \n5 ; k\n4 ; l\n"),
];

const ACCEPTED: &str = "\
inspect --view control.csv --id id
inspect --view commas.csv --id id --drop \"Age,years\"
inspect --view titled.csv --view plain.csv --id id --skip-lines titled.csv=1
inspect --view plain.csv --id id --skip-lines no.csv=3
inspect --view sex.csv --id patient --columns a
inspect --view sex.csv --view b.csv --id patient --id b.csv=PatientID --drop sex
inspect --view sex.csv --view b.csv --id patient --id b.csv=PatientID --columns a,b --drop sex,PatientID
inspect --view left.csv --view right.csv --id id
inspect --view left.csv --view right.csv --drop id
inspect --view other1.csv --view other2.csv --id id
inspect --view other1.csv --view other2.csv --view other3.csv --id id
inspect --view rna.csv --id id --id-pattern ^s(.*7)$
inspect --view rna.csv --view copy=rna.csv --id id
inspect --view counts.csv --id id
inspect --view summed.csv --id id
inspect --view summed.csv --id id --drop-samples ^(Mean)$
inspect --view summed.csv --id id --drop-samples ^SD$
evaluate --labels found.csv --truth found.csv
evaluate --labels found.csv --truth ages.csv --numeric-truth
evaluate --labels found.csv --truth tens.csv
evaluate --labels found.csv --truth numbered.csv
evaluate --labels found.csv --truth sites.csv --truth-column kind
evaluate --labels found.csv --truth some.csv
evaluate --labels found.csv --truth semicolons.csv";

#[test]
fn what_is_shown_about_odd_tables_is_in_a_snapshot() {
    let desk = Desk::new();
    FILES.iter().chain(&MORE_FILES).for_each(|(name, text)| desk.put(name, text));
    let shown = ACCEPTED.lines().map(|line| {
        let [out, errors] = desk.outputs(line);
        format!("$ cdimc {line}\n{out}{errors}\n")
    });
    assert_snapshot!("reading", shown.collect::<String>());
}

#[test]
fn patterns_and_dropped_samples_are_checked_over_all_parts() {
    let desk = Desk::new();
    let rows = |mark: &str| -> String {
        let row = |i: usize| format!("{mark}{i},{}.25,{}.5\n", i * 7 % 5, i * 3 % 4);
        (0..12).map(row).collect()
    };
    desk.put("r-0.csv", &format!("id,a,b\n{}", rows("s-")));
    desk.put("r-1.csv", &format!("id,a,b\n{}", rows("x")));
    let cluster = "cluster --view r=r-*.csv --id id -k 2 -q -o out";
    desk.fails(&format!("{cluster} --id-pattern ^z(.*)")).has("matches no id of any view");
    desk.succeeds(&format!("{cluster} --id-pattern ^s-(.*)"));
    assert_eq!(desk.labels("out/labels.csv").len(), 24);
}

#[test]
fn a_model_without_an_end_is_refused() {
    let desk = Desk::new();
    desk.fails("predict --model /dev/zero --view rna.csv --id id -o new.csv").has("/dev/zero");
}
