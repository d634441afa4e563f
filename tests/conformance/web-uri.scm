;;; (canny web uri): parts, resolution, normal forms, percent-encoding, paths, forms.

(import (scheme base) (canny web uri) (canny test) (canny test properties))

(define (parts text)
  (let ((uri (string->uri text)))
    (list (uri-scheme uri) (uri-userinfo uri) (uri-host uri) (uri-port uri) (uri-path uri)
          (uri-query uri) (uri-fragment uri))))

(define-syntax position
  (syntax-rules ()
    ((_ expression)
     (guard (e ((uri-error? e) (uri-error-position e))) expression))))

(test-group "parts"
  (test '(http "u:p" "h.example" 8080 "/a/b" "c=d" "e")
        (parts "HTTP://u:p@h.example:8080/a/b?c=d#e"))
  (test '(mailto #f #f #f "a@b.example" #f #f) (parts "mailto:a@b.example"))
  (test '(urn #f #f #f "isbn:0-395-36341-1" #f #f) (parts "urn:isbn:0-395-36341-1"))
  (test '(file #f "" #f "/etc/hosts" #f #f) (parts "file:///etc/hosts"))
  (test '(#f #f #f #f "" #f #f) (parts ""))
  (test '(#f #f #f #f "" "" "") (parts "?#"))
  (test '(#f #f "host" #f "/x" #f #f) (parts "//host/x"))
  (test '(#f #f #f #f "a/b:c" #f #f) (parts "a/b:c"))
  (test '(http #f "h" #f "" "a/b?c" #f) (parts "http://h?a/b?c"))
  (test '(http #f "h" #f "/" #f #f) (parts "http://h:/"))
  (test '(http #f "bücher.example" #f "/" #f #f) (parts "http://bücher.example/"))
  (test '(http #f "xn--bcher-kva.example" #f "/" #f #f) (parts "http://xn--bcher-kva.example/"))
  (test "::1" (uri-host (string->uri "http://[::1]:80/")))
  (test "v1.x:y" (uri-host (string->uri "http://[v1.x:y]/")))
  (for-each
   (lambda (text) (test text (uri->string (string->uri text))))
   '("http://[::1]:80/a?b#c" "//h" "a:b" "" "?" "#" "http://h:80" "x://u@h/" "/a//b" "http://h?")))

(test-group "IPv6"
  (define (address? text) (and (string->uri/default (string-append "http://[" text "]/")) #t))
  (for-each (lambda (text) (test text #t (address? text)))
            '("::" "::1" "1::" "1:2:3:4:5:6:7:8" "1:2:3:4:5:6:7::" "::2:3:4:5:6:7:8" "a::B"
              "::ffff:192.0.2.1" "1:2:3:4:5:6:192.0.2.1" "fe80::1"))
  (for-each (lambda (text) (test text #f (address? text)))
            '("" ":" ":1" "1:" "1::2::3" "1:2:3:4:5:6:7" "1:2:3:4:5:6:7:8:9" "12345::" "g::"
              "::1.2.3"
              "::256.1.1.1" "::01.1.1.1" "1:2:3:4:5:6:7:192.0.2.1" ":::" "::1%eth0" "1.2.3.4")))

(test-group "wrong"
  (test 1 (position (string->uri "a b")))
  (test 8 (position (string->uri "http://a|b/")))
  (test 9 (position (string->uri "http://x/é")))
  (test 8 (position (string->uri "http://a\x85;b")))
  (test 2 (position (string->uri "/a%2")))
  (test 3 (position (string->uri "?a=%zz")))
  (test 3 (position (string->uri "x#a#b")))
  (test 9 (position (string->uri "http://h:65536/")))
  (test 10 (position (string->uri "http://h:8x/")))
  (test 7 (position (string->uri "http://[::1/")))
  (test 12 (position (string->uri "http://[::1]x/")))
  (test 1 (position (string->uri "1:2")))
  (test 0 (position (string->uri ":x")))
  (test #f (string->uri/default "a b"))
  (test 'none (string->uri/default "a b" 'none))
  (test "/" (uri-path (string->uri/default "/")))
  (test-error (string->uri 'a))
  (test-error (uri-scheme "http://a/"))
  (test #f (uri-error? 5)))

(test-group "making"
  (test "https://h:8443/a?b=c"
        (uri->string (make-uri #:scheme 'https #:host "h" #:port 8443 #:path "/a" #:query "b=c")))
  (test "http://[::1]/" (uri->string (make-uri #:scheme 'http #:host "::1" #:path "/")))
  ;; Paths that would read as something else.
  (test "/.//a" (uri->string (make-uri #:path "//a")))
  (test "./a:b" (uri->string (make-uri #:path "a:b")))
  (test "http://h/x?q"
        (uri->string (uri-with (string->uri "http://h/a?q#f") #:path "/x" #:fragment #f)))
  (test-error (make-uri #:path "a b"))
  (test-error (make-uri #:path "a\r\nb"))
  (test-error (make-uri #:host "a/b"))
  (test-error (make-uri #:host "h" #:path "a"))
  (test-error (make-uri #:scheme "http"))
  (test-error (make-uri #:scheme 'HTTP))
  (test-error (make-uri #:port 80))
  (test-error (make-uri #:host "h" #:port 70000)))

;; The examples of section 5.4 of RFC 3986.
(test-group "resolution"
  (define (resolved reference) (uri->string (resolve-uri "http://a/b/c/d;p?q" reference)))
  (for-each
   (lambda (row) (test (car row) (cadr row) (resolved (car row))))
   '(("g:h" "g:h") ("g" "http://a/b/c/g") ("./g" "http://a/b/c/g") ("g/" "http://a/b/c/g/")
     ("/g" "http://a/g") ("//g" "http://g") ("?y" "http://a/b/c/d;p?y") ("g?y" "http://a/b/c/g?y")
     ("#s" "http://a/b/c/d;p?q#s") ("g#s" "http://a/b/c/g#s") ("g?y#s" "http://a/b/c/g?y#s")
     (";x" "http://a/b/c/;x") ("g;x" "http://a/b/c/g;x") ("g;x?y#s" "http://a/b/c/g;x?y#s")
     ("" "http://a/b/c/d;p?q") ("." "http://a/b/c/") ("./" "http://a/b/c/") (".." "http://a/b/")
     ("../" "http://a/b/") ("../g" "http://a/b/g") ("../.." "http://a/") ("../../" "http://a/")
     ("../../g" "http://a/g") ("../../../g" "http://a/g") ("../../../../g" "http://a/g")
     ("/./g" "http://a/g") ("/../g" "http://a/g") ("g." "http://a/b/c/g.") (".g" "http://a/b/c/.g")
     ("g.." "http://a/b/c/g..") ("..g" "http://a/b/c/..g") ("./../g" "http://a/b/g")
     ("./g/." "http://a/b/c/g/") ("g/./h" "http://a/b/c/g/h") ("g/../h" "http://a/b/c/h")
     ("g;x=1/./y" "http://a/b/c/g;x=1/y") ("g;x=1/../y" "http://a/b/c/y")
     ("g?y/./x" "http://a/b/c/g?y/./x") ("g?y/../x" "http://a/b/c/g?y/../x")
     ("g#s/./x" "http://a/b/c/g#s/./x") ("g#s/../x" "http://a/b/c/g#s/../x") ("http:g" "http:g")))
  (test "http://h/x" (uri->string (resolve-uri "http://h" "x")))
  (test "http://u@h:81/x"
        (uri->string (resolve-uri (string->uri "http://u@h:81/a") (string->uri "x"))))
  (test "http://h//x" (uri->string (resolve-uri "http://h/" ".//x")))
  ;; Without a host, too.
  (test '("x:a/c" "x:/c" "x:c" "x:/" "x:a/" "x:?q")
        (map (lambda (row) (uri->string (resolve-uri (car row) (cdr row))))
             '(("x:a/b" . "c")
               ("x:a/b" . "../c")
               ("x:a" . "../c")
               ("x:a/b" . "..")
               ("x:a/b" . ".")
               ("x:" . "?q"))))
  (test-error (resolve-uri "/a" "b"))
  (test-error uri-error? (resolve-uri "http://h/" "a b")))

(test-group "normal forms"
  (test "http://us%C3%A9@example.com/~a/%2F?A#b"
        (uri->string (normalize-uri "HTTP://us%c3%a9@EXAMPLE.com:80/x/../%7Ea/./%2f?%41#%62")))
  (test "http://h/" (uri->string (normalize-uri "http://h")))
  (test "http://h:81/" (uri->string (normalize-uri "http://h:81")))
  (test "https://h/" (uri->string (normalize-uri "https://h:443/")))
  (test "http://%C3%A9/" (uri->string (normalize-uri "http://%c3%a9/")))
  (test "../a" (uri->string (normalize-uri "../a")))
  (test "https://h.example" (uri-origin (string->uri "https://u@H.example:443/x")))
  (test "http://h:81" (uri-origin (string->uri "http://h:81")))
  (test #f (uri-origin (string->uri "mailto:a")))
  (test '(443 80 81 #f)
        (map (lambda (text) (uri-effective-port (string->uri text)))
             '("https://h" "http://h" "http://h:81" "x://h"))))

(test-group "percent-encoding"
  (test "a%20b%2Fc" (percent-encode "a b/c"))
  (test "a%20b/c" (percent-encode "a b/c" #:keep "/"))
  (test "%E2%82%AC%F0%9F%98%80" (percent-encode "€😀"))
  (test "A-z_0.9~" (percent-encode "A-z_0.9~"))
  (test "€ /" (percent-decode "%E2%82%ac%20%2F"))
  (test "plain+é" (percent-decode "plain+é"))
  (test "éé" (percent-decode "é%C3%A9"))
  (test #u8(0 255 97) (percent-decode->bytevector "%00%FFa"))
  (test 2 (position (percent-decode "a€%")))
  (test 1 (position (percent-decode "a%2")))
  (test 4 (position (percent-decode "a%20%g0")))
  (test 2 (position (percent-decode "€a%C3x")))
  (test 0 (position (percent-decode "%ED%A0%80")))
  (test 0 (position (percent-decode "%C0%80")))
  (test "%zz\xFFFD;x%" (percent-decode "%zz%FFx%" #:malformed 'replace))
  (test "\xFFFD;\xFFFD;a" (percent-decode "%C0%80a" #:malformed 'replace))
  (test "\xFFFD;a" (percent-decode "%F0%9F%98a" #:malformed 'replace))
  (test-error (percent-decode "a" #:malformed 'ignore))
  (test-error (percent-encode 'a))
  (test "http://bücher.example/%C3%A4%20b?%22#x"
        (escape-uri "http://bücher.example/ä b?\"#x"))
  (test "/a%20b%25" (escape-uri "/a%20b%"))
  (test "http://[::1]/%5B%5D" (escape-uri "http://[::1]/[]")))

(test-property "what is encoded is decoded" ((text (strings)))
  (equal? text (percent-decode (percent-encode text))))

(test-property "what is escaped is a reference" ((text (strings)))
  (let ((escaped (escape-uri (string-append "/" text))))
    (or (string->uri/default escaped)
        ;; Two of these signs are none.
        (let loop ((chars (string->list escaped)) (count 0))
          (if (null? chars)
              (> count 1)
              (loop (cdr chars) (if (char=? (car chars) #\#) (+ count 1) count))))
        (string=? (substring escaped 0 (min 2 (string-length escaped))) "//"))))

(test-group "paths"
  (test '() (split-path ""))
  (test '("") (split-path "/"))
  (test '("a" "b/c" "é" "") (split-path "/a/b%2Fc/%C3%A9/"))
  (test '("a" "b") (split-path "a/b"))
  (test "/a/b%2Fc/%C3%A9/" (join-path '("a" "b/c" "é" "")))
  (test "" (join-path '()))
  (test '("\xFFFD;") (split-path "/%FF" #:malformed 'replace))
  (test-error uri-error? (split-path "/%FF"))
  (test-error (join-path "a")))

(test-property "what is joined is split" ((segments (lists-of (strings))))
  (or (null? segments) (equal? segments (split-path (join-path segments)))))

(test-group "forms"
  (test '() (query->alist ""))
  (test '(("a" . "b c") ("d" . "") ("" . "e") ("f" . "é=") ("%zz" . "\xFFFD;"))
        (query->alist "&a=b+c&&d&=e&f=%C3%A9=&%zz=%FF&"))
  (test '(("a" . "1") ("b" . "2")) (query->alist "a=1&b=2" #:limit 2))
  (test 8 (position (query->alist "a=1&b=2&c" #:limit 2)))
  (test "a=b+c%26%C3%A9&x=5&y=*-._%7E" (alist->query '((a . "b c&é") ("x" . 5) ("y" . "*-._~"))))
  (test "" (alist->query '()))
  (test-error (alist->query '((a . #f))))
  (test-error (alist->query '(5)))
  (test-error (query->alist "a" #:limit 'many)))

(test-property "what is written as a form is read"
               ((fields (lists-of (mapped cons (strings) (strings)))))
               (equal? fields (query->alist (alist->query fields))))

;; These would not end if the time grew with the square of the length.
(test-group "long ones"
  (define (repeated text)
    (apply string-append (make-list (quotient 65536 (string-length text)) text)))
  (for-each
   (lambda (piece)
     (let ((text (repeated piece)))
       (string->uri/default text)
       (string->uri/default (string-append "http://" text))
       (string->uri/default (string-append "http://[" text))
       (let ((uri (string->uri/default (string-append "http://h/" text))))
         (if uri
             (begin
               (normalize-uri uri)
               (resolve-uri "http://a/b" uri))))
       (percent-decode text #:malformed 'replace)
       (split-path text #:malformed 'replace)
       (query->alist text)
       (escape-uri text)
       (test piece #t #t)))
   '("a" "/" "../" "./" "%" "%41" "%FF" ":" "::" "1:" "@" "[" "&" "=" "&=" "+" "é" "?" "#" "a."
     "1.")))

(test-finish)
