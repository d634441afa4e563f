;;; (canny sxml), (canny html) and (canny atom): markup written, read, searched and changed.

(import (scheme base) (scheme char) (srfi 27) (canny sxml) (canny atom) (canny test)
        (only (canny html) html json-script))

;; The path to what is refused, and #f where nothing is.
(define (refused node)
  (guard (e ((markup-error? e) (markup-error-path e)))
    (sxml->html node)
    #f))

(define (refused-in-xml node)
  (guard (e ((markup-error? e) (markup-error-path e)))
    (sxml->xml node)
    #f))

(define (place text)
  (guard (e ((markup-error? e) (list (markup-error-line e) (markup-error-column e))))
    (xml->sxml text)))

(define (deep count)
  (let loop ((count count) (node "x"))
    (if (= count 0) node (loop (- count 1) (list 'div node)))))

(test-group "HTML is written"
  (test "<p class=\"x\">a &lt; b &amp; \"c\" &gt;</p>"
        (sxml->html '(p (@ (class "x")) "a < b & \"c\" >")))
  (test "<p title=\"&quot;&lt;&gt;&amp;\"></p>" (sxml->html '(p (@ (title "\"<>&")))))
  (test "<br><img src=\"a\">" (sxml->html '((br) (img (@ (src "a"))))))
  (test "<input checked value=\"\">"
        (sxml->html '(input (@ (checked #t) (disabled #f) (value "")))))
  (test "<input checked>" (sxml->html '(input (@ (checked)))))
  (test "<p>1-25xsymbol1.5</p>" (sxml->html '(p 1 -25 #\x symbol 1.5)))
  (test "<p>abc</p>" (sxml->html '(p ("a" ("b") ()) #f "c")))
  (test "<a href=\"/users/7\">x</a>" (sxml->html '(a (@ (href "/users/" 7)) "x")))
  (test "<p>é→𝄞&lt;</p>" (sxml->html '(p "é→𝄞<")))
  (test "<p>\xfffd;&#13;</p>" (sxml->html '(p "\x0;\r")))
  (test "<p><b></p>" (sxml->html '(p (*raw* "<b>"))))
  (test "<!-- a --><p></p>" (sxml->html '(*TOP* (*COMMENT* " a ") (p))))
  (test "<!DOCTYPE html>\n<p></p>" (sxml->html '(p) #:doctype #t))
  (test "<!DOCTYPE html><p></p>" (sxml->html '(*TOP* (*DOCTYPE* "html") (p))))
  (test "<pre>\n\na</pre>" (sxml->html '(pre "\na")))
  (test "<script>if (a < b) f('</p>')</script>"
        (sxml->html '(script "if (a < b) f('</p>')")))
  (test "<svg viewBox=\"0\"><title><b></b></title></svg>"
        (sxml->html '(svg (@ (viewBox "0")) (title (b)))))
  (test "<p @click=\"f\"></p>" (sxml->html '(p (@ (@click "f")))))
  (test (string->utf8 "<p>→</p>") (sxml->html-bytes '(p "→")))
  (test "<p>→</p>"
        (let ((port (open-output-string)))
          (sxml->html '(p "→") port)
          (get-output-string port)))
  (test (string->utf8 "<p>→</p>")
        (let ((port (open-output-bytevector)))
          (sxml->html '(p "→") port)
          (get-output-bytevector port)))
  (test 1100001
        (string-length (sxml->html (deep 100000)))))

(test-group "what is no SXML is refused with its place"
  (test "html/body/p[2]" (refused '(html (body (p "a") (p #t)))))
  (test "p" (refused '(p #(1 2))))
  (test "p/b" (refused '(p (b . "x"))))
  (test "br" (refused '(br "x")))
  (test "p" (refused '(p (@ (a "1") (a "2")))))
  (test "p" (refused '(p (@ ("a" "1")))))
  (test "p" (refused '(p (@ (|a b| "1")))))
  (test "p/x y" (refused '(p (|x y| "1"))))
  (test "p" (refused '(p "x" (@ (a "1")))))
  (test "p" (refused '(p (*COMMENT* "a--><script>"))))
  (test "p" (refused '(p (*COMMENT* ">"))))
  (test "p" (refused '(p (*PI* php "a>"))))
  (test "title/b" (refused '(title (b "x"))))
  (test "p" (refused '(p (*DOCTYPE* "html"))))
  (test "plaintext" (refused '(plaintext "x")))
  (test "p" (let ((list (list 'p "x")))
              (set-cdr! (cdr list) list)
              (refused list)))
  (test #t (let ((list (list 'p "x")))
             (set-car! (cdr list) list)
             (string? (refused list)))))

(test-group "what would be a program is refused"
  (test "a" (refused '(a (@ (href "javascript:alert(1)")))))
  (test "a" (refused '(a (@ (href " JaVa\nscript" ":alert(1)")))))
  (test "a" (refused '(a (@ (href "vbscript:x")))))
  (test "iframe" (refused '(iframe (@ (src "data:text/html,x")))))
  (test "button" (refused '(button (@ (formaction "javascript:x")))))
  (test "svg/a" (refused '(svg (a (@ (xlink:href "javascript:x"))))))
  (test "p" (refused '(p (@ (onclick "f()")))))
  (test "iframe" (refused '(iframe (@ (srcdoc "<p>")))))
  (test #f (refused '(img (@ (src "data:image/png;base64,AA==")))))
  (test #f (refused '(a (@ (href "/?javascript:")))))
  (test "meta"
        (refused '(meta (@ (http-equiv "refresh") (content "0;url=javascript:alert(1)")))))
  (test "meta" (refused '(meta (@ (content "0," "javascript:x") (http-equiv "Refresh")))))
  (test "meta"
        (refused '(meta (@ (http-equiv (*trusted* "refresh")) (content "0;URL='data:,x")))))
  (test #f (refused '(meta (@ (http-equiv "refresh") (content "5; url=/javascript:")))))
  (test #f (refused '(meta (@ (name "description") (content "3; javascript: a language")))))
  (test #f (refused '(meta (@ (http-equiv "refresh") (content (*trusted* "0;javascript:x"))))))
  (test "<a href=\"javascript:f()\"></a>"
        (sxml->html '(a (@ (href (*trusted* "javascript:f()"))))))
  (test "<p onclick=\"f(&quot;a&quot;)\"></p>"
        (sxml->html '(p (@ (onclick (*trusted* "f(\"a\")"))))))
  (test "script" (refused '(script "a</ScRiPt >")))
  (test "script" (refused '(script "a</sc" "ript")))
  (test "script" (refused '(script "<!-- <script>")))
  (test "style" (refused '(style "</style><img>")))
  (test "svg/style" (refused '(svg (style "<img>"))))
  (test "noscript/style" (refused '(noscript (style "</noscript>"))))
  (test "noscript" (refused '(noscript (*COMMENT* "</noscript><p>"))))
  (test "math/p/style" (refused '(math (p (style "a<b")))))
  (test "textarea/style" (refused '(textarea (style "</textarea>"))))
  (test "<script>var x={\"a\":\"\\u003c/script\\u003e\"}</script>"
        (sxml->html `(script "var x=" ,(json-script '((a . "</script>")))))))

;; Trees whose texts would be markup; what is written has none of it, however it is read.
(define source (make-random-source))
(random-source-pseudo-randomize! source 1 2)
(define random (random-source-make-integers source))

(define (pick vector) (vector-ref vector (random (vector-length vector))))

(define attacks
  '#("</style><evil>" "<evil>" "</title><evil>" "\"><evil>" "--><evil>" "</noscript><evil>"
     "]]><evil>" "</svg><evil>" "<!--<evil>" "</script><evil>" "</textarea><evil>"
     "<![CDATA[<evil>" "</xmp><evil>" "</template><evil>" "--!><evil>" "'><evil>" "&lt;evil>"
     "<!--" "-->" "</table><evil>" "`><evil>" "<evil" "/><evil>" "</desc><evil>" "x"))

(define tags
  '#(p div b svg math style script title noscript textarea template select option table tr td mi
     mtext annotation-xml desc foreignObject iframe xmp noembed form a font pre listing span
     mglyph malignmark body head html frameset button ruby))

(define (random-node depth)
  (case (random 8)
    ((0 1) (pick attacks))
    ((2) `(*COMMENT* ,(pick attacks)))
    (else
     (if (= depth 0)
         (pick attacks)
         `(,(pick tags)
           ,@(if (= 0 (random 2))
                 `((@ (,(pick '#(title class href id alt value src style)) ,(pick attacks))))
                 '())
           ,@(let loop ((count (random 4)) (nodes '()))
               (if (= count 0)
                   nodes
                   (loop (- count 1) (cons (random-node (- depth 1)) nodes)))))))))

(define (breaks-out? node)
  (let ((text (guard (e ((markup-error? e) #f)) (sxml->html node))))
    (and text
         (let loop ((contexts '(#f div svg)))
           (and (pair? contexts)
                (or (pair? (sxml-select (html->sxml text #:context (car contexts)) "//evil"))
                    (loop (cdr contexts))))))))

(test-group "nothing breaks out of a random tree"
  (test #f (let loop ((count 3000))
             (and (> count 0)
                  (let ((node (random-node 5)))
                    (if (breaks-out? node) node (loop (- count 1))))))))

(test-group "XML is written"
  (test "<a b=\"1\"><c/>x</a>" (sxml->xml '(a (@ (b 1)) (c) "x")))
  (test "<a b=\"b\"/>" (sxml->xml '(a (@ (b #t) (c #f)))))
  (test "<a b=\"&#10;&#9;&quot;\">&lt;&#13;\n</a>" (sxml->xml '(a (@ (b "\n\t\"")) "<\r\n")))
  (test "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a/>"
        (sxml->xml '(a) #:declaration #t))
  (test "<script>a&lt;b</script>" (sxml->xml '(script "a<b")))
  (test "<?p a>b?><a/>" (sxml->xml '(*TOP* (*PI* p "a>b") (a))))
  (test "<x:a xmlns:x=\"http://x\"><x:b/></x:a>"
        (sxml->xml '(*TOP* (@ (*NAMESPACES* (x "http://x"))) (x:a (http://x:b)))))
  (test "<a><ns1:b c=\"1\" xmlns:ns1=\"http://y\"/><ns2:b xmlns:ns2=\"http://y\"/></a>"
        (sxml->xml '(a (http://y:b (@ (c "1"))) (http://y:b))))
  (test "a" (refused-in-xml '(a "\x1;")))
  (test "a/b" (refused-in-xml '(a (b "\xffff;"))))
  (test "a" (refused-in-xml '(a (*PI* p "?>"))))
  (test "a" (refused-in-xml '(a (*COMMENT* "a-")))))

(test-group "HTML is read"
  (test '(*TOP* (*DOCTYPE* "html")
          (html (head (title "a")) (body (p (@ (class "x")) "b" (br) "é"))))
        (html->sxml "<!doctype html><title>a</title><p class=x>b<br>&eacute;"))
  (test '(*TOP* (p "a") (p "b")) (html->sxml "<p>a<p>b" #:context 'body))
  (test '(*TOP* (td "a")) (html->sxml "<td>a" #:context 'tr))
  (test '(*TOP* (b (i "a")) (i "c")) (html->sxml "<b><i>a</b>c</i>" #:context 'body))
  (test '(*TOP* (*COMMENT* "x") (p (@ (a "")))) (html->sxml "<!--x--><p a>" #:context 'body))
  (test '(*TOP*) (html->sxml "" #:context 'body))
  (test '(*TOP* (p "a")) (html->sxml (open-input-string "<p>a") #:context 'body))
  (test-error (html->sxml (apply string-append (vector->list (make-vector 100000 "<div>")))))
  (test 2 (guard (e ((markup-error? e) (markup-error-line e)))
            (html->sxml "<!doctype html>\n</b>" #:strict? #t))))

(test-group "XML is read"
  (test '(*TOP* (*PI* xml "version='1.0'") (a (@ (x "1")) "b" (c) (*COMMENT* "d") "<&"))
        (xml->sxml "<?xml version='1.0'?><a x='1'>b<c/><!--d--><![CDATA[<&]]></a>"))
  (test '(*TOP* (u:a (b (@ (v:c "1")))))
        (xml->sxml "<p:a xmlns:p='u'><b q:c='1' xmlns:q='v'/></p:a>"))
  (test '(*TOP* (@ (*NAMESPACES* (x "u"))) (x:a))
        (xml->sxml "<p:a xmlns:p='u'/>" #:namespaces '((x . "u"))))
  (test '(*TOP* (p:a (@ (xmlns:p "u"))))
        (xml->sxml "<p:a xmlns:p='u'/>" #:namespaces #f))
  (test '(*TOP* (a (b))) (xml->sxml "<a>\n <b/>\n</a>" #:trim? #t))
  (test '(*TOP* (*DOCTYPE* "a") (a "x1"))
        (xml->sxml "<!DOCTYPE a [<!ENTITY e 'x&f;'><!ENTITY f '1'>]><a>&e;</a>"))
  (test '(1 1) (place ""))
  (test '(2 1) (place "<a>\n</b>"))
  (test '(1 4) (place "<a>&x;</a>"))
  (test '(1 1) (place "<a b='1' b='2'/>"))
  (test '(1 4) (place "<a>\x1;</a>"))
  (test-error (xml->sxml "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>"))
  (test-error
   (xml->sxml
    (let loop ((level 1) (text "<!DOCTYPE a [<!ENTITY e0 'lol'>"))
      (if (= level 10)
          (string-append text "]><a>&e9;</a>")
          (let ((before (string-append "&e" (number->string (- level 1)) ";")))
            (loop (+ level 1)
                  (string-append text "<!ENTITY e" (number->string level) " '"
                                 before before before before before before before before
                                 "'>")))))))
  (test-error (xml->sxml (sxml->xml (deep 100000))))
  (test (sxml->xml (deep 100000)) (sxml->xml (xml->sxml (sxml->xml (deep 100000))
                                                        #:depth-limit #f))))

(define page
  '(html (body (p (a (@ (href "1") (class "k")) "x"))
               (p "y" (a "z"))
               (div ((p "w"))))))

(test-group "parts of trees"
  (test 'a (sxml-name '(a "x")))
  (test '((b "1")) (sxml-attributes '(a (@ (b "1")))))
  (test '("1" "c" #f none)
        (let ((node '(a (@ (b "1") (c)))))
          (list (sxml-attribute node 'b) (sxml-attribute node 'c) (sxml-attribute node 'd)
                (sxml-attribute node 'd 'none))))
  (test '("x" (b) "y") (sxml-children '(a (@ (b "1")) "x" ((b) ("y")) ())))
  (test "xyzw" (sxml-text page))
  (test "a1b" (sxml-text '(p "a" 1 (*COMMENT* "c") #\b)))
  (test '((a (@ (href "1") (class "k")) "x")) (sxml-select page "//a[@href]"))
  (test '("1") (sxml-select page "//a/@href"))
  (test '((p "y" (a "z"))) (sxml-select page "body/p[2]"))
  (test '("x" "w") (map sxml-text (sxml-select page "//p[1]")))
  (test '("y") (sxml-select page "body/p[last()]/text()"))
  (test '("x") (sxml-select page "//a[@class='k']/text()"))
  (test '((p "y" (a "z"))) (sxml-select page "//p[a='z']"))
  (test '("x" "y" "z" "w") (sxml-select page "//text()"))
  (test '("1" "k") (sxml-select page "//@*"))
  (test '("w") (sxml-select (sxml-select page "body/div") "p/text()"))
  (test "x" (sxml-select-first page "//a/text()"))
  (test 'none (sxml-select-first page "//li" 'none))
  (test 99997 (length (sxml-select (deep 100000) "//div//div//div")))
  (test-error (sxml-path "//"))
  (test-error (sxml-path "a[1"))
  (test-error (sxml-path "a[f()]"))
  (test-error (sxml-select "text" "a")))

(test-group "transformations"
  (test '(html (body (p ("x")) (p "y" ("z")) (div ((p "w")))))
        (sxml-map (lambda (node) (if (eq? (sxml-name node) 'a) (sxml-children node) node)) page))
  (test '(article (@ (id "1")) "A" (b "B"))
        (pre-post-order '(doc (@ (id "1")) "a" (bold "b"))
          `((@ *preorder* . ,list)
            (doc . ,(lambda (tag . content) (cons 'article content)))
            (bold *macro* . ,(lambda (tag . content) (cons 'b content)))
            (*text* . ,(lambda (tag text) (string-upcase text)))
            (*default* . ,list))))
  (test-error (pre-post-order '(a) '())))

(define (item name) (html (li (@ (class "x") (id "i" ,name)) ,name)))

(test-group "templates"
  (test "<ul><li class=\"x\" id=\"ia\">a</li><li class=\"x\" id=\"ib&lt;\">b&lt;</li></ul>"
        (sxml->html (html (ul ,@(map item '("a" "b<"))))))
  (test '(*template* "<p>a &lt; b</p>") (html (p "a < b")))
  (test "<p>1</p>2<br>" (sxml->html (html (p ,1) ,2 (br))))
  (let ((leave "0;url=javascript:x") (name "refresh"))
    (test-error markup-error?
      (sxml->html (html (meta (@ (http-equiv "refresh") (content ,leave))))))
    (test-error markup-error?
      (sxml->html (html (META (@ (content ,leave) (http-equiv ,name))))))
    (test "<META content=\"0;url=/\" http-equiv=\"refresh\">"
          (sxml->html (html (META (@ (content "0;url=/") (http-equiv ,name)))))))
  (test "<input checked>" (sxml->html (html (input (@ (checked ,#t) (value ,#f))))))
  (test "<p a=\"1\">x</p>" (sxml->html (html (p (@ ,@'((a "1"))) ,"x"))))
  (test "<title>&lt;</title><script>1;2</script>"
        (sxml->html (html (title ,"<") (script ,"1;" 2))))
  (test "<div><p>x</p></div>" (sxml->html `(div ,(html (p ,"x")))))
  (test-error (sxml->html (html (a (@ (href ,"javascript:x"))))))
  (test-error (sxml->html (html (p (@ (onclick ,"f()"))))))
  (test-error (sxml->html (html (script ,"</script>"))))
  (test-error (sxml->html '(*template* (p))))
  (test-error (sxml->html '(p (*attribute* a "1")))))

(test-group "feeds"
  (test '("tag:1" "2000-02-29T12:34:56Z" "Ada" "<p>x</p>")
        (let ((feed (xml->sxml
                     (sxml->xml
                      (atom-feed (list (atom-entry #:id "tag:1" #:title "One"
                                                   #:updated 951827696
                                                   #:content '(p "x")))
                                 #:id "tag:0" #:title "News" #:updated 0 #:author "Ada")
                      #:declaration #t)
                     #:namespaces '((a . "http://www.w3.org/2005/Atom")))))
          (map (lambda (path) (sxml-select-first feed path))
               '("a:feed/a:entry/a:id/text()" "//a:entry/a:updated/text()"
                 "a:feed/a:author/a:name/text()" "//a:content/text()"))))
  (test-error (atom-feed '() #:id "x" #:title "y"))
  (test-error (atom-feed (list (atom-entry #:id "a" #:title "b" #:updated 0))
                         #:id "x" #:title "y" #:updated 0)))

(test-finish)
