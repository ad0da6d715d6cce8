//! Tests of text tables.

use super::*;
use crate::files::SampleNames;
use crate::testing::{cases, gives, gzip, options, read, refused, shown, tables, warnings};

/// Reads a text and formats it as `ids | classes | features | rows`.
fn read_text(text: impl Into<Vec<u8>>, options: &str) -> Result<String, String> {
    read("rna.csv", text, options).map(|shown| shown.replacen("rna | ", "", 1))
}

/// Checks cases of options, a text, and what it [`gives`].
fn check_cases(text: &str) {
    for [options, text, expected] in cases(text) {
        gives(read_text(text, &options), &expected);
    }
}

#[test]
fn ids_numbers_and_gaps_are_read_with_any_separator() {
    check_cases(
        r#"
        id=id :: id,a,"b, c"\nx,1,2.5\ny,NA,-3e2\n :: x y | - | a/b, c | 1 2.5; NaN -300
        id=id :: id\ta\tb\r\nx\t1\t2\r\n\r\n :: x | - | a/b | 1 2
        id=id :: \ufeffid,a,b\nx,1,2 :: x | - | a/b | 1 2
        id=id :: id a b\nx 1 2\n :: x | - | a/b | 1 2
        id=id :: "id";"a, or b, or c";"b"\n"x";1;2\n :: x | - | a, or b, or c/b | 1 2
        id=id :: id\ta, b, c\td\nx\t1\t2\n :: x | - | a, b, c/d | 1 2
        id=id :: id,a\t(cm),b\nx,1,2\n :: x | - | a\t(cm)/b | 1 2
        id=id :: id,k__A;p__B;c__C,k__A;p__D;c__E\nx,1,2\n :: x | - | k__A;p__B;c__C/k__A;p__D;c__E | 1 2
        id=id :: id;weight, kg;height, cm\nx;70,5;180,2\n :: x | - | weight, kg/height, cm | 70.5 180.2
        id=id :: id;a;b\nx;1,5;2\ny;-3e-2;NA\n :: x y | - | a/b | 1.5 2; -0.03 NaN
        id=id :: id,a,b\nx,TRUE,False\ny,false,True\n :: x y | - | a/b | 1 0; 0 1
        id=id :: id,a\nx,\u22120.5\ny,1e\u22123\n :: x y | - | a | -0.5; 0.001
    "#,
    );
    // The header may be packed by itself.
    for parts in [&["id;a;b\nx;1;2\n"][..], &["id a b\n", "x 1 2\n"]] {
        let packed: Vec<u8> = parts.iter().flat_map(gzip).collect();
        assert_eq!(read_text(packed, "id=id").unwrap(), "x | - | a/b | 1 2");
    }
    let names: Vec<String> = (0..2000).map(|j| format!("k{j};p{j}")).collect();
    let numbers = vec!["1"; names.len()].join(",");
    let text = format!("id,{}\nx,{numbers}\n", names.join(","));
    assert_eq!(tables("a.csv", text, "id=id").unwrap()[0].features, names);
}

#[test]
fn a_column_without_a_name_holds_the_row_names_and_is_never_a_feature() {
    // An empty last cell is no value: a first row that ends in one has no row name.
    check_cases(
        r#"
        - :: ,0,1\ns1,1,2\ns2,3,4\n :: s1 s2 | - | 0/1 | 1 2; 3 4
        id=id :: ,id,a\n0,x,1\n1,y,2\n :: x y | - | a | 1; 2
        id=id :: Unnamed: 0,id,a\n0,x,1\n1,y,2\n :: x y | - | a | 1; 2
        id=id :: id,a,\nx,1,\ny,2,\n :: x y | - | a | 1; 2
        - :: Unnamed: 0,a\n7,1\n8,2\n :: 7 8 | - | a | 1; 2
        - :: a\tb\ns1\t1\t2\ns2\t3\t4\n :: s1 s2 | - | a/b | 1 2; 3 4
        - :: "a" "b"\n"s1" 1 2\n"s2" 3 4\n :: s1 s2 | - | a/b | 1 2; 3 4
        - :: k__A;p__B;c__C,k__A;p__D;c__E\ns1,1,2\ns2,3,4\n :: s1 s2 | - | k__A;p__B;c__C/k__A;p__D;c__E | 1 2; 3 4
        - :: my feature\n1\n2\n :: - | - | my feature | 1; 2
        - :: a,b\n1,2,\n3,4,5\n :: ! row 2 (line 3) has 3 cells, the header has 2
        id=id :: a\tb\ns1\t1\t2\n :: ! and a first one without a name
    "#,
    );
}

#[test]
fn every_error_names_the_row_or_column() {
    check_cases(
        r#"
        - ::  :: ! rna.csv: the file is empty$
        - :: a,b\n :: ! rna.csv: no rows below the header$
        - :: 1.5,2\n3,4\n :: ! rna.csv: no header
        - :: 1,5;2,5\n3,5;4\n :: ! rna.csv: no header
        id=ID :: P;A;B;N\np1;1,5;2,5;x\np2;1,7;3;\np3;2;3,1;\np4;1,2;7,7;\n :: ! rna.csv: no column `ID`; there are: `P`, `A`, `B`, `N`$
        id=P :: P;A;B\np1;1,5;2,5\np2;1,7;n.a.\np3;2;3,1\np4;4;3\n :: ! rna.csv: row 2, column `B`: `n.a.` is not a number
        - :: a,b\n1,2\n3\n :: ! row 2 (line 3) has 1 cells, the header has 2: it begins with `3`; if that is a note, delete the line$
        - :: a,b\n1,x\n :: ! rna.csv: row 1, column `b`: `x` is not a number
        - :: a,b\n1,inf\n :: ! rna.csv: row 1, column `b` = inf: values must be finite$
        id=id :: a,b\n1,2\n :: ! rna.csv: no column `id`; there are: `a`, `b`$
        id=id :: id,b\nx,2\ny,3\nx,4\n :: ! rna.csv: id `x` is in row 1 and again in row 3: ids must be unique; leave one out, or choose with --replicates first or mean$
        - :: b,c,b\n1,2,3\n :: ! rna.csv: `b` names features 1, 3: a feature has
        - :: 1-Mar,c,1-Mar\n1,2,3\n :: ! makes one of each; spreadsheets make such dates of MARCH1 and MARC1$
        id=id :: id,b,id\nx,2,1\n :: ! rna.csv: two columns are named `id`$
        id=id :: id,b\nx,2\nNA,3\n :: ! rna.csv: row 2 has no id: write one, or delete the row$
        id=id :: id,a\nx,1\n,2\n :: ! row 2 has no id
        id=id :: id\nx\n :: ! rna.csv: no column of numbers$
        id=id :: id\tb\n"q\t5\nw"\t7\n :: ! row 1: id "q\\t5\\nw" has a control character in it$
        id=id :: id,a\nx,\u001b[31m1\n :: ! `\\u{1b}[31m1` is not a number
    "#,
    );
}

#[test]
fn a_quote_that_is_never_closed_is_refused_in_any_column() {
    check_cases(
        r#"
        id=id drop=note :: id,a,b,note\np,1,2,x\nq,3,4,"y\nr,5,6,z\n :: ! a quote that opens in line 3 or below is never closed$
        id=id label=note :: id,a,b,note\np,1,2,x\nq,3,4,"y\nr,5,6,z\n :: ! a quote that opens in line 3 or below is never closed$
        id=id :: "id,a\np,1\n :: ! opens in line 1
        id=id :: id,a\np,1\n" :: ! opens in line 3
    "#,
    );
    for text in [
        "id,a,note\np,1,\"x\ny\"\nq,2,5\" tall\n",
        "id,a,note\np,1,\"x\ny\"\nq,2,5\" tall",
        "id,a,note\r\np,1,\"x\r\ny\"\r\nq,2,\"5\"\" tall\"\r\n\r\n",
        "id,a,note\r\np,1,\"x\r\ny\"\r\nq,2,\"5\"\" tall\"",
    ] {
        let table = tables("a.csv", text, "id=id label=note").unwrap().remove(0);
        assert_eq!(table.labels.unwrap()[1], "5\" tall");
    }
}

#[test]
fn blank_lines_are_skipped_except_in_a_table_of_one_column() {
    check_cases(
        r#"
        id=id :: id;a;b\r\nx;1,5;2\r\n;;\r\ny;;\r\n;;\r\n;;\r\n :: x y | - | a/b | 1.5 2; NaN NaN
        - :: a,b\n1,2\n,\n3,4\n :: - | - | a/b | 1 2; NaN NaN; 3 4
        - :: a,b\n1,2\n\n3,4\n :: - | - | a/b | 1 2; 3 4
        - :: a\n1\n3\n\n :: - | - | a | 1; 3
        - :: a\r\n1\r\n3\r\n\r\n :: - | - | a | 1; 3
        - :: a\n1\n3 :: - | - | a | 1; 3
        - :: a\r\n1\r\n3 :: - | - | a | 1; 3
        - :: a\r1\r3 :: - | - | a | 1; 3
        - :: a\n1\n""\n3\n :: - | - | a | 1; NaN; 3
        - :: a\n1\n\n3\n :: ! a blank line is above row 2
        - :: a\r\n1\r\n\r\n3 :: ! a blank line is above row 2
        - :: a\n1\n\n\n3 :: ! a blank line is above row 2
    "#,
    );
}

#[test]
fn a_first_row_of_numbers_is_a_header_only_if_an_option_names_a_word_of_it() {
    check_cases(
        r"
        - :: 1.5,NA\n3,4\n :: ! no header
        - :: NA,2\n3,4\n :: ! no header
        - :: 1.5,,2\n1,2,3\n :: ! no header
        - :: ,1.5\n3,4\n :: ! no header
        - :: 5,NaN\n3,4\n :: ! no header
        id=3 :: 3,1.5\n4,2.5\n :: ! no header
        - :: 0,1\n3,4\n :: - | - | 0/1 | 3 4
        id=id :: id,7157,1956\nx,1,2\ny,3,4\n :: x y | - | 7157/1956 | 1 2; 3 4
        label=class :: 7157,1956,class\n1,2,u\n3,4,v\n :: - | u v | 7157/1956 | 1 2; 3 4
    ",
    );
}

#[test]
fn options_select_missing_values_classes_and_columns() {
    check_cases(
        r"
        id=id missing=-999 :: id,a\nw,1\nx,-999\ny,-999.0\nz,-9.99e2\n :: w x y z | - | a | 1; NaN; NaN; NaN
        id=id label=c missing=unclear :: id,c,a\nw,u,1\nx,NA,2\ny,,3\nz,unclear,4\n :: w x y z | u    | a | 1; 2; 3; 4
        id=id drop=sex :: id,sex,a,b\nx,m,1,2\ny,f,3,4\n :: x y | - | a/b | 1 2; 3 4
        id=id columns=b :: id,sex,a,b\nx,m,1,2\ny,f,3,4\n :: x y | - | b | 2; 4
        id=id columns=c :: id,a,b\nx,1,2\ny,3,4\n :: ! has none of the columns `c`: --columns has to name
        id=id :: id,sex,a,b\nx,m,1,2\ny,f,3,4\n :: ! column `sex`: `m` is not a number; name it with --id if it names the samples, or --label if it has classes; otherwise leave it out with --drop 'sex'
        id=id :: id,sex,age,stage\nx,m,40,II\n :: ! column `sex`: `m` is not a number; leave columns of text out with --drop 'sex,stage', without the one that names the samples (--id) or has classes (--label)
        id=id :: id,a\nx,-\n :: ! add --missing-value '-'
    ",
    );
}

#[test]
fn repeated_ids_and_features_are_refused_or_merged() {
    check_cases(
        r"
        id=id :: id,a\nx,1\ny,5\nx,3\n :: ! id `x` is in row 1 and again in row 3
        id=g transposed :: g,p1,p2\na,1,2\nb,3,4\na,5,NA\nc,6,7\nb,5,4\n :: ! `a` names rows 1, 3, `b` names rows 2, 5: a feature has a name
        id=g transposed replicates=first :: g,p1,p2\na,1,2\nb,3,4\na,5,NA\nc,6,7\nb,5,4\n :: p1 p2 | - | a/b/c | 1 3 6; 2 4 7
        id=g transposed replicates=mean :: g,p1,p2\na,1,2\nb,3,4\na,5,NA\nc,6,7\nb,5,4\n :: p1 p2 | - | a/b/c | 3 4 6; 2 4 7
    ",
    );
    for (replicates, of_x) in [("first", 1), ("mean", 2)] {
        let short = format!("id=id replicates={replicates}");
        let mut table = tables("rna.csv", "id,a\nx,1\ny,5\nx,3\n", &short).unwrap().remove(0);
        SampleNames::ids(options(&short).replicates).rename(&mut table).unwrap();
        assert_eq!(shown(&table), format!("rna | x y | - | a | {of_x}; 5"));
    }
}

#[test]
fn numbers_formatted_for_people_get_advice_that_keeps_their_columns() {
    let text = r#"
        id=id :: id;a;b\nx;1,5;2\ny;1.234;2\n :: ! `1,5` has a comma and `1.234` a point: one of them groups thousands
        id=id :: id;a\nx;1,234,567\n :: ! `1,234,567` is not a number
        id=id :: id\ta\nx\t1,5\n :: ! else write a point, as in `1.5`
        id=id :: id\ta\nx\t1,620.8\ny\t531.7\n :: ! `1,620.8` in column `a` groups thousands
        id=id :: id\ta\nx\t1'620\ny\t531\n :: ! `1'620` in column `a` groups thousands
        id=id :: id\ta\nx\t1\u202f620,5\ny\t531,2\n :: ! `1\u202f620,5` in column `a` groups thousands
        id=id :: id\ta\nx\t12 %\ny\t3.5%\n :: ! `12 %` in column `a` has a percent sign
        id=id :: id\ta\nx\t\u20135.2\ny\t3\n :: ! has a dash for a minus
        id=id :: id,a,b\n,mg,%\nx,1,2\ny,3,4\n :: ! a second header, or a row of units? delete line 2
        id=id :: id,a,b\ng,count,count\nx,1,2\ny,3,4\n :: ! if it means "not measured", add --missing-value 'count'$
        id=id :: id,a,b,c\nx,<LOD,2,1\ny,1,[N A],2\nz,3,4,1.5\nw,5,<LOD,7\n :: ! `<LOD` is not a number; all else in columns `a`, `b` is numbers or missing: for a value beyond a limit write a number, such as the limit or half of it (as a missing value it would get the mean of its column); if it means "not measured", add --missing-value '<LOD' --missing-value '[N A]'
    "#;
    check_cases(text);
    for [options, text, _] in cases(text) {
        assert!(!read_text(text, &options).unwrap_err().contains("--drop"));
    }
}

#[test]
fn numbers_with_marks_and_repeated_headers_are_not_proposed_as_missing_values() {
    for text in ["(11.6)", "16.3 H", "16.3*", "*16", "5 mg/dL", "1.2e3 (H)"] {
        let table = format!("id,a,b\nx,1,2\ny,{text},3\nz,n.d.,4\n");
        let message = read_text(table, "id=id").unwrap_err();
        let expected = format!("`{text}` in column `a` is a number with a mark or unit: write");
        assert!(message.contains(&expected), "{message}");
        assert!(message.ends_with("add --missing-value 'n.d.'"), "{message}");
    }
    check_cases(
        r"
        id=id :: id,a,b\nx,1,2\nid,a,b\ny,3,4\n :: ! row 2, column `a`: `a` is not a number; `a` in columns `a`, `b` is the name of the column: delete the row, in which the header is repeated$
        id=id :: id,a,b\nx,1a,2\ny,2b,3\n :: ! otherwise leave it out with --drop 'a'$
        id=id :: id,a,b\nx,G1,2\ny,2,3\nz,3,4 :: ! add --missing-value 'G1'$
    ",
    );
}

#[test]
fn a_line_that_groups_columns_is_skipped_by_the_proposed_option() {
    for (lines, options) in [
        (",Blood,,Urine\npatient,crp,ldl,ph\n", "id=patient"),
        (",Blood,,Urine\n,crp,ldl,ph\n", "-"),
        ("# a study\n,Blood,,Urine\npatient,crp,ldl,ph\n", "id=patient"),
        ("patient,Blood,Blood,Urine\n,crp,ldl,ph\n", "-"),
    ] {
        let text = format!("{lines}x,1,2,3\ny,4,5,6\n");
        let message = read_text(&*text, options).unwrap_err();
        let n = lines.lines().count() - 1;
        assert!(message.contains(&format!("--skip-lines {n}")), "{message}");
        assert!(!message.contains("delete") && !message.contains("other files"), "{message}");
        let found = read_text(text, &format!("{options} skip={n}")).unwrap();
        assert_eq!(found, "x y | - | crp/ldl/ph | 1 2 3; 4 5 6");
    }
}

#[test]
fn points_that_group_thousands_are_refused_and_three_decimals_are_numbers() {
    check_cases(
        r"
        id=id :: id;a;b;c\nx;478;1.082;12\ny;3.991;706;1.610\nz;844;2.255;73\n :: ! next to `478`: in columns `a`, `b`, `c` all numbers with `.` have three digits
        id=id :: id\ta\tb\tc\nx\t478\t1.082\t12\ny\t3.991\t706\t1.610\nz\t844\t2.255\t73\n :: ! next to `478`: in columns `a`, `b`, `c` all numbers with `.` have three digits
        id=id :: id;a;b;c\nx;478;1,082;12\ny;3,991;706;1,610\nz;844;2,255;73\n :: ! next to `478`: in columns `a`, `b`, `c` all numbers with `,` have three digits
    ",
    );
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
        assert!(read_text(text, "id=id").is_ok(), "{text}");
    }
}

#[test]
fn files_of_other_programs_are_named() {
    for (bytes, expected) in [
        (&b"PK\x03\x04....[Content_Types].xml"[..], "unreadable spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as .xlsx"),
        (b"\xff\xfei\0d\0,\0a\0", "save it as UTF-8"),
        (b"id,a,b\ns1,1,2\n\x03\x04\ns2,3,4\n", "row 2 (line 3) has 1 cells"),
        (b"a,id\n1,s1\n2,\x03\x04\n3,s2\n", "has a control character in it"),
    ] {
        refused(read_text(bytes, "id=id"), expected);
    }
    assert!(read_text(b"a\n1\n\x03\x04\n2\n", "").is_err());
}

#[test]
fn trailing_separators_add_no_column() {
    check_cases(
        r"
        id=id :: id\ta\tb\nx\t1\t2\t\ny\t3\t\t\n :: x y | - | a/b | 1 2; 3 NaN
        id=id :: id\ta\tb\t\nx\t1\t2\ny\t3\t\n :: x y | - | a/b | 1 2; 3 NaN
        id=id :: id\ta\tb\t\nx\t1\t2\t\ny\t3\t\t\n :: x y | - | a/b | 1 2; 3 NaN
        id=id :: id,a,b\nx,1,2,\ny,3,,\n :: x y | - | a/b | 1 2; 3 NaN
        id=id :: id\ta\nx\t1\t\ny\t3\t4\n :: ! row 2 (line 3) has 3 cells, the header has 2
    ",
    );
}

#[test]
fn lines_of_other_programs_above_a_table_are_left_out() {
    check_cases(
        r#"
        id=id :: # exported, by a tool\n\nid,a,b\nx,1,2\ny,3,4\n :: x y | - | a/b | 1 2; 3 4
        id=id :: # a, b, c\nid,a,b\nx,1,2\ny,3,4\n :: x y | - | a/b | 1 2; 3 4
        id=id :: sep=;\nid;a;b\nx;1,0;2\ny;3;4,0\n :: x y | - | a/b | 1 2; 3 4
        id=id :: #1.2\n2\t2\nid\ta\tb\nx\t1\t2\ny\t3\t4\n :: x y | - | a/b | 1 2; 3 4
        id=Name transposed :: #1.2\n2\t2\nName\tDescription\ts1\ts2\nr1\tgene 1\t1\t2\nr2\tna\t3\t4\n :: s1 s2 | - | r1/r2 | 1 3; 2 4
        id=id :: !title\t"t"\n!of\t"p"\t"q"\n\n!begin\nid\ta\tb\nx\t1\t2\ny\t3\t4\n!series_matrix_table_end\n :: x y | - | a/b | 1 2; 3 4
        id=id :: #Id\tA\tB\n#of\tthe\tkinds\n#1\t1\t1\nid\ta\tb\nx\t1\t2\ny\t3\t4\n :: x y | - | a/b | 1 2; 3 4
        id=#OTU~ID :: # Constructed from biom file\n#OTU ID\ts1\ts2\nt1\t1\t2\n :: t1 | - | s1/s2 | 1 2
        id=#id :: #id,a\nx,1\n :: x | - | a | 1
    "#,
    );
    let warning = |text: &[u8]| Beginning::of(text, 0).unwrap().0.warning;
    assert!(warning(b"# exported\nid,a\nx,1\n").unwrap().starts_with("line 1 is above"));
    assert_eq!(warning(b"#id,a\nx,1\n"), None);
}

#[test]
fn a_title_above_and_a_note_below_get_advice() {
    for separator in [",", "\t", ";"] {
        let table = "id,a,b\nx,1,2\ny,3,4\n".replace(',', separator);
        let text = format!("Table 2: proteins, and more\n\n{table}");
        let expected =
            "2 lines are above the table, first `Table 2: proteins, and more`? --skip-lines 2";
        refused(read_text(&*text, "id=id"), expected);
        assert_eq!(read_text(text, "id=id skip=2").unwrap(), "x y | - | a/b | 1 2; 3 4");
        let expected = "it begins with `Source: a registry`; if that is a note";
        refused(read_text(format!("{table}Source: a registry\n"), "id=id"), expected);
    }
    check_cases(r"id=id skip=9 :: id,a\nx,1\n :: ! --skip-lines 9: it has 2 lines$");
}

#[test]
fn only_columns_that_count_are_left_out_as_row_numbers() {
    let warnings =
        |text: &str, short: &str| warnings("a.csv", text, short).map(|found| found.join("; "));
    for (column, expected) in [
        (["7", "3", ""], "column 2 has no name and is left out: it is taken for row numbers"),
        (["7", "7", ""], "column 2 has no name and is left out, but holds values such as `7`"),
        (["", "ok", "-1"], "column 2 has no name and is left out, but holds values such as `ok`"),
        (["", "NA", ""], ""),
    ] {
        let [x, y, z] = column;
        let text = format!("id,,a\nx,{x},1\ny,{y},2\nz,{z},3\n");
        assert_eq!(warnings(&text, "id=id").unwrap(), expected);
    }
    let measured = "id;;a;Unnamed: 3\nx;1;1;6,1\ny;2;2;7\n";
    let found = warnings(measured, "id=id");
    refused(found.clone(), "column 4 has no name, but holds numbers such as `6,1`: name it");
    refused(found, "or leave it out with --drop 'Unnamed: 3'$");
    assert!(warnings(measured, "id=id drop=Unnamed:~3").unwrap().starts_with("column 2"));
    assert!(warnings(",a\n0.5,1\n0.7,2\n", "-").is_ok(), "a first one has ids");
}

#[test]
fn lines_with_empty_cells_above_a_table_get_advice() {
    let padded = "Instrument,Q7,,\nRun,2024-05-01,,\n,,,\nid,a,b,c\nx,1,2,3\ny,3,4,5\n";
    for options in ["id=id", "-"] {
        refused(read_text(padded, options), "--skip-lines 3");
    }
    assert!(!read_text("id,a,b,\nx,u,2,\ny,3,,\n", "id=id").unwrap_err().contains("skip-lines"));
}

#[test]
fn a_row_of_units_in_few_columns_is_no_sample_and_a_column_of_marks_no_header() {
    let units = "id,a,b,c,d,e\nUnit,ng/ml,ng/ml,,,\nx,1,2,3,4,5\ny,3,4,5,6,7\n";
    refused(read_text(units, "id=id"), "row 1 holds text in 2 of 5 columns");
    let marked = "id,a,x\np,1,\nq,2,x\nr,3,\n";
    refused(read_text(marked, "id=id"), "otherwise leave it out with --drop 'x'$");
}
