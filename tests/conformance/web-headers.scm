;;; (canny web headers): values of headers, both ways; dates, cookies, negotiation.

(import (scheme base) (canny web headers) (canny web uri) (canny test) (canny test properties))

(define-syntax position
  (syntax-rules ()
    ((_ name text)
     (guard (e ((header-error? e)
                (and (eq? 'name (header-error-name e)) (header-error-position e))))
       (parse-header 'name text)))))

;; Texts with their values; what is written reads as the same value.
(define-syntax test-header
  (syntax-rules ()
    ((_ name (text value) ...)
     (test-group (symbol->string 'name)
       (begin
         (test text value (parse-header 'name text))
         (test text value (parse-header 'name (header->string 'name (parse-header 'name text)))))
       ...))))

(test-header content-type
  ("text/html; charset=utf-8" '(text/html (charset . "utf-8")))
  ("Text/HTML ;Charset=\"ut\\f-8\" ; x=y" '(text/html (charset . "utf-8") (x . "y")))
  ("application/json" '(application/json))
  ("application/vnd.api+json;;" '(application/vnd.api+json)))
(test-header accept
  ("" '())
  ("text/html;level=1;q=0.5, */*;q=0.1, application/json"
   '(((application/json) . 1000) ((text/html (level . "1")) . 500) ((*/*) . 100)))
  ("a/b, c/d;q=1.000, e/f;q=0" '(((a/b) . 1000) ((c/d) . 1000) ((e/f) . 0)))
  ("a/b;q=0.5;ext=1" '(((a/b) . 500))))
(test-header accept-encoding
  ("gzip;q=0.5, BR, *;q=0" '(("br" . 1000) ("gzip" . 500) ("*" . 0)))
  ("a, b, c" '(("a" . 1000) ("b" . 1000) ("c" . 1000)))
  ("a;q=0.12 ,, b;q=0.125,c ; Q=1" '(("c" . 1000) ("b" . 125) ("a" . 120))))
(test-header accept-language ("de-CH, en;q=0.7" '(("de-ch" . 1000) ("en" . 700))))
(test-header te ("trailers, gzip;q=0.5" '(("trailers" . 1000) ("gzip" . 500))))
(test-header accept-ranges ("bytes" '(bytes)))
(test-header accept-post ("text/turtle, a/b;c=d" '((text/turtle) (a/b (c . "d")))))
(test-header age ("15" 15))
(test-header allow ("GET, HEAD" '(GET HEAD)) ("" '()))
(test-header alt-svc
  ("clear" 'clear)
  ("h2=\":443\"; ma=3600, h3=\":8443\"" '((h2 ":443" (ma . "3600")) (h3 ":8443"))))
(test-header authorization
  ("Basic dXNlcjpwYXNz" '(basic . "user:pass"))
  ("basic dXNlcjpww6Rzcw==" '(basic . "user:päss"))
  ;; Latin-1, as old programs send it.
  ("Basic dTrk" '(basic . "u:ä"))
  ("Bearer abc.def-_~+/==" '(bearer . "abc.def-_~+/=="))
  ("Digest username=\"M, \\\"x\\\"\", qop=auth, nc=00000001"
   '(digest (username . "M, \"x\"") (qop . "auth") (nc . "00000001")))
  ("Negotiate" '(negotiate)))
(test-header www-authenticate
  ("Basic realm=\"a, b\"" '((basic (realm . "a, b"))))
  ("New realm=\"x\", type=1, Basic realm=\"y\", charset=\"UTF-8\",Negotiate abc==, Foo , , Bar a=b"
   '((new (realm . "x") (type . "1")) (basic (realm . "y") (charset . "UTF-8"))
     (negotiate . "abc==") (foo) (bar (a . "b")))))
(test-header cache-control
  ("no-store" '((no-store . #t)))
  ("Max-Age=60, private=\"x, Y\", foo=bar, no-cache"
   '((max-age . 60) (private x y) (foo . "bar") (no-cache . #t)))
  ("max-age=99999999999999999999" '((max-age . 2147483648))))
(test-header connection ("Keep-Alive, Upgrade" '(keep-alive upgrade)))
(test-header content-disposition
  ("attachment" '(attachment))
  ("form-data; name=\"a\\\"b\"" '(form-data (name . "a\"b")))
  ("Attachment; filename=\"e\"; filename*=UTF-8''%e2%82%ac%20x" '(attachment (filename . "€ x")))
  ("attachment; filename*=iso-8859-1'en'%A3; a=b" '(attachment (filename . "£") (a . "b")))
  ("attachment; filename=e; filename*=UTF-8''%FF" '(attachment (filename . "e"))))
(test-header content-encoding ("GZIP, br" '(gzip br)))
(test-header content-language ("de, en-GB" '("de" "en-GB")))
(test-header content-length ("0" 0) (" 1234 " 1234))
(test-header content-range
  ("bytes 0-499/1234" '(bytes (0 . 499) 1234))
  ("bytes 0-499/*" '(bytes (0 . 499) #f))
  ("bytes */1234" '(bytes #f 1234)))
(test-header content-security-policy
  ("default-src 'self'; img-src * data:;" '(((default-src "'self'") (img-src "*" "data:"))))
  ("a b, c" '(((a "b")) ((c)))))
(test-header cookie
  ("" '())
  ("a=b" '(("a" . "b")))
  ("a=b; c=d=e;f=\"g\"" '(("a" . "b") ("c" . "d=e") ("f" . "\"g\""))))
(test-header date ("Sun, 06 Nov 1994 08:49:37 GMT" 784111777))
(test-header etag ("\"abc\"" '("abc" . #t)) ("W/\"\"" '("" . #f)))
(test-header expect ("100-continue" "100-continue"))
(test-header expires ("0" 0) ("-1" 0) ("Sun, 06 Nov 1994 08:49:37 GMT" 784111777))
(test-header forwarded
  ("for=192.0.2.43; proto=https, for=\"[2001:db8::1]:80\""
   '(((for . "192.0.2.43") (proto . "https")) ((for . "[2001:db8::1]:80")))))
(test-header host
  ("example.com" '("example.com" . #f))
  ("[::1]:8080" '("::1" . 8080))
  ("" '("" . #f)))
(test-header if-match ("*" '*) ("\"a\"" '(("a" . #t))))
(test-header if-none-match ("\"a,b\" , W/\"c\"" '(("a,b" . #t) ("c" . #f))))
(test-header if-modified-since ("Sunday, 06-Nov-94 08:49:37 GMT" 784111777))
(test-header if-range ("\"a\"" '("a" . #t)) ("Sun Nov  6 08:49:37 1994" 784111777))
(test-header keep-alive ("timeout=5, max=100" '((timeout . "5") (max . "100"))))
(test-header max-forwards ("3" 3))
(test-header origin
  ("null" 'null)
  ("https://Example.com:443" "https://example.com")
  ("http://[::1]:81" "http://[::1]:81"))
(test-header permissions-policy
  ("geolocation=(self \"https://x\"), camera=()"
   '((geolocation ((self) ("https://x"))) (camera ()))))
(test-header priority ("u=1, i" '((u 1) (i #t))))
(test-header range
  ("bytes=0-499" '(bytes (0 . 499)))
  ("bytes=0-0, 500- ,-5" '(bytes (0 . 0) (500 . #f) (#f . 5))))
(test-header retry-after
  ("120" '(after . 120))
  ("Sun, 06 Nov 1994 08:49:37 GMT" '(at . 784111777)))
(test-header sec-fetch-mode ("cors" 'cors))
(test-header sec-websocket-extensions
  ("permessage-deflate; client_max_window_bits; x=1"
   '((permessage-deflate (client_max_window_bits . #f) (x . "1")))))
(test-header sec-websocket-key ("dGhlIHNhbXBsZSBub25jZQ==" "dGhlIHNhbXBsZSBub25jZQ=="))
(test-header sec-websocket-protocol ("chat, v2.x" '("chat" "v2.x")))
(test-header sec-websocket-version ("13, 8" '(13 8)))
(test-header server ("Canny/1 (x)" "Canny/1 (x)"))
(test-header strict-transport-security
  ("max-age=31536000; includeSubDomains" '((max-age . 31536000) (includesubdomains . #t))))
(test-header transfer-encoding ("gzip, chunked" '((gzip) (chunked))))
(test-header upgrade ("websocket, HTTP/2.0" '("websocket" "HTTP/2.0")))
(test-header vary ("*" '*) ("Accept, Cookie" '(accept cookie)) ("Accept, *" '*))
(test-header via
  ("1.1 a, HTTP/1.0 b:80 (c (d) \\))" '(("1.1" "a" #f) ("HTTP/1.0" "b:80" "c (d) \\)"))))
(test-header warning
  ("110 a \"b \\\"c\"" '((110 "a" "b \"c" #f)))
  ("110 a \"b\" \"Sun, 06 Nov 1994 08:49:37 GMT\", 112 - \"d\""
   '((110 "a" "b" 784111777) (112 "-" "d" #f))))
(test-header x-content-type-options ("nosniff" 'nosniff))
(test-header x-forwarded-for ("192.0.2.1, ::1" '("192.0.2.1" "::1")))
(test-header x-some-header ("  any thing " "any thing"))

(test-group "references"
  (test "/a?b" (uri->string (parse-header 'location " /a?b ")))
  (test 'https (uri-scheme (parse-header 'referer "https://x/")))
  (test "/a" (header->string 'location "/a"))
  (test "http://h/" (header->string 'location (string->uri "http://h/")))
  (let ((links
         (parse-header 'link "</2>; rel=\"next\"; title*=UTF-8'de'%C3%A4, <http://a/>;rel=x")))
    (test '("/2" "http://a/") (map (lambda (link) (uri->string (car link))) links))
    (test '(((title . "ä") (rel . "next")) ((rel . "x"))) (map cdr links))
    (test "</2>; title*=UTF-8''%C3%A4; rel=\"next\", <http://a/>; rel=\"x\""
          (header->string 'link links))))

(test-group "wrong"
  (test 4 (position content-type "text"))
  (test 5 (position content-type "text/"))
  (test 10 (position content-type "text/html charset"))
  (test 18 (position content-type "text/html;charset="))
  (test 12 (position content-type "text/html;a=\"b"))
  (test 0 (position content-type ""))
  (test 7 (position accept-encoding "gzip;q=1.001"))
  (test 7 (position accept-encoding "gzip;q="))
  (test 5 (position accept-encoding "gzip;x=1"))
  (test 2 (position accept-encoding "a b"))
  (test 2 (position content-length "12x"))
  (test 0 (position content-length "-1"))
  (test 1 (position content-length "1,1"))
  (test 0 (position content-length "99999999999999999999"))
  (test 0 (position content-length ""))
  (test 8 (position cache-control "max-age=x"))
  (test 0 (position date "today"))
  (test 0 (position etag "abc"))
  (test 0 (position etag "\"abc"))
  (test 4 (position if-none-match "\"a\" \"b\""))
  (test 6 (position range "bytes=5-3"))
  (test 6 (position range "bytes=-"))
  (test 6 (position range "bytes="))
  (test 5 (position range "bytes"))
  (test 8 (position range "bytes=1-x"))
  (test 9 (position content-range "bytes 0-9"))
  (test 5 (position authorization "Basic "))
  (test 6 (position authorization "Bearer  "))
  (test 0 (position alt-svc "h2"))
  (test 0 (position alt-svc "clear, h2=\":1\""))
  (test 6 (position authorization "Basic !!"))
  (test 6 (position authorization "Basic YWJj"))
  (test 0 (position www-authenticate "realm=x"))
  (test 0 (position link "a"))
  (test 0 (position link "<a"))
  (test 1 (position link "<a b>"))
  (test 3 (position forwarded "for"))
  (test 0 (position host "a/b"))
  (test 0 (position host "u@h"))
  (test 0 (position origin "example.com"))
  (test 0 (position origin "http://a/"))
  (test 3 (position via "1.1"))
  (test 6 (position via "1.1 a (b"))
  (test 0 (position sec-websocket-key "dGhl"))
  (test 0 (position location "a b"))
  (test 3 (position server "a b\nc"))
  (test-error (parse-header "content-type" "text/html"))
  (test-error (parse-header 'content-type 5))
  ;; Nothing of a secret is in the condition.
  (test #f (guard (e (#t (let loop ((rest (error-object-irritants e)))
                           (and (pair? rest)
                                (or (string? (car rest)) (loop (cdr rest)))))))
             (parse-header 'authorization "Basic secret!"))))

(test-group "values that cannot be written"
  (define-syntax refused
    (syntax-rules ()
      ((_ name value)
       (test (symbol->string 'name)
             '(name #f)
             (guard (e ((header-error? e) (list (header-error-name e) (header-error-position e))))
               (header->string 'name value))))))
  (refused x-any "a\r\nSet-Cookie: b=c")
  (refused x-any "a\nb")
  (refused x-any "a\x0;b")
  (refused x-any 'a)
  (refused content-type '(text/html (charset . "a\r\nb")))
  (refused content-type '(html))
  (refused content-type '(text/html (a . #t)))
  (refused content-disposition '(attachment (filename . "a\nb")))
  (refused allow '(GET |a b|))
  (refused content-length -1)
  (refused content-length "5")
  (refused date "today")
  (refused date 999999999999999)
  (refused etag '("a\"b" . #t))
  (refused cookie '(("a b" . "c")))
  (refused cookie '(("a" . "b;c")))
  (refused cookie '(("a" . "b c")))
  (refused location "a b")
  (refused location "/a\r\nb: c")
  (refused range '(bytes))
  (refused range '(bytes (#f . #f)))
  (refused authorization '(basic . "nobody"))
  (refused authorization '(bearer . "a b"))
  (refused accept-encoding '(("gzip" . 1001)))
  (refused cache-control '((max-age . 1.5)))
  (refused host '("a b" . #f))
  (refused origin "example.com")
  (refused via '(("1.1" "a b")))
  (refused set-cookie "a=b")
  (refused content-security-policy '(((default-src "a;b"))))
  (refused link '("a"))
  (test "attachment; filename=\"_.txt\"; filename*=UTF-8''%E2%82%AC.txt"
        (header->string 'content-disposition '(attachment (filename . "€.txt"))))
  (test "Digest username=\"a\", qop=auth" (header->string 'authorization
                                                          '(digest (username . "a")
                                                            (qop . "auth"))))
  (test "Basic realm=\"a\"" (header->string 'www-authenticate '((basic (realm . "a"))))))

(test-group "dates"
  (test 784111777 (string->http-date "Sun, 06 Nov 1994 08:49:37 GMT"))
  (test 784111777 (string->http-date "Sunday, 06-Nov-94 08:49:37 GMT"))
  (test 784111777 (string->http-date " Sun Nov  6 08:49:37 1994"))
  (test 0 (string->http-date "Thu, 01 Jan 1970 00:00:00 GMT"))
  (test 951782400 (string->http-date "Tue, 29 Feb 2000 00:00:00 GMT"))
  (test 1483228800 (string->http-date "Sat, 31 Dec 2016 23:59:60 GMT"))
  (test "Sun, 06 Nov 1994 08:49:37 GMT" (http-date->string 784111777))
  (test "Wed, 31 Dec 1969 23:59:59 GMT" (http-date->string -1))
  (test "Fri, 31 Dec 9999 23:59:59 GMT" (http-date->string 253402300799))
  (test #t (> (current-http-date) 1700000000))
  (for-each
   (lambda (text) (test-error header-error? (string->http-date text)))
   '("" "Sun, 06 Nov 1994 08:49:37" "Sun, 31 Feb 1994 08:49:37 GMT" "Sun, 06 Nov 1994 24:49:37 GMT"
     "Sun, 06 Nov 1994 08:60:37 GMT" "Sun, 06 Nov 1994 08:49:61 GMT" "Xxx, 06 Nov 1994 08:49:37 GMT"
     "Sun, 06 Nvo 1994 08:49:37 GMT" "Sun, 06 Nov 1994 08:49:37 UTC" "Sun, 6 Nov 1994 08:49:37 GMT"
     "Tue, 29 Feb 1900 00:00:00 GMT" "Sunday, 06-Nov-1994 08:49:37 GMT" "Sun Nov 6 08:49:37 1994"))
  (test-error (http-date->string 1.5))
  (test-error (http-date->string 253402300800)))

(test-property "a date that is written is read" ((date (integers -62167219200 253402300799)))
  (= date (string->http-date (http-date->string date))))

(test-group "cookies that are set"
  (define (parsed text)
    (let ((cookie (parse-header 'set-cookie text)))
      (list (set-cookie-name cookie) (set-cookie-value cookie) (set-cookie-expires cookie)
            (set-cookie-max-age cookie) (set-cookie-domain cookie) (set-cookie-path cookie)
            (set-cookie-secure? cookie) (set-cookie-http-only? cookie)
            (set-cookie-same-site cookie) (set-cookie-partitioned? cookie)
            (set-cookie-extensions cookie))))
  (test '("a" "b" #f #f #f #f #f #f #f #f ()) (parsed "a=b"))
  (test '("sid" "31d4=" 1623233894 -5 "example.com" "/x" #t #t lax #t (("foo" . "bar")))
        (parsed
         (string-append "sid = 31d4= ; Path=/x; domain=.Example.COM; Max-Age=-5; Secure; HttpOnly"
                        "; Expires=Wed, 09 Jun 2021 10:18:14 GMT; SameSite=LAX; Partitioned; \
                         foo=bar")))
  (test '("a" "b" 1623233894 #f #f #f #f #f #f #f ())
        (parsed "a=b; expires=Wednesday, 09-Jun-21 10:18:14 GMT; path=x; max-age=x; samesite=y"))
  (test '("a" "b" #f #f #f #f #f #f #f #f ()) (parsed "a=b; expires=never;;"))
  (test '("" "b" #f #f #f #f #f #f #f #f ()) (parsed "b"))
  (test 0 (position set-cookie "; path=/"))
  (test 3 (position set-cookie "a=b\x1;"))
  (test "a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=60; Domain=x.org; Path=/; Secure; \
         HttpOnly; SameSite=None; Partitioned"
        (header->string 'set-cookie
                        (make-set-cookie "a" "b" #:expires 784111777 #:max-age 60 #:domain "x.org"
                                         #:path "/" #:secure? #t #:http-only? #t #:same-site 'none
                                         #:partitioned? #t)))
  (test "__Host-a=b; Path=/; Secure"
        (header->string 'set-cookie (make-set-cookie "__Host-a" "b" #:path "/" #:secure? #t)))
  (for-each
   (lambda (cookie) (test-error header-error? (header->string 'set-cookie cookie)))
   (list (make-set-cookie "a b" "c")
         (make-set-cookie "" "c")
         (make-set-cookie "a" "b;c")
         (make-set-cookie "a" "b\r\nc")
         (make-set-cookie "a" "b" #:path "/;x")
         (make-set-cookie "a" "b" #:domain "x\ny")
         (make-set-cookie "a" "b" #:same-site 'none)
         (make-set-cookie "a" "b" #:partitioned? #t)
         (make-set-cookie "__Secure-a" "b")
         (make-set-cookie "__Host-a" "b" #:secure? #t)
         (make-set-cookie "__Host-a" "b" #:secure? #t #:path "/" #:domain "x")))
  (test-error (make-set-cookie "a" 5))
  (test-error (make-set-cookie "a" "b" #:same-site 'some))
  (test-error (make-set-cookie "a" "b" #:max-age "5")))

(test-group "negotiation"
  (define types '("text/html" "application/json"))
  (define (chosen accept) (choose-media-type accept types))
  (test "text/html" (chosen #f))
  (test "text/html" (chosen "*/*"))
  (test "application/json" (chosen "application/json, */*;q=0.5"))
  (test "application/json" (chosen "text/*;q=0.5, application/*"))
  (test "application/json" (chosen "*/*, text/html;q=0"))
  (test "text/html" (chosen (parse-header 'accept "text/html;q=0.1")))
  (test #f (chosen "image/png"))
  (test #f (chosen "*/*;q=0"))
  (test "text/html;level=1"
        (choose-media-type "text/html;level=1, text/html;q=0.5" '("text/html" "text/html;level=1")))
  (test #f (choose-media-type "text/html" '()))
  (test '("identity" "gzip" "br" "br" "identity" #f #f "identity" "identity" "gzip")
        (map (lambda (accept) (choose-encoding accept '("br" "gzip")))
             '(#f "gzip" "*" "gzip, br" "" "identity;q=0" "*;q=0" "gzip;q=0"
               "identity, gzip;q=0.5" "br;q=0.5, GZIP")))
  (test '("en-GB" "de" "en-GB" "de" #f "en-GB" "en-GB" #f)
        (map (lambda (accept) (choose-language accept '("en-GB" "de")))
             '(#f "de" "en" "de-CH" "fr" "*" "de;q=0.5, en;q=0.7" "de-CH, de;q=0")))
  ;; Malformed fields say nothing.
  (test "identity" (choose-encoding "gzip;q=2" '("gzip")))
  (test "text/html" (choose-media-type "text/" '("text/html" "text/plain")))
  (test "en" (choose-language "@" '("en" "de")))
  (test-error (choose-encoding 5 '("gzip")))
  (test #t (entity-tag-matches? '("a" . #t) '(("b" . #t) ("a" . #t))))
  (test #f (entity-tag-matches? '("a" . #t) '(("a" . #f))))
  (test #t (entity-tag-matches? '("a" . #t) '(("a" . #f)) #:weak? #t))
  (test #t (entity-tag-matches? '("a" . #f) '*)))

(test-group "headers of a program"
  (test #f (header-known? 'x-numbers))
  (declare-header! 'x-numbers
                   (lambda (text)
                     (or (string->number text)
                         (raise-header-error 'x-numbers 0 "a number is expected")))
                   number->string)
  (test #t (header-known? 'x-numbers))
  (test #t (header-known? 'content-type))
  (test 5/3 (parse-header 'x-numbers "5/3"))
  (test 0 (position x-numbers "a"))
  (test "5/3" (header->string 'x-numbers 5/3))
  (declare-header! 'x-bad values (lambda (value) (string-append value "\n")))
  (test-error header-error? (header->string 'x-bad "a"))
  (test-error (declare-header! 'X-Upper values values))
  (test-error (declare-header! '|a b| values values)))

;; Any text is parsed or refused, and every parsed value is written or refused.
(define all-names
  '(content-type accept accept-encoding allow alt-svc authorization www-authenticate cache-control
    content-disposition content-length content-range content-security-policy cookie date etag
    expires forwarded host if-none-match if-range link location origin permissions-policy
    priority range retry-after sec-ch-ua sec-websocket-extensions sec-websocket-key
    sec-websocket-version set-cookie strict-transport-security te transfer-encoding upgrade vary
    via warning x-forwarded-for x-unknown))

(define pieces
  '#("a" "b" "=" "," ";" " " "\"" "\\" "/" "*" "-" "0" "1" "9" "q=" "q=0.5" "W/" "(" ")" "<" ">" ":"
     "@"
     "?1" "%41" "'" "*=UTF-8''" "bytes" "bytes=" "basic " "dTpw" "é" "." "\t" "{" "max-age="
     "http://"
     "Sun, 06 Nov 1994 08:49:37 GMT" "[::1]" "\x0;" "\n"))

(define (parsed-or-refused? text)
  (let loop ((names all-names))
    (or (null? names)
        (begin
          (guard (e ((header-error? e) #f))
            (header->string (car names) (parse-header (car names) text)))
          (loop (cdr names))))))

(test-property "anything is parsed or refused" ((text (strings)))
  (parsed-or-refused? text))

(test-property "anything that looks like headers is parsed or refused"
               ((choices (lists-of (integers 0 (- (vector-length pieces) 1)))))
               (parsed-or-refused?
                (apply string-append (map (lambda (k) (vector-ref pieces k)) choices))))

;; These would not end if the time grew with the square of the length.
(test-group "long ones"
  (define (repeated text)
    (apply string-append (make-list (quotient 65536 (string-length text)) text)))
  (for-each
   (lambda (start)
     (for-each
      (lambda (piece)
        (let ((text (string-append start (repeated piece))))
          (for-each
           (lambda (name)
             (guard (e ((header-error? e) #f))
               (header->string name (parse-header name text))))
           all-names)))
      '("a" "," " " ";" ";a=b" "a, " "\"" "\\" "\"a\"," "(" "=" "a=b," "a b " "a;q=0.5," "a/b;c=d,"
        "1-2,"
        "<a>," "%41" ":" "@" "é" "?1," "(a b),")))
   '("" "bytes=" "a/b;c=\""))
  (test #t #t))

(test-finish)
