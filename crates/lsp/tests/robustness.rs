//! Clients and texts that are not as they should be. Each gets an answer, and the server keeps running.

mod client;

use client::{Client, codes};
use serde_json::{Value, json};

/// The server still answers.
fn is_well(client: &mut Client) {
    let found = client.open("well.scm", "(define (f x) x)\n(f 1)\n");
    assert_eq!(codes(&found), Vec::<String>::new());
    let hover = client.at("hover", "well.scm", "(^f 1)");
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap_or_default()
            .contains("(f x)")
    );
}

#[test]
fn garbage_on_the_line() {
    let mut client = Client::new();
    for garbage in [
        &b"hello\r\n\r\n"[..],
        b"Content-Length: 5\r\n\r\n{]{]{",
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: 3\r\n\r\n{\"jsonrpc\":1}",
        b"Content-Type: text\r\nContent-Length: 2\r\n\r\n\xff\xfe",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n17",
        b"Content-Length: 10\r\n\r\n{\"id\":[1]}",
    ] {
        client.raw(garbage);
        let answer = client.receive();
        let code = answer["error"]["code"].as_i64();
        assert!(
            matches!(code, Some(-32700 | -32600)),
            "{garbage:?}: {answer}"
        );
    }
    is_well(&mut client);
    assert!(client.end());
}

#[test]
fn requests_out_of_order() {
    let mut client = Client::silent();
    let place =
        json!({"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}});
    assert_eq!(
        client.request("textDocument/hover", place.clone())["code"],
        -32002
    );
    client.notify("textDocument/didOpen", json!({}));
    let found = client.request("initialize", json!({"capabilities": {}}));
    assert_eq!(found["serverInfo"]["name"], "canny");
    assert_eq!(client.request("initialize", json!({}))["code"], -32600);
    assert_eq!(
        client.request("textDocument/hover", place.clone())["code"],
        -32602
    );
    assert_eq!(client.request("no/such", Value::Null)["code"], -32601);
    assert_eq!(client.request("shutdown", Value::Null), Value::Null);
    assert_eq!(client.request("textDocument/hover", place)["code"], -32600);
    assert!(client.end());
}

#[test]
fn parameters_of_all_sorts() {
    let mut client = Client::new();
    client.open("a.scm", "(define (f x) x)\n");
    let uri = client.uri("a.scm");
    let methods = [
        "hover",
        "definition",
        "references",
        "documentHighlight",
        "completion",
        "signatureHelp",
        "rename",
        "prepareRename",
        "rangeFormatting",
        "codeAction",
        "selectionRange",
        "semanticTokens/range",
    ];
    let odd = [
        Value::Null,
        json!([]),
        json!({"textDocument": 1}),
        json!({"textDocument": {"uri": uri}}),
        json!({"textDocument": {"uri": uri}, "position": {"line": -1, "character": 1e300}}),
        json!({"textDocument": {"uri": uri}, "position": {"line": 1e18, "character": 1e18}, "newName": 7}),
        json!({"textDocument": {"uri": uri}, "range": {"start": {"line": 9, "character": 9}, "end": {
            "line": 0, "character": 0}}}),
        json!({"textDocument": {"uri": uri}, "positions": [3]}),
    ];
    for method in methods {
        for params in &odd {
            client.request(&format!("textDocument/{method}"), params.clone());
        }
    }
    for params in odd {
        client.notify("textDocument/didChange", params.clone());
        client.notify("textDocument/didOpen", params.clone());
        client.notify("textDocument/didClose", params.clone());
        client.notify("$/cancelRequest", params.clone());
        client.request("workspace/executeCommand", params.clone());
        client.request("workspace/symbol", params);
    }
    client.notify(
        "textDocument/didChange",
        json!({"textDocument": {"uri": "file:///not-open"}, "contentChanges": [{"text": "x"}]}),
    );
    is_well(&mut client);
    assert!(client.end());
}

#[test]
fn texts_that_are_no_programs() {
    let mut client = Client::new();
    let deep = "(".repeat(30_000);
    let texts = [
        "",
        "\u{feff}",
        ")))))",
        deep.as_str(),
        "\u{0}\u{1}\u{7f}ELF\u{2}",
        "#|",
        "\"",
        "#\\",
        "(define",
        "(import",
        "(import (scheme base",
        "(define-library",
        "(define-library (a) (export",
        "#0=(a . #0#)",
        "(define-syntax f (syntax-rules () ((_ . x) (f . x)))) (f 1)",
        "(define-syntax f (syntax-rules () ((_ x ...) (f x ... x ...)))) (f 1)",
        "'(a . b . c)",
        "(let loop",
        "\r\r\n\n\r",
    ];
    for text in texts {
        client.open("odd.scm", text);
        for method in [
            "documentSymbol",
            "semanticTokens/full",
            "foldingRange",
            "formatting",
        ] {
            client.whole(method, "odd.scm");
        }
        let end = client::position(text, text.len());
        for method in ["completion", "signatureHelp", "hover", "selectionRange"] {
            let params = json!({"textDocument": {"uri": client.uri("odd.scm")}, "position": end,
                "positions": [end]});
            client.request(&format!("textDocument/{method}"), params);
        }
    }
    is_well(&mut client);
    assert!(client.end());
}

#[test]
fn huge_texts_are_left_alone() {
    let mut client = Client::new();
    let huge = "(define x '(1 2 3 4 5 6 7 8))\n".repeat(350_000);
    let found = client.open("huge.scm", &huge);
    assert!(
        found[0]["message"]
            .as_str()
            .unwrap_or_default()
            .contains("is not looked at"),
        "{found}"
    );
    let place = json!({"textDocument": {"uri": client.uri("huge.scm")}, "position": {"line": 5,
        "character": 9}});
    assert_eq!(client.request("textDocument/hover", place), Value::Null);
    is_well(&mut client);
    assert!(client.end());
}

#[test]
fn macros_that_do_not_end_are_stopped() {
    let mut client = Client::new();
    let text = "\
(import (scheme base) (canny base))
(define-syntax endless
  (er-macro-transformer (lambda (form rename compare) (let loop () (loop)))))
(define (f x) (endless))
(f 1)
";
    let place = |client: &Client| {
        json!({"textDocument": {"uri": client.uri("endless.scm")}, "position": {
        "line": 3, "character": 9}})
    };
    let uri = client.uri("endless.scm");
    let document = json!({"uri": uri, "languageId": "scheme", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
    // Requests that wait can be taken back meanwhile, and others are answered.
    let hover = client.ask("textDocument/hover", place(&client));
    let folding = client.ask(
        "textDocument/foldingRange",
        json!({"textDocument": {"uri": uri}}),
    );
    assert!(client.answer(folding)["result"].is_array());
    client.notify("$/cancelRequest", json!({"id": hover}));
    assert_eq!(client.answer(hover)["error"]["code"], -32800);
    // A newer text stops the expansion of the older one.
    let change = json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text":
        "(define (f x) x)\n(f 1)\n"}]});
    client.notify("textDocument/didChange", change);
    let found = client.wait_for_diagnostics("endless.scm");
    assert_eq!(codes(&found), Vec::<String>::new(), "{found}");
    // Without one it is stopped after a while.
    let change =
        json!({"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": text}]});
    client.notify("textDocument/didChange", change);
    let found = client.wait_for_diagnostics("endless.scm");
    assert!(
        found.to_string().contains("does not end") || found.to_string().contains("macro-error"),
        "{found}"
    );
    is_well(&mut client);
    assert!(client.end());
}

#[test]
fn clients_that_go_away() {
    let mut client = Client::new();
    is_well(&mut client);
    assert!(!client.vanish());
    assert!(!Client::silent().vanish());
    let mut client = Client::new();
    client.raw(b"Content-Length: 100\r\n\r\n{");
    assert!(!client.vanish());
}
