use super::*;

fn site(pages: &[(&str, &str)]) -> Site {
    Site {
        title: "Test".to_owned(),
        home: Page {
            path: "index.md".to_owned(),
            markdown: "# Home\n".to_owned(),
            section: String::new(),
        },
        groups: vec![Group {
            title: "All".to_owned(),
            pages: pages
                .iter()
                .map(|(path, markdown)| Page {
                    path: (*path).to_owned(),
                    markdown: (*markdown).to_owned(),
                    section: String::new(),
                })
                .collect(),
        }],
        ..Site::default()
    }
}

fn file(site: &Site, path: &str) -> String {
    let files = render(site).unwrap_or_else(|problems| panic!("{problems:#?}"));
    String::from_utf8(files[path].clone()).expect("it is text")
}

#[test]
fn links_lead_to_pages_and_headings() {
    let site = site(&[
        (
            "a/one.md",
            "# One\n[two](../b/README.md#the-c-part) [self](#one) [out](https://x.org/)",
        ),
        (
            "b/README.md",
            "# Two\n## The `c` part\n[file](data.csv) ![a \"b\"](data.csv)",
        ),
    ]);
    let mut site = site;
    site.files.insert("b/data.csv".to_owned(), b"1,2".to_vec());
    site.files.insert("b/unused.csv".to_owned(), Vec::new());
    let html = file(&site, "a/one.html");
    assert!(
        html.contains("<a href=\"../b/index.html#the-c-part\">two</a>"),
        "{html}"
    );
    assert!(html.contains("<a href=\"#one\">self</a> <a href=\"https://x.org/\">out</a>"));
    let html = file(&site, "b/index.html");
    assert!(
        html.contains("<img src=\"data.csv\" alt=\"a &quot;b&quot;\">"),
        "{html}"
    );
    let files = render(&site).expect("it is right");
    assert!(files.contains_key("b/data.csv") && !files.contains_key("b/unused.csv"));
}

#[test]
fn dead_links_are_found() {
    let mut site = site(&[(
        "a.md",
        "# A\n[x](b.md) [y](#nowhere) [z](../src/lib.rs) ![p](p.png)",
    )]);
    site.elsewhere.insert("../src/lib.rs".to_owned());
    let problems = render(&site).expect_err("there are dead links");
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "a.md: the link to b.md leads nowhere",
            "a.md: the link to #nowhere leads to no heading",
            "a.md: the link to p.png leads nowhere",
        ]
    );
}

#[test]
fn what_is_elsewhere_is_no_link() {
    let mut site = site(&[("a.md", "# A\n[z](../src/lib.rs)")]);
    site.elsewhere.insert("../src/lib.rs".to_owned());
    assert!(file(&site, "a.html").contains("<a >z</a>"));
}

#[test]
fn names_of_a_reference_have_anchors() {
    let site = site(&[
        (
            "reference/x.md",
            "# (x)\n### `(f! a)`, `(f!)`, `g`\n\nText.\n",
        ),
        ("y.md", "# Y\n[f](reference/x.md#name-f.21)"),
    ]);
    let html = file(&site, "reference/x.html");
    assert!(
        html.contains("<span id=\"name-f.21\"></span><span id=\"name-g\"></span>"),
        "{html}"
    );
    assert!(html.contains("<code>(<b>f!</b> a)</code>"));
    let index = file(&site, "assets/search.js");
    assert!(
        index.contains("[\"f! g\",\"name-f.21\",\"\",\"Text.\"]"),
        "{index}"
    );
}

#[test]
fn code_is_highlighted_and_escaped() {
    let site = site(&[(
        "a.md",
        "# A\n```scheme\n(define (f x) ; <b>\n  (if x \"a\\\"<\" #\\( 1.5))\n; => 2\n```\n```prompt\n> (f \
         1)\n$1 = <2>\n```\n",
    )]);
    let html = file(&site, "a.html");
    assert!(
        html.contains(
            "(<b>define</b> (<i class=\"name\">f</i> x) <i class=\"com\">; &lt;b&gt;</i>"
        ),
        "{html}"
    );
    assert!(
        html.contains(
            "<i class=\"str\">&quot;a\\&quot;&lt;&quot;</i> <i class=\"lit\">#\\(</i> <i \
        class=\"lit\">1.5</i>))"
        ),
        "{html}"
    );
    assert!(html.contains("<i class=\"res\">; =&gt; 2</i>"));
    assert!(html.contains(
        "<i class=\"mark\">&gt; </i>(f <i class=\"lit\">1</i>)\n<i class=\"out\">$1 = &lt;2&gt;\n</i>"),
            "{html}");
}

#[test]
fn nothing_comes_from_elsewhere() {
    let files = render(&site(&[("a.md", "# A\ntext")])).expect("it is right");
    for (path, content) in files {
        let text = String::from_utf8(content).expect("it is text");
        for outside in ["src=\"http", "@import", "url(", "fetch(", "href=\"http"] {
            assert!(!text.contains(outside), "{path}: {outside}");
        }
    }
}

#[test]
fn ways_between_files() {
    assert_eq!(relative("a/b.html", "a/c.html"), "c.html");
    assert_eq!(relative("a/b.html", "index.html"), "../index.html");
    assert_eq!(relative("index.html", "a/c.html"), "a/c.html");
    assert_eq!(relative("a/b/c.html", "a/d/e.html"), "../d/e.html");
}
