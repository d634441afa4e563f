//! Tests of questions and answers on a small heap, and of questions that are wrong.

use serde_json::Value;

use super::*;
use crate::file::{Info, SnapshotFacts, Writer};
use crate::heap::Series;
use crate::heap::tests::{Model, row};

/// A root, a global, a table of two entries with equal strings.
fn model(entries: u32) -> Model {
    let mut model = Model {
        types: vec![
            row("root", "", &[]),
            row("vector", "", &[]),
            row("record", "entry", &["name", "next"]),
            row("string", "", &[]),
        ],
        nodes: vec![(0, 0), (1, 4)],
        edges: vec![vec![(0, 1)], Vec::new()],
    };
    for index in 0..entries {
        let entry = model.nodes.len() as u32;
        model.nodes.extend([(2, 2), (3, 3)]);
        model.edges.extend([vec![(0, entry + 1)], Vec::new()]);
        model.edges[1].push((u64::from(index), entry));
    }
    model
}

fn session() -> Session {
    let mut writer = Writer::create(Vec::new(), &Info::default()).unwrap();
    for entries in [2, 5] {
        let order = model(entries).write(&mut writer);
        for (node, origin) in order.iter().enumerate() {
            if *origin >= 3 && origin % 2 == 1 {
                writer.text(node as u32, 9, "<script>&", Some(7));
            }
        }
        writer.finish_snapshot(SnapshotFacts::default()).unwrap();
    }
    Session::new(Series::from_bytes(writer.into_inner()).unwrap())
}

fn ask(session: &Session, question: &str) -> Value {
    let answer = session.answer_text(question);
    serde_json::from_str(&answer.unwrap_or_else(|error| panic!("{question}: {error}"))).unwrap()
}

#[test]
fn questions_have_answers() {
    let session = session();
    let series = ask(&session, r#"{"ask":"series"}"#);
    assert_eq!(series["snapshots"].as_array().unwrap().len(), 2);
    assert_eq!(series["default"], 2);
    assert_eq!(series["types"][0]["objects"], serde_json::json!([2, 5]));

    let types = ask(&session, r#"{"ask":"types","sort":"retained","count":1}"#);
    assert_eq!(
        (&types["count"], &types["objects"]),
        (&3.into(), &11.into())
    );
    assert_eq!(types["rows"][0]["name"], "vector");
    assert_eq!(types["rows"][0]["retained"], types["bytes"]);
    let some = ask(&session, r#"{"ask":"types","filter":"ENT"}"#);
    assert_eq!(some["rows"][0]["objects"], 5);

    let query = r#"{"ask":"objects","query":"(type? 'entry)","first":1,"count":2,"sort":"node"}"#;
    let objects = ask(&session, query);
    assert_eq!(objects["count"], 5);
    let id = objects["objects"][0]["id"].as_u64().unwrap();
    assert_eq!(objects["objects"][0]["label"], "record entry");

    let about = |name: &str| ask(&session, &format!(r#"{{"ask":"{name}","id":{id}}}"#));
    let object = about("object");
    assert_eq!(object["retained"], 80);
    assert_eq!(
        (&object["incoming"], &object["outgoing"]),
        (&1.into(), &1.into())
    );
    assert!(object["why"].as_str().unwrap().contains("is alive because"));
    assert_eq!(about("outgoing")["edges"][0]["name"], "name");
    assert_eq!(about("incoming")["edges"][0]["name"], "[1]");
    assert_eq!(about("paths")["paths"][0]["length"], 2);
    assert_eq!(about("dominated")["count"], 1);
    assert_eq!(about("tiles")["tile"]["children"][0]["retained"], 48);

    let duplicates = ask(&session, r#"{"ask":"duplicates"}"#);
    assert_eq!(duplicates["rows"][0]["copies"], 5);
    let difference = ask(&session, r#"{"ask":"compare","before":1,"after":2}"#);
    assert_eq!(difference["after"]["objects"], 11);
    assert_eq!(ask(&session, r#"{"ask":"growth"}"#)["types"][0]["grown"], 1);
    ask(&session, r#"{"ask":"unused"}"#);
}

#[test]
fn wrong_questions_have_messages() {
    let session = session();
    for (question, message) in [
        ("", "the question is wrong"),
        (r#"{"ask":"nothing"}"#, "unknown variant"),
        (r#"{"ask":"why"}"#, "missing field `id`"),
        (r#"{"ask":"why","id":99}"#, "there is no object 99"),
        (
            r#"{"ask":"types","snapshot":3}"#,
            "no snapshot 3; the file has 2",
        ),
        (
            r#"{"ask":"types","by":"colour"}"#,
            "unknown variant `colour`",
        ),
        (
            r#"{"ask":"objects","query":"(type?"}"#,
            "parenthesis is missing",
        ),
        (
            r#"{"ask":"objects","query":"(dominated-by? 99)"}"#,
            "no node 99",
        ),
    ] {
        let error = session.answer_text(question).unwrap_err();
        assert!(error.contains(message), "{question}: {error}");
    }
}
