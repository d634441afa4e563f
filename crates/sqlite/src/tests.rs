//! Connections on their own.

use std::path::Path;

use super::*;

#[derive(Default)]
struct Counting {
    long: usize,
    stops: bool,
}

impl Watch for Counting {
    fn turns_long(&mut self) {
        self.long += 1;
    }

    fn shall_stop(&mut self) -> bool {
        self.stops
    }
}

fn memory() -> Connection {
    Connection::open(Path::new(""), OpenMode::Memory, 4).expect("a database in memory opens")
}

const ALL: Request = Request {
    rows: Rows::All,
    wants_names: false,
    token: 7,
};

fn up_to(count: usize) -> Request {
    Request {
        rows: Rows::Up(count),
        ..ALL
    }
}

fn none() -> Parameters {
    Parameters::Positional(Vec::new())
}

fn run(
    connection: &mut Connection,
    sql: &str,
    parameters: &Parameters,
) -> Result<(i64, Tape), Failure> {
    let mut tape = Tape::default();
    let mut watch = Counting::default();
    let changes = connection.run(
        sql,
        parameters,
        Request {
            wants_names: true,
            ..ALL
        },
        &mut watch,
        &mut tape,
    )?;
    Ok((changes, tape))
}

#[test]
fn values_come_back_as_they_went_in() {
    let mut connection = memory();
    let values = vec![
        Parameter::Null,
        Parameter::Integer(i64::MIN),
        Parameter::Real(0.5),
        Parameter::Text("Grüße".to_owned()),
        Parameter::Blob(vec![0, 1, 2]),
        Parameter::Blob(Vec::new()),
    ];
    let sql = "select ? as a, ? as b, ? as c, ? as d, ? as e, ? as f";
    let (_, tape) = run(&mut connection, sql, &Parameters::Positional(values)).unwrap();
    assert_eq!(
        tape.cells,
        [
            Cell::Null,
            Cell::Integer(i64::MIN),
            Cell::Real(0.5),
            Cell::Text(7),
            Cell::Blob(3),
            Cell::Blob(0)
        ]
    );
    assert_eq!(tape.bytes, "Grüße\0\u{1}\u{2}".as_bytes());
    assert_eq!(tape.columns, ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn statements_are_kept_up_to_a_number() {
    let mut connection = memory();
    for number in 0..10 {
        run(&mut connection, &format!("select {number}"), &none()).unwrap();
    }
    assert_eq!(connection.statement_counts(), (4, 0));
}

#[test]
fn faults_have_places() {
    let mut connection = memory();
    let failure = run(&mut connection, "select 1 frm x y", &none()).unwrap_err();
    assert_eq!(failure.offset(), Some(13));
    let failure = run(&mut connection, "select 1; select 2", &none()).unwrap_err();
    assert_eq!(failure, Failure::SeveralStatements(9));
    assert!(run(&mut connection, "select 1; -- no more", &none()).is_ok());
    assert_eq!(
        run(&mut connection, " -- nothing", &none()).unwrap_err(),
        Failure::Empty
    );
    assert_eq!(
        run(&mut connection, "select ?", &none()).unwrap_err(),
        Failure::ArgumentCount {
            wanted: 1,
            given: 0
        }
    );
    let named = Parameters::Named(vec![("a".to_owned(), Parameter::Integer(1))]);
    assert!(run(&mut connection, "select :a, @a", &named).is_ok());
    assert_eq!(
        run(&mut connection, "select :b", &named).unwrap_err(),
        Failure::Unbound(":b".to_owned())
    );
    let mut watch = Counting::default();
    let failure = connection
        .run_script("select 1; select 2 frm x y", 0, &mut watch)
        .unwrap_err();
    assert_eq!(failure.offset(), Some(23));
}

#[test]
fn cursors_end_by_themselves_and_when_closed() {
    let mut connection = memory();
    let sql = "with recursive n(i) as (values (1) union all select i + 1 from n where i < 10) \
               select i from n";
    let cursor = connection.open_cursor(sql, &none()).unwrap();
    let mut watch = Counting::default();
    let mut tape = Tape::default();
    assert!(
        connection
            .fetch(cursor, up_to(4), &mut watch, &mut tape)
            .unwrap()
    );
    assert_eq!(tape.rows, 4);
    // Another statement of the same text does not disturb it.
    run(&mut connection, sql, &none()).unwrap();
    assert!(
        !connection
            .fetch(cursor, up_to(100), &mut watch, &mut tape)
            .unwrap()
    );
    assert_eq!(tape.rows, 10);
    assert_eq!(
        connection.fetch(cursor, up_to(1), &mut watch, &mut tape),
        Err(Failure::NoCursor)
    );
    let cursor = connection.open_cursor(sql, &none()).unwrap();
    connection.close_cursor(cursor);
    assert_eq!(connection.statement_counts(), (1, 0));
}

#[test]
fn long_statements_are_noticed_and_given_up() {
    let mut connection = memory();
    let sql = "with recursive n(i) as (values (1) union all select i + 1 from n where i < 1000000) select \
        count(*) from n";
    let mut tape = Tape::default();
    let mut watch = Counting {
        stops: true,
        ..Counting::default()
    };
    let failure = connection
        .run(sql, &none(), ALL, &mut watch, &mut tape)
        .unwrap_err();
    assert_eq!(failure.code(), Some(9));
    assert_eq!(watch.long, 1);
    let mut watch = Counting::default();
    let short = "select 1";
    connection
        .run(short, &none(), ALL, &mut watch, &mut tape)
        .unwrap();
    assert_eq!(watch.long, 0);
}

#[test]
fn only_the_statement_meant_is_interrupted() {
    let mut connection = memory();
    let interrupter = connection.interrupter();
    assert!(!interrupter.interrupt(None));
    let other = interrupter.clone();
    let thread = std::thread::spawn(move || {
        while !other.interrupt(Some(7)) {
            assert!(!other.interrupt(Some(8)));
            std::thread::yield_now();
        }
    });
    let sql =
        "with recursive n(i) as (values (1) union all select i + 1 from n) select count(*) from n";
    let mut watch = Counting::default();
    let mut tape = Tape::default();
    let failure = connection
        .run(sql, &none(), ALL, &mut watch, &mut tape)
        .unwrap_err();
    assert_eq!(failure.code(), Some(9));
    thread.join().unwrap();
    drop(connection);
    assert!(!interrupter.interrupt(None));
}

#[test]
fn full_text_search_is_there() {
    let mut connection = memory();
    run(
        &mut connection,
        "create virtual table t using fts5(body)",
        &none(),
    )
    .unwrap();
}
