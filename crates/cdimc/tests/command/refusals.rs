//! What the command refuses: in one line, which a snapshot holds, and without leaving anything behind.
//!
//! After a change that is meant, `INSTA_UPDATE=always cargo test -p cdimc --test command refusals` writes the texts again.

use crate::desk::Shown;
use crate::parts::cut;
use insta::assert_snapshot;

pub(crate) const FILES: [(&str, &str); 41] = [
    ("age.csv", "id,age\ns1,20.5\ns2,21.5\ns3,22.5\n"),
    ("alike.csv", "id,a,a\ns1,1,2\ns2,2,1\n"),
    ("clinic.csv", "patient,days,dead\ns1,5,0\ns2,7,1\ns3,8,1\n"),
    ("clinic_twice.csv", "patient,days,dead\ns1,5,0\ns2,7,1\ns1,8,1\n"),
    ("comma.csv", "id,\"Age, years\",b\ns1,old,1\ns2,old,2\n"),
    ("empty.csv", ""),
    ("few.csv", "id,a\ns1,1\ns2,2\ns3,4\n"),
    ("flat.csv", "id,a\ns1,1\ns2,1\ns3,1\n"),
    ("german.csv", "id;a;b\ns1;400;7\ns2;1.007;8\ns3;426;7\ns4;1.021;8\ns5;452;7\ns6;1.035;8\n"),
    ("gone.csv", "id,a\ns1,\ns2,NA\n"),
    ("headless.csv", "1.5,2,3\n4,5,6\n"),
    ("letter.csv", "id,a,b\ns1,1,2\ns2,x,3\n"),
    ("left.csv", "id,a\n11,0\n12,3\n13,6\n14,2\n15,5\n16,1\n17,4\n18,0\n19,3\n20,6\n"),
    ("map.csv", "assay,primary,colname\nrna,p1,s1\n"),
    ("narrow.csv", "id,rna0,rna1\ns1,1,2\ns2,3,4\n"),
    ("one.csv", "id,a\ns1,1\n"),
    ("others.csv", "id,a\nt1,1\nt2,2\n"),
    ("ragged.csv", "id,a,b\ns1,1,2\ns2,1\n"),
    ("repeated.csv", "id,a\ns1,1\ns2,2\ns1,3\n"),
    ("right.csv", "id,b\n11,0\n18,1\n15,4\n12,9\n19,5\n16,3\n13,3\n20,5\n17,9\n14,4\n"),
    ("same.csv", "id,b\ns1,1\ns2,2\ns9,4\n"),
    ("sex.csv", "patient,a,sex\nx,1,m\ny,2,f\nz,4,f\n"),
    ("strangers.csv", "id,kind\nx1,a\nx2,b\n"),
    ("titled.csv", "Table 2\nid,a,b\ns1,1,2\ns2,3,5\ns3,4,8\n"),
    ("two.csv", "id,kind,batch\ns1,k,b\ns2,l,c\ns3,k,b\n"),
    ("unknown.csv", "id,kind\ns1,unknown\ns2,unknown\n"),
    ("words.csv", "id,a\ns1,high\ns2,low\ns3,high\n"),
    ("bad.toml", "alpah = 1\n"),
    ("broken.toml", "alpha = 1\nbatch-size =\n"),
    ("odd.toml", "[pretrain]\nepochs = 3\nlearning-rate = nan\n"),
    ("mine/notes.txt", "mine"),
    // Samples in parts: `s1` is in two of `p` and `q`, `s2` in two of `p` and `r`.
    ("p-0.csv", "id,a\ns1,1\ns2,2\n"),
    ("p-1.csv", "id,a\ns3,1\ns4,2\n"),
    ("q-1.csv", "id,b\ns1,\ns3,4\n"),
    ("r-1.csv", "id,b\ns2,1\ns3,4\n"),
    ("columns-0.csv", "id,a,b\ns1,1,2\n"),
    ("columns-1.csv", "id,a,c\ns2,1,2\n"),
    ("gaps-0.csv", "id,a\ns1,\n"),
    ("gaps-1.csv", "id,a\ns2,NA\n"),
    ("nameless-0.csv", "a\n1\n2\n"),
    ("rare-1.csv", "id,x\ns1,1\n"),
];

/// One command per line; the first is empty.
const REFUSED: &str = "
clustr
cluster --vew rna.csv
cluster --view rna.csv -k 4 --method t-mixtur -o out
cluster --view rna.csv --id id -k 4 --method kmeans -o out
cluster -k 4 -o out
cluster VIEWS -o out
cluster --view absent.csv -k 4 -o out
cluster --view good --id id -k 2 -o out
cluster --view rna.csv#a --id id -k 2 -o out
cluster --view headless.csv -k 2 -o out
cluster --view empty.csv --id id -k 2 -o out
cluster --view ragged.csv --id id -k 2 -o out
cluster --view letter.csv --id id -k 2 -o out
cluster --view words.csv --id id -k 2 -o out
cluster --view repeated.csv --id id -k 2 -o out
cluster --view alike.csv --id id -k 2 -o out
cluster --view rna.csv --view others.csv --id id -k 2 -o out
cluster --view rna.csv --view gone.csv --id id -k 2 -o out
cluster --view rna.csv --view flat.csv --id id -k 2 -o out
cluster --view rna.csv --view one.csv --id id -k 2 -o out
cluster --view one.csv --id id -k 2 -o out
cluster --view a=rna.csv --view a=protein.csv --id id -k 2 -o out
cluster --view rna.csv -k 1 -o out
cluster --view rna.csv --id patient -k 4 -o out
inspect --view german.csv --id id
inspect --view comma.csv --id id
inspect --view titled.csv --id id
inspect --view titled.csv --id id --skip-lines x
inspect --view sex.csv --id patient
inspect --view sex.csv --id patient --columns c
inspect --view sex.csv --id patient --drop sex,age
inspect --view few.csv --view others.csv --id id
inspect --view left.csv --view right.csv
cluster --view left.csv --view right.csv -k 2 -o out
inspect --view rna.csv --id id --id-pattern ^(PAT.*)
inspect --view rna.csv --id id --id-pattern (
inspect --view rna.csv --id id --id-pattern ^(s)
inspect --view rna.csv --id id --replicates last
inspect --view other=rna.csv --id id --sample-map map.csv
inspect --view few.csv --view same.csv --id id --transposed other.csv
inspect --view few.csv --view same.csv --id id --id other.csv=gene
inspect --view few.csv --view same.csv --id id --id name
inspect VIEWS --svg image.csv --force
inspect VIEWS --svg short.toml
inspect PARTS
cluster --view rna-*.csv --id id -k 4 -q -o out
cluster --view rna=dna-*.csv --id id -k 4 -q -o out
cluster --view rna=rna-*.csv --view protein.csv --id id -k 4 -q -o out
cluster --view rna=rna-*.csv --id id --drop nonesuch -k 4 -q -o out
cluster --view rna=rna-*.csv --id id --label nonesuch -k 4 -q -o out
cluster --view rna=rna-*.csv --id id --method concat -k 4 -q -o out
cluster --view p=p-*.csv --view q=q-*.csv --id id -k 2 -q -o out
cluster --view p=p-*.csv --view r=r-*.csv --id id -k 2 -q -o out
cluster --view a=columns-*.csv --id id -k 2 -q -o out
cluster --view a=gaps-*.csv --id id -k 2 -q -o out
cluster --view a=nameless-*.csv -k 2 -q -o out
cluster PARTS --view rare=rare-*.csv -k 4 -q -o out
cluster VIEWS -k 1000000000 -o out
cluster --view rna.csv --id id -k 4000 -o out
compare VIEWS -k 500 -o out
compare VIEWS -k 4 --repetitions 0 -o out
cluster VIEWS --k-range 2..80 -o out
cluster VIEWS --k-range 5..2 -o out
cluster VIEWS -k 4 --method concat --stability -o out
cluster VIEWS -k 4 --method concat --coverage 0.8 -o out
cluster VIEWS -k 4 --coverage 1 -o out
cluster --view few.csv --id id -k 2 --method cdimc-net -o out
cluster --view few.csv --id id -k 2 --method cdimc-net --config odd.toml -o out
cluster VIEWS -k 4 --method cdimc-net --config bad.toml -o out
cluster VIEWS -k 4 --method cdimc-net --config broken.toml -o out
cluster VIEWS -k 4 --clinical clinic.csv --survival days,died -o out
cluster VIEWS -k 4 --clinical clinic.csv --survival days -o out
cluster VIEWS -k 4 --clinical clinic_twice.csv -o out
cluster VIEWS -k 4 --clinical nowhere.csv -o out
cluster VIEWS -k 4 --survival days,dead -o out
mask --view few.csv --view same.csv --id id --pattern given:11,11,01,11 -o out
mask --view few.csv --view same.csv --id id --pattern per-view:0.9 -o out
predict --model good/model.safetensors --view rna=narrow.csv --id id -o out
predict --model half.safetensors --view rna.csv --id id -o out
predict --model rna.csv --view rna.csv --id id -o new
predict --model good/model.safetensors --view rna.csv --id id -o rna.csv --force
predict --model good/model.safetensors --view rna.csv --id id -o ./good/../rna.csv --force
predict --model good/model.safetensors --view rna.csv --id id -o good/model.safetensors --force
predict --model good/model.safetensors --view rna.csv --id id -o protein.csv
impute --model good/model.safetensors VIEWS --force -o good
explain --model mixture/model.safetensors VIEWS --sample s999
explain --model mixture/model.safetensors VIEWS
explain --model good/model.safetensors VIEWS --sample s3
evaluate --labels rna.csv --truth protein.csv
evaluate --labels good/labels.csv --truth age.csv
evaluate --labels good/labels.csv --truth two.csv
compare VIEWS -k 4 --method concat --truth age.csv -o out
compare VIEWS -k 4 --method concat --repetitions 1 --truth strangers.csv -o out
compare VIEWS -k 4 --method concat --truth unknown.csv --missing-value unknown -o out
cluster --resume good
cluster --resume some --seed 3
cluster --resume some --method concat
cluster --resume some -k 3
cluster --resume some --id id
cluster --resume some --force
NET -q -o good
NET -q -o mine
NET -q -o mine --force
NET -q -o mixture --force
cluster VIEWS -k 4 --method cdimc-net --config mixture/own.toml -o mixture --force
";

#[test]
fn refusals_are_one_line_in_a_snapshot_and_leave_nothing_behind() {
    let desk = cut();
    FILES.iter().for_each(|(name, text)| desk.put(name, text));
    desk.succeeds("NET -q -o good");
    desk.succeeds("cluster VIEWS -k 4 -q -o mixture");
    desk.put("mixture/own.toml", "[pretrain]\nepochs = 3\n");
    let model = std::fs::read(desk.path("good/model.safetensors")).unwrap();
    std::fs::write(desk.path("half.safetensors"), &model[..model.len() / 2]).unwrap();
    assert_snapshot!("refusals", desk.refusals(REFUSED));
    // The first text has the path of a temporary folder; the second differs between builds.
    desk.fails("cluster --resume none").has("there is no interrupted run");
    desk.fails("NET -q --device cuda -o out").has("cuda");
}
