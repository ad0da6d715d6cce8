//! What text tables give and how they are refused.

use super::*;
use crate::TableError;
use crate::files::{Replicates, SampleNames, read_views};
use ndarray::array;
use std::io::Write;

fn read_text(text: &[u8], options: &ReadOptions) -> Result<Table, TableError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rna.csv");
    std::fs::write(&path, text).unwrap();
    let source = ViewSource { name: None, path, member: None };
    read_views(&source, options).map(|mut tables| tables.remove(0))
}

fn by_id() -> ReadOptions {
    ReadOptions { id: Some("id".into()), ..ReadOptions::default() }
}

#[test]
fn ids_numbers_and_gaps_are_read() {
    let table = read_text(b"id,a,\"b, c\"\nx,1,2.5\ny,NA,-3e2\n", &by_id()).unwrap();
    assert_eq!((table.name.as_str(), table.ids.unwrap()), ("rna", vec!["x".into(), "y".into()]));
    assert_eq!(table.features, ["a", "b, c"]);
    assert!(table.values[[1, 0]].is_nan());
    assert_eq!(table.values.dense().row(0), array![1.0, 2.5]);
    assert_eq!(table.values[[1, 1]], -300.0);
}

#[test]
fn tabs_semicolons_gzip_and_byte_order_marks_change_nothing() {
    let plain = read_text(b"id,a,b\nx,1,2\n", &by_id()).unwrap().values;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"id;a;b\nx;1;2\n").unwrap();
    let packed = packed.finish().unwrap();
    let texts: [&[u8]; 5] = [
        b"id\ta\tb\r\nx\t1\t2\r\n\r\n",
        b"\xef\xbb\xbfid,a,b\nx,1,2",
        b"id a b\nx 1 2\n",
        b"\"id\";\"a, or b, or c\";\"b\"\n\"x\";1;2\n",
        &packed,
    ];
    for text in texts {
        assert_eq!(read_text(text, &by_id()).unwrap().values, plain);
    }
}

#[test]
fn an_unnamed_column_holds_the_row_names() {
    let table = read_text(b",0,1\ns1,1,2\ns2,3,4\n", &ReadOptions::default()).unwrap();
    assert_eq!(table.ids.unwrap(), ["s1", "s2"]);
    assert_eq!(table.values, array![[1.0, 2.0], [3.0, 4.0]]);
}

#[test]
fn every_error_names_the_row_or_column() {
    let message = |text: &[u8], options: &ReadOptions| {
        let error = read_text(text, options).unwrap_err().to_string();
        error.split_once("rna.csv: ").unwrap().1.to_owned()
    };
    let none = ReadOptions::default();
    assert_eq!(message(b"", &none), "the file is empty");
    assert_eq!(message(b"a,b\n", &none), "no rows below the header");
    assert!(message(b"1.5,2\n3,4\n", &none).starts_with("no header"));
    assert_eq!(
        message(b"a,b\n1,2\n3\n", &none),
        "row 2 (line 3) has 1 cells, the header has 2: it begins with `3`; if that is a note, delete the line"
    );
    assert!(message(b"a,b\n1,x\n", &none).starts_with("row 1, column `b`: `x` is not a number"));
    assert_eq!(message(b"a,b\n1,inf\n", &none), "row 1, column `b` = inf: values must be finite");
    assert_eq!(message(b"a,b\n1,2\n", &by_id()), "no column `id`; there are: `a`, `b`");
    assert_eq!(
        message(b"id,b\nx,2\ny,3\nx,4\n", &by_id()),
        "id `x` stands in row 1 and again in row 3: ids must be unique"
    );
    assert!(
        message(b"b,c,b\n1,2,3\n", &none).starts_with("`b` names features 1, 3: a feature has")
    );
    assert_eq!(message(b"id,b,id\nx,2,1\n", &by_id()), "two columns are named `id`");
    assert_eq!(message(b"id,b\nx,2\nNA,3\n", &by_id()), "row 2 has no id");
    assert_eq!(
        message(b"id\tb\n\"q\t5\nw\"\t7\n", &by_id()),
        r#"row 1: id "q\t5\nw" has a control character in it"#
    );
    assert_eq!(message(b"id\nx\n", &by_id()), "no column of numbers");
}

#[test]
fn a_quote_that_is_never_closed_is_refused_in_any_column() {
    let text = b"id,a,b,note\np,1,2,x\nq,3,4,\"y\nr,5,6,z\ns,7,8,w\n";
    let unused = ReadOptions { drop: vec!["note".into()], ..by_id() };
    let class = ReadOptions { label: Some("note".into()), ..by_id() };
    for options in [&unused, &class] {
        let message = read_text(text, options).unwrap_err().to_string();
        assert!(message.ends_with("a quote that opens in line 3 or below is never closed"));
    }
    let texts: [&[u8]; 4] = [
        b"id,a,note\np,1,\"x\ny\"\nq,2,5\" tall\n",
        b"id,a,note\np,1,\"x\ny\"\nq,2,5\" tall",
        b"id,a,note\r\np,1,\"x\r\ny\"\r\nq,2,\"5\"\" tall\"\r\n\r\n",
        b"id,a,note\r\np,1,\"x\r\ny\"\r\nq,2,\"5\"\" tall\"",
    ];
    for text in texts {
        assert_eq!(read_text(text, &class).unwrap().labels.unwrap()[1], "5\" tall");
    }
    let message = read_text(b"\"id,a\np,1\n", &by_id()).unwrap_err().to_string();
    assert!(message.contains("opens in line 1"), "{message}");
    assert!(read_text(b"id,a\np,1\n\"", &by_id()).is_err());
}

#[test]
fn rows_of_nothing_are_of_nobody_where_ids_say_whose_rows_are() {
    let text = b"id;a;b\r\nx;1,5;2\r\n;;\r\ny;;\r\n;;\r\n;;\r\n";
    let table = read_text(text, &by_id()).unwrap();
    assert_eq!(table.ids.unwrap(), ["x", "y"]);
    let table = read_text(b"a,b\n1,2\n,\n3,4\n", &ReadOptions::default()).unwrap();
    assert_eq!(table.values.nrows(), 3);
    let message = read_text(b"id,a\nx,1\n,2\n", &by_id()).unwrap_err().to_string();
    assert!(message.ends_with("row 2 has no id"), "{message}");
}

#[test]
fn a_blank_line_in_a_table_of_one_column_is_refused() {
    let read = |text: &[u8]| read_text(text, &ReadOptions::default());
    for text in [&b"a\n1\n\n3\n"[..], b"a\r\n1\r\n\r\n3", b"a\n1\n\n\n3"] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains("a blank line stands above row 2"), "{message}");
    }
    for text in
        [&b"a\n1\n3\n\n"[..], b"a\r\n1\r\n3\r\n\r\n", b"a\n1\n3", b"a\r\n1\r\n3", b"a\r1\r3"]
    {
        assert_eq!(read(text).unwrap().values, array![[1.0], [3.0]]);
    }
    assert_eq!(read(b"a\n1\n\"\"\n3\n").unwrap().values.nrows(), 3);
    assert_eq!(read(b"a,b\n1,2\n\n3,4\n").unwrap().values.nrows(), 2);
}

#[test]
fn a_header_that_was_packed_by_itself_tells_the_separator() {
    let mut packed = Vec::new();
    for part in [&b"id a b\n"[..], b"x 1 2\n"] {
        let mut packer = flate2::write::GzEncoder::new(packed, flate2::Compression::fast());
        packer.write_all(part).unwrap();
        packed = packer.finish().unwrap();
    }
    assert_eq!(read_text(&packed, &by_id()).unwrap().values, array![[1.0, 2.0]]);
}

#[test]
fn a_users_word_for_missing_is_missing_however_it_is_written() {
    let options = ReadOptions { missing_values: vec!["-999".into()], ..by_id() };
    let table = read_text(b"id,a\nw,1\nx,-999\ny,-999.0\nz,-9.99e2\n", &options).unwrap();
    let is_missing: Vec<bool> = table.values.dense().iter().map(|x| x.is_nan()).collect();
    assert_eq!(is_missing, [false, true, true, true]);
}

#[test]
fn a_first_row_of_numbers_and_gaps_is_no_header() {
    let none = ReadOptions::default();
    let texts: [&[u8]; 5] =
        [b"1.5,NA\n3,4\n", b"NA,2\n3,4\n", b"1.5,,2\n1,2,3\n", b",1.5\n3,4\n", b"5,NaN\n3,4\n"];
    for text in texts {
        let message = read_text(text, &none).unwrap_err().to_string();
        assert!(message.contains("no header"), "{message}");
    }
    assert_eq!(read_text(b"0,1\n3,4\n", &none).unwrap().values, array![[3.0, 4.0]]);
}

#[test]
fn a_header_of_numbers_is_one_where_a_word_of_it_is_asked_for() {
    let text = b"id,7157,1956\nx,1,2\ny,3,4\n";
    assert_eq!(read_text(text, &by_id()).unwrap().features, ["7157", "1956"]);
    let by_class = ReadOptions { label: Some("class".into()), ..ReadOptions::default() };
    let table = read_text(b"7157,1956,class\n1,2,u\n3,4,v\n", &by_class).unwrap();
    assert_eq!(table.features, ["7157", "1956"]);
    let by_number = ReadOptions { id: Some("3".into()), ..ReadOptions::default() };
    let message = read_text(b"3,1.5\n4,2.5\n", &by_number).unwrap_err().to_string();
    assert!(message.contains("no header"), "{message}");
}

#[test]
fn a_class_that_is_not_known_is_empty() {
    let options = ReadOptions {
        label: Some("class".into()),
        missing_values: vec!["unclear".into()],
        ..by_id()
    };
    let text = b"id,class,a\nw,u,1\nx,NA,2\ny,,3\nz,unclear,4\n";
    assert_eq!(read_text(text, &options).unwrap().labels.unwrap(), ["u", "", "", ""]);
}

#[test]
fn commas_in_names_between_tabs_separate_nothing() {
    let table = read_text(b"id\ta, b, c\td\nx\t1\t2\n", &by_id()).unwrap();
    assert_eq!(table.features, ["a, b, c", "d"]);
    // A tab that no row has is part of a name.
    let table = read_text(b"id,a\t(cm),b\nx,1,2\n", &by_id()).unwrap();
    assert_eq!(table.features, ["a\t(cm)", "b"]);
}

#[test]
fn what_separates_the_names_separates_the_numbers_too() {
    let taxa =
        b"id,k__Bacteria;p__Firmicutes;c__Clostridia,k__Bacteria;p__Proteobacteria;c__A\nx,1,2\n";
    assert_eq!(read_text(taxa, &by_id()).unwrap().features.len(), 2);
    let table = read_text(b"id;weight, kg;height, cm\nx;70,5;180,2\n", &by_id()).unwrap();
    assert_eq!(table.features, ["weight, kg", "height, cm"]);
    assert_eq!(table.values, array![[70.5, 180.2]]);
}

#[test]
fn rows_of_one_id_are_refused_or_one_row_by_name() {
    let text = b"id,a\nx,1\ny,5\nx,3\n";
    let message = read_text(text, &by_id()).unwrap_err().to_string();
    assert!(message.contains("id `x` stands in row 1 and again in row 3"), "{message}");
    for (replicates, of_x) in [(Replicates::First, 1.0), (Replicates::Mean, 2.0)] {
        let options = ReadOptions { replicates, ..by_id() };
        let mut table = read_text(text, &options).unwrap();
        SampleNames::ids(replicates).rename(&mut table).unwrap();
        assert_eq!(table.ids.unwrap(), ["x", "y"]);
        assert_eq!(table.values, array![[of_x], [5.0]]);
    }
}

#[test]
fn a_column_without_a_name_is_never_a_feature() {
    for text in
        [&b",id,a\n0,x,1\n1,y,2\n"[..], b"Unnamed: 0,id,a\n0,x,1\n1,y,2\n", b"id,a,\nx,1,\ny,2,\n"]
    {
        let table = read_text(text, &by_id()).unwrap();
        assert_eq!(
            (table.ids.unwrap(), table.features),
            (vec!["x".into(), "y".into()], vec!["a".into()])
        );
    }
    let table = read_text(b"Unnamed: 0,a\n7,1\n8,2\n", &ReadOptions::default()).unwrap();
    assert_eq!(
        (table.ids.unwrap(), table.features),
        (vec!["7".into(), "8".into()], vec!["a".into()])
    );
}

#[test]
fn columns_are_chosen_by_name() {
    let text = b"id,sex,a,b\nx,m,1,2\ny,f,3,4\n";
    let message = read_text(text, &by_id()).unwrap_err().to_string();
    assert!(
        message
            .contains("column `sex`: `m` is not a number; leave the column out with --drop 'sex'")
    );
    let drop = ReadOptions { drop: vec!["sex".into()], ..by_id() };
    assert_eq!(read_text(text, &drop).unwrap().features, ["a", "b"]);
    let only = ReadOptions { columns: vec!["b".into()], ..by_id() };
    assert_eq!(read_text(text, &only).unwrap().values, array![[2.0], [4.0]]);
    let other = ReadOptions { columns: vec!["c".into()], ..by_id() };
    let message = read_text(text, &other).unwrap_err().to_string();
    assert!(message.contains("has none of the columns `c`: --columns has to name"), "{message}");
}

#[test]
fn a_header_without_a_name_for_the_row_names_is_read_as_r_does() {
    let none = ReadOptions::default();
    for text in [&b"a\tb\ns1\t1\t2\ns2\t3\t4\n"[..], b"\"a\" \"b\"\n\"s1\" 1 2\n\"s2\" 3 4\n"] {
        let table = read_text(text, &none).unwrap();
        assert_eq!(
            (table.ids.unwrap(), table.features),
            (vec!["s1".into(), "s2".into()], vec!["a".into(), "b".into()],)
        );
        assert_eq!(table.values, array![[1.0, 2.0], [3.0, 4.0]]);
    }
    // Here the first row could begin with a name, but nothing stands behind its last separator.
    let message = read_text(b"a,b\n1,2,\n3,4,5\n", &none).unwrap_err().to_string();
    assert!(message.contains("row 2 (line 3) has 3 cells, the header has 2"), "{message}");
    let message = read_text(b"a\tb\ns1\t1\t2\n", &by_id()).unwrap_err().to_string();
    assert!(message.contains("and a first one without a name"), "{message}");
    let table = read_text(b"my feature\n1\n2\n", &none).unwrap();
    assert_eq!(table.features, ["my feature"]);
}

#[test]
fn decimal_commas_are_read_between_semicolons() {
    let table = read_text(b"id;a;b\nx;1,5;2\ny;-3e-2;NA\n", &by_id()).unwrap();
    assert_eq!(table.values.dense().column(0), array![1.5, -0.03]);
    let message = |text: &[u8]| read_text(text, &by_id()).unwrap_err().to_string();
    assert!(
        message(b"id;a;b\nx;1,5;2\ny;1.234;2\n")
            .contains("`1,5` has a comma and `1.234` a point: one of them groups thousands")
    );
    assert!(message(b"id;a\nx;1,234,567\n").contains("`1,234,567` is not a number"));
    assert!(message(b"id\ta\nx\t1,5\n").contains("else write it with a point, as in `1.5`"));
}

#[test]
fn truth_values_are_one_and_zero() {
    let table = read_text(b"id,a,b\nx,TRUE,False\ny,false,True\n", &by_id()).unwrap();
    assert_eq!(table.values, array![[1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn all_columns_of_text_are_told_at_once() {
    let message = |text: &[u8]| read_text(text, &by_id()).unwrap_err().to_string();
    let text = b"id,sex,age,stage\nx,m,40,II\n";
    assert!(
        message(text).contains(
            "column `sex`: `m` is not a number; leave the 2 columns of text out with --drop 'sex,stage'"
        ),
        "{}",
        message(text)
    );
    assert!(message(b"id,a\nx,-\n").contains("add --missing-value '-'"));
}

#[test]
fn what_other_programs_write_otherwise_is_told_with_its_cure() {
    let message = |text: &[u8]| read_text(text, &by_id()).unwrap_err().to_string();
    assert!(message(b"PK\x03\x04....[Content_Types].xml").contains("unreadable spreadsheet"));
    assert!(message(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1").contains("save it as .xlsx"));
    assert!(message(b"\xff\xfei\0d\0,\0a\0").contains("save it as UTF-8"));
    assert!(message(b"id,a\nx,\x1b[31m1\n").contains("`\\u{1b}[31m1` is not a number"));
}

fn refusal(text: &str) -> String {
    read_text(text.as_bytes(), &by_id()).unwrap_err().to_string()
}

#[test]
fn points_that_group_thousands_are_refused_and_three_decimals_are_numbers() {
    for (separator, mark) in [(';', '.'), ('\t', '.'), (';', ',')] {
        let rows = ["x 478 1.082 12", "y 3.991 706 1.610.", "z 844 2.255 73"]
            .map(|row| row.trim_end_matches('.'));
        let text = format!("id a b c\n{}\n", rows.join("\n"));
        let message =
            refusal(&text.replace(' ', &separator.to_string()).replace('.', &mark.to_string()));
        let expected = format!(
            "next to `478`: in columns `a`, `b`, `c` all numbers with `{mark}` have three digits"
        );
        assert!(message.contains(&expected), "{message}");
    }
    for text in [
        // All decimals are written out, or zeros at the end are left out.
        "id,a,b\nx,1.082,478\ny,2.310,1\nz,12.344,73\n",
        "id,a\nx,1.08\ny,478\nz,12\nw,1.082\n",
        // Means of three whole numbers.
        "id,a\nx,312.333\ny,318\nz,325.667\nw,301\n",
        "id,a\nx,1.333\ny,2\nz,2.667\nw,3\n",
        // A code for missing values, a year, numbers below one.
        "id,a\nx,1.082\ny,999\nz,2.310\nw,999\n",
        "id,a,b\nx,1.082,2\ny,1999,3\nz,2.310,4\nw,2001,5\n",
        "id,a\nx,1.082\ny,478\nz,0.310\nw,12\n",
    ] {
        assert!(read_text(text.as_bytes(), &by_id()).is_ok(), "{text}");
    }
}

#[test]
fn all_texts_of_columns_of_numbers_are_told_at_once_with_what_keeps_the_columns() {
    let message = refusal("id,a,b,c\nx,<LOD,2,1\ny,1,[Not Available],2\nz,3,4,1.5\nw,5,<LOD,7\n");
    assert!(
        message.contains(
            "`<LOD` is not a number; all else in columns `a`, `b` is numbers or missing: if it means \"not measured\", add \
             --missing-value '<LOD' --missing-value '[Not Available]'"
        ) && !message.contains("--drop"),
        "{message}"
    );
    for (texts, expected) in [
        (["1,620.8", "531.7"], "`1,620.8` in column `a` groups thousands"),
        (["1'620", "531"], "`1'620` in column `a` groups thousands"),
        (["1\u{202f}620,5", "531,2"], "`1\u{202f}620,5` in column `a` groups thousands"),
        (["12 %", "3.5%"], "`12 %` in column `a` has a percent sign"),
        (["\u{2013}5.2", "3"], "has a dash for a minus"),
    ] {
        let message = refusal(&format!("id\ta\nx\t{}\ny\t{}\n", texts[0], texts[1]));
        assert!(message.contains(expected) && !message.contains("--drop"), "{message}");
    }
    let minus = read_text("id,a\nx,\u{2212}0.5\ny,1e\u{2212}3\n".as_bytes(), &by_id()).unwrap();
    assert_eq!(minus.values, array![[-0.5], [0.001]]);
}

#[test]
fn a_second_header_is_told_with_its_line() {
    let message = refusal("id,a,b\n,mg,%\nx,1,2\ny,3,4\n");
    assert!(message.contains("a second header, or a row of units? delete line 2"), "{message}");
    let message = refusal("id,a,b\ng,count,count\nx,1,2\ny,3,4\n");
    assert!(
        message.ends_with("if it means \"not measured\", add --missing-value 'count'"),
        "{message}"
    );
}

#[test]
fn separators_at_the_ends_of_rows_or_of_the_header_end_nothing() {
    for text in [
        "id\ta\tb\nx\t1\t2\t\ny\t3\t\t\n",
        "id\ta\tb\t\nx\t1\t2\ny\t3\t\n",
        "id\ta\tb\t\nx\t1\t2\t\ny\t3\t\t\n",
        "id,a,b\nx,1,2,\ny,3,,\n",
    ] {
        let table = read_text(text.as_bytes(), &by_id()).unwrap();
        assert_eq!(table.features, ["a", "b"]);
        assert_eq!(table.values.dense().column(0), array![1.0, 3.0]);
    }
    assert!(
        refusal("id\ta\nx\t1\t\ny\t3\t4\n")
            .contains("row 2 (line 3) has 3 cells, the header has 2")
    );
}

#[test]
fn lines_of_other_programs_above_a_table_are_left_out() {
    let table = "id,a,b\nx,1,2\ny,3,4\n";
    let tabs = table.replace(',', "\t");
    for text in [
        format!("# exported, by a tool\n\n{table}"),
        format!("# a, b, c\n{table}"),
        "sep=;\nid;a;b\nx;1,0;2\ny;3;4,0\n".to_owned(),
        format!("#1.2\n2\t2\n{tabs}"),
        format!("!title\t\"t\"\n!of\t\"p\"\t\"q\"\n\n!begin\n{tabs}!series_matrix_table_end\n"),
        format!("#Id\tA\tB\n#of\tthe\tkinds\n#1\t1\t1\n{tabs}"),
    ] {
        let table = read_text(text.as_bytes(), &by_id()).unwrap();
        assert_eq!(table.features, ["a", "b"], "{text}");
        assert_eq!(table.values, array![[1.0, 2.0], [3.0, 4.0]]);
    }
    let gct = b"#1.2\n2\t2\nName\tDescription\ts1\ts2\nr1\tgene 1\t1\t2\nr2\tna\t3\t4\n";
    let options = ReadOptions { id: Some("Name".into()), transposed: true, ..by_id() };
    let table = read_text(gct, &options).unwrap();
    assert_eq!(
        (table.ids.unwrap(), table.values),
        (vec!["s1".into(), "s2".into()], array![[1.0, 3.0], [2.0, 4.0]].into())
    );
    let warning = |text: &[u8]| Beginning::of(text, 0).unwrap().warning;
    assert!(warning(b"# exported\nid,a\nx,1\n").unwrap().starts_with("line 1 stands above"));
    assert_eq!(warning(b"#id,a\nx,1\n"), None);
    let features = |text: &[u8], id: &str| {
        let options = ReadOptions { id: Some(id.into()), ..ReadOptions::default() };
        read_text(text, &options).unwrap().features
    };
    let biom = b"# Constructed from biom file\n#OTU ID\ts1\ts2\nt1\t1\t2\n";
    assert_eq!(features(biom, "#OTU ID"), ["s1", "s2"]);
    assert_eq!(features(b"#id,a\nx,1\n", "#id"), ["a"]);
}

#[test]
fn a_title_above_and_a_note_below_are_shown_with_the_way_out() {
    for separator in [",", "\t", ";"] {
        let table = "id,a,b\nx,1,2\ny,3,4\n".replace(',', separator);
        let text = format!("Table 2: proteins, and more\n\n{table}");
        let message = refusal(&text);
        let expected = "2 lines stand above the table, of which the first is `Table 2: proteins, and more`? --skip-lines 2";
        assert!(message.contains(expected), "{message}");
        let below = ReadOptions { skip_lines: 2, ..by_id() };
        assert_eq!(read_text(text.as_bytes(), &below).unwrap().features, ["a", "b"]);
        let message = refusal(&format!("{table}Source: a registry\n"));
        assert!(
            message.contains("it begins with `Source: a registry`; if that is a note"),
            "{message}"
        );
    }
    let message = read_text(b"id,a\nx,1\n", &ReadOptions { skip_lines: 9, ..by_id() });
    assert!(message.unwrap_err().to_string().ends_with("--skip-lines 9: it has 2 lines"));
}

#[test]
fn a_line_of_control_characters_ends_no_table() {
    let message = refusal("id,a,b\ns1,1,2\n\u{3}\u{4}\ns2,3,4\n");
    assert!(message.contains("row 2 (line 3) has 1 cells"), "{message}");
    assert!(refusal("a,id\n1,s1\n2,\u{3}\u{4}\n3,s2\n").contains("has a control character in it"));
    assert!(read_text(b"a\n1\n\x03\x04\n2\n", &ReadOptions::default()).is_err());
}

#[test]
fn a_long_header_is_cut_where_its_rows_are() {
    let names: Vec<String> = (0..2000).map(|j| format!("k{j};p{j}")).collect();
    let numbers = vec!["1"; names.len()].join(",");
    let text = format!("id,{}\nx,{numbers}\n", names.join(","));
    assert_eq!(read_text(text.as_bytes(), &by_id()).unwrap().features, names);
}

#[test]
fn features_of_one_name_are_all_told_and_can_be_made_one() {
    let text = b"gene,p1,p2\na,1,2\nb,3,4\na,5,NA\nc,6,7\nb,5,4\n";
    let by_gene =
        ReadOptions { id: Some("gene".into()), transposed: true, ..ReadOptions::default() };
    let message = read_text(text, &by_gene).unwrap_err().to_string();
    assert!(
        message.contains("`a` names rows 1, 3, `b` names rows 2, 5: a feature has a name"),
        "{message}"
    );
    for (replicates, expected) in [
        (Replicates::First, array![[1.0, 3.0, 6.0], [2.0, 4.0, 7.0]]),
        (Replicates::Mean, array![[3.0, 4.0, 6.0], [2.0, 4.0, 7.0]]),
    ] {
        let table = read_text(text, &ReadOptions { replicates, ..by_gene.clone() }).unwrap();
        assert_eq!(table.features, ["a", "b", "c"]);
        assert_eq!(table.values, expected);
    }
}
