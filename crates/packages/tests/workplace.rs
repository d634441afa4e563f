//! Projects from their first dependency on: what is locked, copied, refused and repaired.

mod support;

use std::fs;
use std::process::Command;

use canny_packages::name::PackageName;
use canny_packages::project;
use canny_packages::source::{Dependency, Reference, Source, Wish};
use canny_packages::version::Range;
use canny_packages::workplace::Workplace;
use canny_syntax::span::{SourceMap, Span};

use support::*;

#[test]
fn directories_are_used_where_they_are() {
    let world = World::new(&[
        APP,
        (
            "json lib/package.scm",
            "(package (name json) (version \"1.2\") (libraries \"src\") (depends (text (directory \
             \"../text\"))))",
        ),
        ("json lib/src/json.sld", JSON),
        ("text/text.sld", TEXT),
    ]);
    let done = world.add("json", directory("../json lib")).unwrap();
    assert_eq!(done.changes, ["added json 1.2", "added text"]);
    assert_eq!(
        world.read("app/package.scm"),
        "(package\n  (name app)\n  (version \"0.1.0\")\n  (depends\n    (json (directory \"../json \
         lib\"))))\n"
    );
    let lock = world.read("app/package.lock");
    assert!(
        lock.contains("(source (directory \"../json lib\"))"),
        "{lock}"
    );
    assert!(lock.contains("(source (directory \"../text\"))"), "{lock}");
    assert_eq!(
        world.libraries().unwrap(),
        [
            "(json) app/../json lib/src/json.sld",
            "(text) app/../text/text.sld"
        ]
    );
    // The same again changes nothing, and the lockfile is the same.
    assert!(world.place().lock().unwrap().changes.is_empty());
    assert_eq!(world.read("app/package.lock"), lock);
    assert_eq!(
        world.place().tree().unwrap(),
        "app 0.1.0\n└── json 1.2 (directory \"../json lib\")\n    └── text (directory \"../text\")\n"
    );
    let done = world
        .place()
        .remove(&[PackageName::new("json").unwrap()])
        .unwrap();
    assert_eq!(done.changes, ["removed json 1.2", "removed text"]);
    assert!(world.libraries().unwrap().is_empty());
    assert!(!world.path("app/.package.scm.new").exists());
}

#[test]
fn archives_are_locked_by_their_contents() {
    let world = World::new(&[APP]);
    let snow = "(package (version \"0.9.0\") (license bsd) (authors \"A\") (library (name (chibi thing)) \
        (path \"chibi/thing.sld\")\n\
        (cond-expand (canny (depends (scheme base))) (else (depends (chibi)))))\n\
        (library (name (chibi thing-test)) (path \"chibi/thing-test.sld\") (depends (chibi test)) (use-for \
        test))\n\
        (manual \"chibi/thing.html\") (test \"run-tests.scm\"))";
    let files = [
        ("thing-0.9.0/package.scm", snow),
        (
            "thing-0.9.0/chibi/thing.sld",
            "(define-library (chibi thing) (export))",
        ),
        (
            "thing-0.9.0/chibi/thing-test.sld",
            "(define-library (chibi thing-test) (export))",
        ),
    ];
    world.archive("thing.tgz", &files);
    let done = world.add("thing", archive("../thing.tgz")).unwrap();
    assert_eq!(done.changes, ["added thing 0.9.0"]);
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    assert_eq!(
        world.libraries().unwrap(),
        ["(chibi thing) store/chibi/thing.sld"]
    );
    assert_eq!(
        world
            .place()
            .own_name(&archive("../thing.tgz"))
            .unwrap()
            .to_string(),
        "(chibi thing)"
    );
    // The fetched archive is not needed any more, until the store is lost.
    fs::rename(world.path("thing.tgz"), world.path("kept.tgz")).unwrap();
    assert!(world.place().lock().unwrap().changes.is_empty());
    fs::remove_dir_all(world.path("store")).unwrap();
    refused(
        world.libraries(),
        "missing-package",
        &["thing 0.9.0", "canny lock"],
    );
    refused(
        world.place().lock(),
        "unreachable-package",
        &["thing.tgz", "not there"],
    );
    fs::rename(world.path("kept.tgz"), world.path("thing.tgz")).unwrap();
    world.place().lock().unwrap();
    assert_eq!(world.libraries().unwrap().len(), 1);
    // Another archive of the same name is not what was locked.
    fs::remove_dir_all(world.path("store")).unwrap();
    let mut other = files;
    other[1].1 = "(define-library (chibi thing) (export x) (begin (define x 1)))";
    world.archive("thing.tgz", &other);
    let before = world.read("app/package.lock");
    refused(
        world.place().lock(),
        "changed-package",
        &["not what was locked"],
    );
    assert_eq!(world.read("app/package.lock"), before);
    let done = world
        .place()
        .update(&[PackageName::new("thing").unwrap()])
        .unwrap();
    assert_eq!(done.changes, ["changed thing 0.9.0"]);
    assert_ne!(world.read("app/package.lock"), before);
}

#[test]
fn archives_may_be_checked_by_their_author() {
    let world = World::new(&[APP]);
    world.archive("x y.tgz", &[("x.sld", "(define-library (x) (export))")]);
    let location = format!("file://{}", world.path("x%20y.tgz").display());
    let with = |sha256: String| Source::Archive {
        location: location.clone(),
        sha256: Some(sha256),
        path: None,
    };
    refused(
        world.add("x", with("0".repeat(64))),
        "changed-package",
        &["another checksum"],
    );
    assert_eq!(world.read("app/package.scm"), APP.1);
    assert!(!world.path("app/package.lock").exists());
    let sum = canny_packages::tree::checksum(&fs::read(world.path("x y.tgz")).unwrap());
    world.add("x", with(sum)).unwrap();
    assert_eq!(world.libraries().unwrap(), ["(x) store/x.sld"]);
}

#[test]
fn revisions_of_repositories_are_locked() {
    let world = World::new(&[
        APP,
        ("json/json.sld", JSON),
        (
            "json/package.scm",
            "(package (name json) (version \"1\") (libraries \".\") (depends (text (directory \"sub \
             dir\"))))",
        ),
        ("json/sub dir/text.sld", TEXT),
        ("json/sub dir/package.scm", "(package (name text))"),
    ]);
    let first = world.repository("json");
    world.git("json", &["tag", "v1"]);
    let done = world
        .add(
            "json",
            repository("../json", Reference::Branch("main".to_owned())),
        )
        .unwrap();
    assert_eq!(
        done.changes,
        [
            format!("added json 1 at {}", &first[..10]),
            format!("added text at {}", &first[..10])
        ]
    );
    assert!(
        world
            .libraries()
            .unwrap()
            .contains(&"(text) store/sub dir/text.sld".to_owned())
    );
    // A new commit counts only when it is asked for.
    world.write(
        "json/json.sld",
        "(define-library (json) (export new) (begin (define new 1)))",
    );
    let second = world.commit("json");
    assert!(world.place().lock().unwrap().changes.is_empty());
    assert!(world.read("app/package.lock").contains(&first));
    // The locked revision is fetched again without looking at the branch.
    fs::remove_dir_all(world.path("store/tree")).unwrap();
    assert!(world.offline().lock().unwrap().changes.is_empty());
    fs::remove_dir_all(world.path("store")).unwrap();
    refused(world.offline().lock(), "unreachable-package", &["offline"]);
    assert!(world.place().lock().unwrap().changes.is_empty());
    let done = world.place().update(&[]).unwrap();
    assert!(
        done.changes[0].contains(&second[..10]),
        "{:?}",
        done.changes
    );
    // A tag, a revision, and what is not there.
    world
        .add(
            "json",
            repository("../json", Reference::Tag("v1".to_owned())),
        )
        .unwrap();
    assert!(world.read("app/package.lock").contains(&first));
    world
        .add(
            "json",
            repository("../json", Reference::Revision(second.clone())),
        )
        .unwrap();
    assert!(world.read("app/package.lock").contains(&second));
    let before = world.read("app/package.scm");
    refused(
        world.add(
            "json",
            repository("../json", Reference::Tag("v9".to_owned())),
        ),
        "unreachable-package",
        &["no tag `v9`"],
    );
    refused(
        world.add("x", repository("../nowhere", Reference::Default)),
        "unreachable-package",
        &["cannot fetch", "nowhere"],
    );
    refused(
        world.add("x", repository("ext::sh -c true", Reference::Default)),
        "unreachable-package",
        &["not fetched"],
    );
    assert_eq!(world.read("app/package.scm"), before);
}

#[test]
fn nothing_of_a_repository_is_run() {
    let world = World::new(&[
        APP,
        ("json/json.sld", JSON),
        ("json/.gitattributes", "*.sld filter=evil\n"),
    ]);
    world.repository("json");
    for hook in [
        "post-checkout",
        "post-update",
        "pre-receive",
        "reference-transaction",
    ] {
        let path = format!("json/.git/hooks/{hook}");
        world.write(
            &path,
            &format!(
                "#!/bin/sh\necho {hook} >> {}\n",
                world.path("ran").display()
            ),
        );
        Command::new("chmod")
            .args(["+x"])
            .arg(world.path(&path))
            .status()
            .unwrap();
    }
    world.git(
        "json",
        &[
            "config",
            "filter.evil.smudge",
            &format!("touch {}", world.path("ran").display()),
        ],
    );
    world
        .add("json", repository("../json", Reference::Default))
        .unwrap();
    assert_eq!(world.libraries().unwrap().len(), 1);
    assert!(!world.path("ran").exists());
}

#[test]
fn copies_work_alone() {
    let world = World::new(&[
        APP,
        ("json/src/json.sld", JSON),
        (
            "json/package.scm",
            "(package (name json) (libraries \"src\"))",
        ),
        ("A/a.sld", "(define-library (a) (export))"),
    ]);
    world.archive("text.tgz", &[("text.sld", TEXT)]);
    world.add("json", directory("../json")).unwrap();
    world.add("text", archive("../text.tgz")).unwrap();
    world
        .add("(Json)".trim_matches(['(', ')']), directory("../A"))
        .unwrap();
    let done = world.place().vendor().unwrap();
    assert_eq!(done.changes, ["3 packages copied into `vendor`"]);
    for gone in ["json", "A", "store", "text.tgz"] {
        let path = world.path(gone);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
    }
    let libraries = [
        "(a) app/vendor/Json/a.sld",
        "(json) app/vendor/json-2/src/json.sld",
        "(text) app/vendor/text/text.sld",
    ];
    assert_eq!(world.libraries().unwrap(), libraries);
    assert_eq!(
        world.offline().check().unwrap().changes,
        ["3 packages are as locked"]
    );
    // The locked packages are taken from the copies.
    world.write("json/src/json.sld", JSON);
    world.write(
        "json/package.scm",
        "(package (name json) (libraries \"src\"))",
    );
    world.write("A/a.sld", "(define-library (a) (export))");
    assert_eq!(world.offline().lock().unwrap().changes.len(), 0);
    // Damage is found.
    fs::remove_file(world.path("app/vendor/json-2/src/json.sld")).unwrap();
    world.write("app/vendor/text/more.sld", "");
    refused(
        world.offline().check(),
        "changed-package",
        &["json", "text", "canny vendor"],
    );
    fs::remove_dir_all(world.path("app/vendor/text")).unwrap();
    let root = world.path("app");
    let open = || project::open(&SourceMap::new(), &root, Some(&world.store()), &platform());
    refused(open(), "missing-package", &["text", "canny vendor"]);
    world.write(
        "app/vendor/vendored.scm",
        "(vendored (\"json\" \"../..\" \"\"))",
    );
    refused(open(), "bad-lock", &["canny vendor"]);
    world.write("app/vendor/vendored.scm", "(vendored");
    assert!(open().is_err());
}

#[test]
fn copies_follow_the_lockfile() {
    let world = World::new(&[APP, ("json/json.sld", JSON), ("text/text.sld", TEXT)]);
    world.add("json", directory("../json")).unwrap();
    world.place().vendor().unwrap();
    let done = world.add("text", directory("../text")).unwrap();
    assert!(
        done.changes.iter().any(|line| line.contains("made anew")),
        "{:?}",
        done.changes
    );
    assert_eq!(
        world.libraries().unwrap(),
        [
            "(json) app/vendor/json/json.sld",
            "(text) app/vendor/text/text.sld"
        ]
    );
    world
        .place()
        .remove(&[PackageName::new("json").unwrap()])
        .unwrap();
    assert!(!world.path("app/vendor/json").exists());
    assert!(!world.path("app/.vendor.new").exists());
    // A directory that is somebody else's stays.
    let world = World::new(&[APP, ("app/vendor/mine", "1")]);
    refused(
        world.place().vendor(),
        "unwritable-project",
        &["not made by"],
    );
    assert_eq!(world.read("app/vendor/mine"), "1");
}

#[test]
fn a_lockfile_belongs_to_its_manifest() {
    let world = World::new(&[APP, ("json/json.sld", JSON)]);
    world.write(
        "app/package.scm",
        "(package (name app) (depends (json (directory \"../json\"))))",
    );
    refused(world.libraries(), "stale-lock", &["no `", "canny lock"]);
    world.place().lock().unwrap();
    assert_eq!(world.libraries().unwrap().len(), 1);
    // Another layout of the same is the same.
    world.write("app/package.scm",
        ";; new\r\n(package (version \"7\")\r\n (name app) (depends (|json| (directory \"../json\"))))");
    assert_eq!(world.libraries().unwrap().len(), 1);
    world.write(
        "app/package.scm",
        "(package (name app) (depends (json (directory \"../json/\"))))",
    );
    refused(world.libraries(), "stale-lock", &["canny lock"]);
    world.place().lock().unwrap();
    world.write("json/json.sld", "(define-library (json) (export))");
    assert_eq!(world.libraries().unwrap().len(), 1);
    refused(world.place().check(), "changed-package", &["changed since"]);
    world.place().lock().unwrap();
    world.place().check().unwrap();
    for damaged in [
        "",
        "(package-lock",
        "\u{0}\u{1}garbage",
        "(package-lock (format 1))",
    ] {
        world.write("app/package.lock", damaged);
        assert!(world.libraries().is_err());
        refused(
            world.place().lock(),
            world.place().lock().unwrap_err().code(),
            &["remove it and run `canny lock`"],
        );
        assert_eq!(world.read("app/package.lock"), damaged);
    }
    fs::write(world.path("app/package.lock"), [0xFF, 0xFE, 0]).unwrap();
    assert!(world.libraries().is_err());
    fs::remove_file(world.path("app/package.lock")).unwrap();
    fs::create_dir(world.path("app/package.lock")).unwrap();
    assert!(world.libraries().is_err());
    fs::remove_dir(world.path("app/package.lock")).unwrap();
    world.place().lock().unwrap();
    fs::remove_dir_all(world.path("json")).unwrap();
    refused(world.libraries(), "missing-package", &["json"]);
}

#[test]
fn conflicts_name_who_asks_for_what() {
    let world = World::new(&[
        APP,
        (
            "a/package.scm",
            "(package (name a) (version \"1\") (libraries \".\") (depends (text (directory \"../text\"))))",
        ),
        ("a/a.sld", "(define-library (a) (export))"),
        (
            "b/package.scm",
            "(package (name b) (version \"2\") (libraries \".\") (depends (text (directory \"../text2\"))))",
        ),
        ("b/b.sld", "(define-library (b) (export))"),
        ("text/text.sld", TEXT),
        ("text2/text.sld", TEXT),
    ]);
    world.add("a", directory("../a")).unwrap();
    let before = (
        world.read("app/package.scm"),
        world.read("app/package.lock"),
    );
    refused(
        world.add("b", directory("../b")),
        "package-conflict",
        &[
            "only one `text`",
            "a 1 asks for (directory \"../text\")",
            "b 2 asks for (directory \"../text2\")",
            "wins",
        ],
    );
    refused(
        world.add("other", directory("../text2")),
        "package-conflict",
        &["(text) is in two packages", "other", "a 1 asks for"],
    );
    assert_eq!(
        (
            world.read("app/package.scm"),
            world.read("app/package.lock")
        ),
        before
    );
    // The project's own asks win.
    world.add("text", directory("../text")).unwrap();
    let done = world.add("b", directory("../b")).unwrap();
    assert!(
        done.notes[0].contains("what the project says is used"),
        "{:?}",
        done.notes
    );
}

#[test]
fn indexes_offer_versions() {
    let snow = |name: &str, version: &str, depends: &str| {
        format!(
            "(package (name ({name})) (version \"{version}\") (url \"{name}-{version}.tgz\") (library (name \
             ({name})) (path \"{name}.sld\") (depends (scheme base){depends})))\n"
        )
    };
    let world = World::new(&[(
        "app/package.scm",
        "(package (name app) (indexes \"../index\"))",
    )]);
    let versions = ["1.0", "1.5", "2.0", "2.1-beta"];
    let mut repository = String::from("(repository\n");
    for version in versions {
        // The newest needs what nobody has with the other.
        let depends = if version == "2.0" { " (new)" } else { "" };
        repository.push_str(&snow("json", version, depends));
    }
    repository.push_str(&snow("new", "3.0", ""));
    repository.push_str("(sibling (url \"sub/repo.scm\")))");
    world.write("index/repo.scm", &repository);
    world.write("index/sub/repo.scm", "(repository)");
    for version in versions {
        let library =
            format!("(define-library (json) (export) (import (scheme base))) ; {version}");
        world.archive(
            &format!("index/json-{version}.tgz"),
            &[("json/json.sld", &library)],
        );
    }
    world.archive(
        "index/new-3.0.tgz",
        &[("new.sld", "(define-library (new) (export))")],
    );
    let wish = |range: &str| {
        let library = canny_syntax::core::LibraryName::from_words(&["json"]);
        Dependency {
            name: PackageName::of_library(&library),
            wish: Wish::Version(Range::parse(range).unwrap()),
            span: Span::NONE,
        }
    };
    let done = world.place().add(&wish("^1"), false).unwrap();
    assert_eq!(done.changes, ["added (json) 1.5"]);
    // A newer one is taken only when it is asked for.
    world.place().add(&wish(">=1"), false).unwrap();
    assert!(world.read("app/package.lock").contains("\"2.0\""));
    assert!(
        world
            .libraries()
            .unwrap()
            .contains(&"(new) store/new.sld".to_owned())
    );
    assert!(
        world
            .place()
            .tree()
            .unwrap()
            .contains("a library of it is needed")
    );
    refused(
        world.place().add(&wish("^3"), false),
        "no-such-package",
        &["asks for (json) ^3", "1.0, 1.5, 2.0"],
    );
    let nothing = dependency("nothing", Wish::Version(Range::any()));
    refused(
        world.place().add(&nothing, false),
        "no-such-package",
        &["no index has"],
    );
}

#[test]
fn versions_are_chosen_that_fit_together() {
    let index = "(import (akku format index))\n\
        (package (name \"a\") (versions ((version \"2.0.0\") (lock (location (directory \"a2\"))) (depends \
        (\"c\" \"^2\")))\n\
        ((version \"1.0.0\") (lock (location (directory \"a1\"))) (depends (\"c\" \"^1\")))))\n\
        (package (name \"b\") (versions ((version \"1.0.0\") (lock (location (directory \"b\"))) (depends \
        (\"c\" \"~1.1\")))))\n\
        (package (name \"c\") (versions ((version \"1.1.3\") (lock (location (directory \"c1\"))) (depends)) \
        ((version \"2.0.0\") (lock (location (directory \"c2\"))) (depends))))";
    let world = World::new(&[
        (
            "app/package.scm",
            "(package (name app) (indexes \"../index\") (depends (a (version \">=1\")) (b \"*\")))",
        ),
        ("index/Akku-index.scm", index),
    ]);
    for name in ["a1", "a2", "b", "c1", "c2"] {
        let library = &name[..1];
        world.write(
            &format!("index/{name}/{library}.sld"),
            &format!("(define-library ({library}) (export))"),
        );
    }
    let done = world.place().lock().unwrap();
    assert_eq!(
        done.changes,
        ["added a 1.0.0", "added b 1.0.0", "added c 1.1.3"]
    );
    world.write(
        "app/package.scm",
        "(package (name app) (indexes \"../index\") (depends (a (version \"^2\")) (b \"*\")))",
    );
    refused(
        world.place().lock(),
        "package-conflict",
        &[
            "only one `c`",
            "a 2.0.0 asks for (version \"^2\")",
            "b 1.0.0 asks for (version \"~1.1\")",
        ],
    );
}

#[test]
fn packages_of_akku_are_used_as_far_as_they_can_be() {
    let manifest = "#!r6rs\n(import (akku format manifest))\n(akku-package (\"thing\" \"1.0.0\") (synopsis \
        \"x\") (depends (\"text\" \"^1\") (\"chez-srfi\" \"^0.0.0\")))";
    let lock = "(import (akku format lockfile))\n(projects ((name \"text\") (location (directory \"../text\"))))";
    let world = World::new(&[
        APP,
        ("thing/Akku.manifest", manifest),
        ("thing/Akku.lock", lock),
        (
            "thing/thing.sld",
            "(define-library (thing) (export) (import (scheme base)))",
        ),
        (
            "thing/old.sls",
            "#!r6rs\n(library (thing old) (export) (import (rnrs)))",
        ),
        (
            "thing/tests/x.sld",
            "(define-library (thing test) (export))",
        ),
        (
            "thing/.akku/lib/copy.sld",
            "(define-library (copy) (export))",
        ),
        ("text/text.sld", TEXT),
        ("old/old.sls", "(library (old) (export) (import (rnrs)))"),
    ]);
    let done = world.add("thing", directory("../thing")).unwrap();
    assert_eq!(done.changes, ["added text", "added thing 1.0.0"]);
    assert!(
        done.notes.iter().any(|note| note.contains("chez-srfi")),
        "{:?}",
        done.notes
    );
    assert!(
        done.notes
            .iter()
            .any(|note| note.contains("(thing old) is in the form of R6RS")),
        "{:?}",
        done.notes
    );
    assert_eq!(
        world.libraries().unwrap(),
        [
            "(text) app/../text/text.sld",
            "(thing) app/../thing/thing.sld"
        ]
    );
    refused(
        world.add("old", directory("../old")),
        "unusable-package",
        &["no library of old", "R6RS"],
    );
    refused(
        world.add("gone", directory("../gone")),
        "unreachable-package",
        &["../gone", "not there"],
    );
}

#[test]
fn two_runs_do_not_meet() {
    let world = World::new(&[APP, ("json/json.sld", JSON)]);
    let hold = canny_packages::files::hold(&world.path("app")).unwrap();
    refused(
        world.add("json", directory("../json")),
        "project-busy",
        &["another run"],
    );
    drop(hold);
    world.add("json", directory("../json")).unwrap();
}

#[test]
fn projects_are_found_from_below() {
    let world = World::new(&[
        APP,
        ("app/src/deep/x.scm", ""),
        ("program/package.scm", "(define package 1)\n(package)"),
        ("program/sub/x", ""),
    ]);
    let root = project::find(&world.path("app/src/deep")).unwrap();
    assert_eq!(
        fs::canonicalize(root).unwrap(),
        fs::canonicalize(world.path("app")).unwrap()
    );
    assert_eq!(project::find(&world.path("program/sub")), None);
    assert_eq!(project::find(&world.path("nowhere")), None);
    let nowhere = Workplace::find(&world.path("program"), world.store(), platform(), false);
    refused(nowhere, "no-project", &["canny new"]);
}

#[test]
fn names_may_be_odd() {
    let world = World::new(&[
        APP,
        ("日本 語/é.sld", "(define-library (é |a b|) (export))\r\n"),
    ]);
    world
        .add("../odd \"name\" λ", directory("../日本 語"))
        .unwrap();
    assert_eq!(
        world.libraries().unwrap(),
        ["(é |a b|) app/../日本 語/é.sld"].map(|text| text.replace("|a b|", "a b"))
    );
    world.place().vendor().unwrap();
    assert!(
        world.libraries().unwrap()[0].contains("vendor/%2E.%2Fodd-%22name%22-%CE%BB/"),
        "{:?}",
        world.libraries()
    );
    world
        .place()
        .remove(&[PackageName::new("../odd \"name\" λ").unwrap()])
        .unwrap();
}
