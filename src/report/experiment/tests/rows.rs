use crate::experiment::{RunRow, Table};

fn table() -> Table {
    Table { axes: vec!["market.policy".to_owned(), "site.york".to_owned()], metrics: vec!["value", "slr"] }
}

#[test]
fn rows_are_read_as_they_were_written() {
    let row = RunRow {
        run: 7,
        values: vec!["fifo".to_owned(), "{ cores = 5, kind = \"a\" }".to_owned()],
        metrics: vec![Some(0.1 + 0.2), None],
        digest: "0".repeat(32),
    };
    let line = table().row_line(&row);
    assert_eq!(line, format!("7,fifo,\"{{ cores = 5, kind = \"\"a\"\" }}\",0.30000000000000004,,{}\n", "0".repeat(32)));
    assert_eq!(table().parse_row(&line), Some(row));
    assert_eq!(table().header_line(), "run,market.policy,site.york,value,slr,digest\n");
}

#[test]
fn a_row_that_was_cut_short_is_none() {
    let whole = format!("7,fifo,\"a,b\",0.5,1.5,{}\n", "a".repeat(32));
    assert!(table().parse_row(&whole).is_some());
    for end in 0..whole.len() {
        assert_eq!(table().parse_row(&whole[..end]), None, "{}", &whole[..end]);
    }
    assert_eq!(table().parse_row(&whole.replace("0.5", "half")), None);
    assert_eq!(table().parse_row(&format!("1,{whole}")), None);
}
