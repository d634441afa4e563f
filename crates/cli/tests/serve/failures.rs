//! Pages of failed requests whose frames are looked into: variables, parts of values, expressions, and
//! requests that are refused.

use serde_json::{Value as Json, json};

use super::*;

const FAILING: &str = r##"
(import (scheme base) (scheme write) (scheme process-context)
        (canny web server) (canny web message) (canny web middleware) (canny tasks))
(define counter 7)
(define (deep n)
  (if (= n 0) (car n) (+ 1 (deep (- n 1)))))
(define (price-of item discount)
  (let ((big (make-vector 100000 'x))
        (cycle (list 1 2 3))
        (long (make-string 3000 #\a))
        (calls 0))
    (define (count!) (set! calls (+ calls 1)))
    (set-cdr! (cddr cycle) cycle)
    (count!)
    (let ((answer (vector-ref item discount)))
      (count!)
      (list answer big cycle long calls discount))))
(define (handler request body)
  (case (string->symbol (request-path request))
    ((/fail)
     (let ((item (vector 'tea 250)))
       (sleep 1/1000)
       (+ 1 (length (price-of item 5)))))
    ((/deep) (deep 70))
    ((/large) (make-vector 1000000000000 0))
    (else "nothing fails here")))
"##;

fn failing(last: &str) -> PathBuf {
    with_files(&[("main.scm", &format!("{FAILING}{last}\n"))])
}

/// A page, with the parts of it that its script reads.
struct Page {
    address: String,
    token: String,
    failure: u64,
    text: String,
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// The answer to a request with a body: status and JSON, or the text if it is none.
fn post(address: &str, fields: &str, body: &str) -> (u16, Json) {
    let mut client = TcpStream::connect(address).unwrap();
    client
        .set_read_timeout(Some(Duration::from_secs(120)))
        .unwrap();
    let length = body.len();
    write!(
        client,
        "POST /.canny/failure HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n\
         {fields}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = between(head, "HTTP/1.1 ", " ").unwrap().parse().unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|_| Json::from(body));
    (status, body)
}

impl Page {
    fn load(server: &Serving, target: &str) -> Page {
        let fields = format!("Host: {}\r\n", server.address);
        let text = server.get_with(target, &fields);
        let part = |before: &str| {
            between(&text, before, "\"")
                .expect("an open page")
                .to_owned()
        };
        Page {
            address: server.address.clone(),
            token: part("data-token=\""),
            failure: part("data-failure=\"").parse().unwrap(),
            text: text.clone(),
        }
    }

    fn ask(&self, action: &str, more: Json) -> (u16, Json) {
        let mut wanted = json!({"action": action, "failure": self.failure});
        let more = more.as_object().unwrap().clone();
        wanted.as_object_mut().unwrap().extend(more);
        let Page { address, token, .. } = self;
        let fields =
            format!("Host: {address}\r\nOrigin: http://{address}\r\nCanny-Token: {token}\r\n");
        post(address, &fields, &wanted.to_string())
    }

    fn asked(&self, action: &str, more: Json) -> Json {
        let (status, answer) = self.ask(action, more);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The number of the newest frame of the program.
    fn frame(&self) -> u64 {
        let number = between(&self.text, "data-frame=\"", "\"").unwrap();
        number.parse().unwrap()
    }

    fn variable(&self, frame: u64, name: &str) -> Json {
        let got = self.asked("variables", json!({"frame": frame}));
        let all = got["variables"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name);
        found
            .unwrap_or_else(|| panic!("no {name} in {got}"))
            .clone()
    }

    fn evaluate(&self, expression: &str) -> Json {
        let wanted = json!({"frame": self.frame(), "expression": expression});
        self.asked("evaluate", wanted)
    }
}

#[test]
fn frames_of_a_failed_request_are_looked_into() {
    let server = serve(failing("(run-server handler #:port 1)"), &["main.scm"]);
    let page = Page::load(&server, "/fail");
    // Without the script everything is there, as text.
    for part in [
        "<code>price-of</code> at main.scm:15:19",
        "<code>item</code> = <code>#(tea 250)</code>",
        "<code>handler</code> at main.scm:23:21",
    ] {
        assert!(page.text.contains(part), "no {part} in {}", page.text);
    }
    let nonce = between(&page.text, "script-src 'nonce-", "'").unwrap();
    assert!(page.text.contains(&format!("<script nonce=\"{nonce}\">")));
    let frame = page.frame();
    assert_eq!(page.variable(frame, "discount")["text"], "5");
    assert_eq!(page.variable(frame, "calls")["text"], "1");
    // A value that contains itself, one step after the other.
    let mut value = page.variable(frame, "cycle")["value"].clone();
    for expected in ["1", "2", "3", "1", "2"] {
        let got = page.asked(
            "parts",
            json!({"value": value, "fields": true, "count": 10}),
        );
        assert_eq!(got["parts"][0]["text"], expected);
        value = got["parts"][1]["value"].clone();
    }
    // A large one, in pages.
    let big = page.variable(frame, "big");
    assert_eq!(big["indexed"], 100_000);
    let wanted = json!({"value": big["value"], "fields": false, "first": 99_998, "count": 50});
    let got = page.asked("parts", wanted);
    assert_eq!(got["parts"].as_array().unwrap().len(), 2);
    assert_eq!(got["parts"][1]["name"], "99999");
    // A long one, whole.
    let long = page.variable(frame, "long");
    assert!(long["text"].as_str().unwrap().len() < 1000);
    let got = page.asked("text", json!({"value": long["value"]}));
    assert_eq!(got["text"].as_str().unwrap().len(), 3002);
    let (status, answer) = page.ask("parts", json!({"value": 1_000_000}));
    assert_eq!(status, 404, "{answer}");
    let (status, answer) = page.ask("nonsense", json!({}));
    assert_eq!(status, 400, "{answer}");
}

#[test]
fn expressions_are_evaluated_in_frames() {
    let server = serve(failing("(run-server handler #:port 1)"), &["main.scm"]);
    let page = Page::load(&server, "/fail");
    let value = |expression: &str| {
        let got = page.evaluate(expression);
        got["result"]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{got}"))
            .to_owned()
    };
    assert_eq!(
        value("(list (vector-ref item 1) discount counter)"),
        "(250 5 7)"
    );
    assert_eq!(value("(length (price-of item 1))"), "6");
    assert_eq!(
        value("(await (start (begin (sleep 1/1000) (+ discount 1))))"),
        "6"
    );
    let got = page.evaluate("(begin (display \"out\") (write 'put) 1)");
    assert_eq!(got["output"], "output", "{got}");
    // A variable in a box, one without, one of the program.
    let got = page.evaluate("(set! calls 40)");
    assert_eq!(got["assigned"][0]["note"], "was assigned", "{got}");
    assert_eq!(value("(+ calls 2)"), "42");
    let got = page.evaluate("(set! item 1)");
    let note = got["assigned"][0]["note"].as_str().unwrap();
    assert!(note.starts_with("keeps its value"), "{got}");
    assert_eq!(value("item"), "#(tea 250)");
    assert_eq!(value("(begin (set! counter 8) counter)"), "8");
    // Expressions that give no value.
    let error = |expression: &str| {
        let got = page.evaluate(expression);
        got["error"]
            .as_str()
            .unwrap_or_else(|| panic!("{got}"))
            .to_owned()
    };
    assert_eq!(
        error("(car item)"),
        "car: argument 1 is not a pair: #(tea 250)"
    );
    assert_eq!(error("(raise 'x)"), "an object was raised: x");
    assert!(error("(list item").contains("not closed"));
    assert_eq!(error(" "), "there is no expression");
    for expression in ["(exit 3)", "(emergency-exit 3)", "(await (start (exit 3)))"] {
        assert!(error(expression).contains("calls exit"), "{expression}");
    }
    assert!(error("(let loop () (loop))").contains("was ended after"));
    assert!(error("(make-vector 100000000 0)").contains("too much memory"));
    assert!(server.get("/").ends_with("nothing fails here"));
}

#[test]
fn more_frames_are_read_when_they_are_wanted() {
    let server = serve(failing("handler"), &["main.scm"]);
    let page = Page::load(&server, "/deep");
    assert_eq!(page.text.matches("data-frame=").count(), 50);
    let next: u64 = between(&page.text, "data-next=\"", "\"")
        .unwrap()
        .parse()
        .unwrap();
    let got = page.asked("frames", json!({"first": next}));
    let frames = got["frames"].as_array().unwrap();
    // Of 71 calls; the handler ended with a tail call.
    assert_eq!(frames.len(), 21, "{got}");
    assert_eq!(got["next"], Json::Null);
    assert_eq!(frames[20]["title"], "deep at main.scm:6:28", "{got}");
    assert_eq!(page.variable(next, "n")["text"], "50");
}

#[test]
fn strangers_do_not_look_into_frames() {
    let server = serve(failing("handler"), &["main.scm"]);
    let page = Page::load(&server, "/fail");
    let own = &server.address;
    let origin = format!("http://{own}");
    let wanted = json!({"action": "variables", "failure": page.failure, "frame": page.frame()});
    let ask = |host: &str, origin: &str, token: &str, more: &str| {
        let fields = format!("Host: {host}\r\nOrigin: {origin}\r\nCanny-Token: {token}\r\n{more}");
        post(
            own,
            &format!("{}\r\n", fields.trim_end()),
            &wanted.to_string(),
        )
    };
    let (status, answer) = ask(own, &origin, &page.token, "");
    assert_eq!(status, 200, "{answer}");
    let port = own.rsplit_once(':').unwrap().1;
    let localhost = format!("localhost:{port}");
    let (status, answer) = ask(&localhost, &format!("http://{localhost}"), &page.token, "");
    assert_eq!(status, 200, "{answer}");
    let foreign = format!("evil.example:{port}");
    let similar = format!("127.0.0.1.evil.example:{port}");
    let token = page.token.as_str();
    let forwarded = "X-Forwarded-For: 192.0.2.1";
    for (host, origin, token, more, why) in [
        (own.as_str(), origin.as_str(), "", "", "token"),
        (own, &origin, &token[1..], "", "token"),
        (own, "http://evil.example", token, "", "Origin"),
        (own, "null", token, "", "Origin"),
        (own, &format!("https://{own}"), token, "", "Origin"),
        (&foreign, &format!("http://{foreign}"), token, "", "Host"),
        (&similar, &format!("http://{similar}"), token, "", "Host"),
        (own, &origin, token, forwarded, "proxy"),
        (
            own,
            &origin,
            token,
            "Sec-Fetch-Site: cross-site",
            "another site",
        ),
    ] {
        let (status, answer) = ask(host, origin, token, more);
        assert_eq!(status, 403, "{host} {origin} {token} {more}: {answer}");
        let told = answer["error"].as_str().unwrap();
        assert!(told.contains(why), "{told}");
    }
    let answer = server.get_with("/.canny/failure", &format!("Host: {own}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    // Under a foreign name the page itself has no token.
    let answer = server.get_with("/fail", &format!("Host: {foreign}\r\n"));
    assert!(answer.contains("Static page: the Host"), "{answer}");
    assert!(!answer.contains("data-token"), "{answer}");
}

#[test]
fn older_failures_are_forgotten() {
    let server = serve(failing("handler"), &["main.scm"]);
    let page = Page::load(&server, "/fail");
    let frame = page.frame();
    for _ in 0..9 {
        server.get("/fail");
    }
    assert_eq!(page.variable(frame, "discount")["text"], "5");
    // Frames that may hold all of the memory are not kept at all.
    let fields = format!("Host: {}\r\n", server.address);
    let answer = server.get_with("/large", &fields);
    assert!(answer.contains("they would keep the memory"), "{answer}");
    assert_eq!(page.variable(frame, "discount")["text"], "5");
    server.get("/fail");
    let (status, answer) = page.ask("variables", json!({"frame": frame}));
    assert_eq!(status, 404);
    let told = answer["error"].as_str().unwrap();
    assert!(told.contains("forgotten"), "{told}");
}

#[test]
fn another_version_has_another_token() {
    let server = serve(failing("handler"), &["--watch", "main.scm"]);
    server.get_until("/", "nothing fails here");
    let page = Page::load(&server, "/fail");
    // The script that shows pages anew is there, too.
    assert!(
        page.text.contains("/.canny/reload.js\" nonce="),
        "{}",
        page.text
    );
    assert_eq!(page.evaluate("(+ discount 1)")["result"]["text"], "6");
    server.write(
        "main.scm",
        &format!("{FAILING}(lambda (request body) \"new\")\n"),
    );
    server.get_until("/", "new");
    // The process before may have taken the next connection still.
    let answer = loop {
        let (status, answer) = page.ask("variables", json!({"frame": page.frame()}));
        if status != 200 {
            assert_eq!(status, 403, "{answer}");
            break answer;
        }
    };
    let told = answer["error"].as_str().unwrap();
    assert!(told.contains("started again"), "{told}");
}

#[test]
fn others_than_this_machine_get_static_pages() {
    let words = ["--host", "0.0.0.0", "main.scm"];
    let mut server = serve(failing("handler"), &words);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    let fields = format!("Host: {}\r\n", server.address);
    let answer = server.get_with("/fail", &fields);
    assert!(
        answer.contains("since the server listens at 0.0.0.0"),
        "{answer}"
    );
    assert!(answer.contains("<code>price-of</code>"), "{answer}");
    assert!(!answer.contains("<script"), "{answer}");
    // The path belongs to the application.
    let (status, answer) = post(&server.address, &fields, "{}");
    assert_eq!((status, answer), (200, Json::from("nothing fails here")));
}

#[test]
fn nothing_can_be_looked_into_in_production() {
    for mode in ["production", "development"] {
        let last = format!(
            "(define server (start-server (with-middleware handler (answer-errors #:mode '{mode})) \
             #:port 0))\n\
             (write-string (string-append \"http://\" (car (server-addresses server)) \"/\") \
             (current-error-port))\n\
             (flush-output-port (current-error-port))\n\
             (server-wait server)"
        );
        let server = start(failing(&last), &["run"], &["main.scm"]);
        let fields = format!("Host: {}\r\n", server.address);
        let answer = server.get_with("/fail", &fields);
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        assert_eq!(
            answer.contains("<code>price-of</code>"),
            mode == "development"
        );
        assert!(
            !answer.contains("token") && !answer.contains("<script"),
            "{answer}"
        );
        let (status, answer) = post(&server.address, &fields, "{}");
        assert_eq!((status, answer), (200, Json::from("nothing fails here")));
    }
}
