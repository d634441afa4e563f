;;; (wiki markup) and (wiki titles).

(import (canny base) (canny sxml) (canny test) (canny test properties) (wiki markup) (wiki titles))

(define (html-of text)
  (sxml->html (document->sxml (parse-markup text)
                              #:page-url (lambda (title) (string-append "/wiki/" title))
                              #:missing? (lambda (title) (string=? title "Nowhere"))
                              #:file-url (lambda (name) (string-append "/files/" name)))))

(test-group "blocks"
  (test "" (html-of ""))
  (test "<p>one\ntwo</p><p>three</p>" (html-of "one\ntwo\n\n\nthree\n"))
  (test "<p>one</p><p>two</p>" (html-of "one\r\n\r\ntwo\r\n"))
  (test "<h2 id=\"s-a\">A</h2><h3 id=\"s-a.2\">a</h3><p>#no</p>" (html-of "# A\n## a\n#no"))
  (test "<p>#### four</p>" (html-of "#### four"))
  (test "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>" (html-of "- a\n- b\n  - c"))
  (test "<ol><li>a</li><li>b</li></ol><ul><li>c</li></ul>" (html-of "1. a\n2. b\n- c"))
  (test "<ul><li>a<p>b</p></li></ul><p>c</p>" (html-of "- a\n\n  b\n\nc"))
  (test "<blockquote><p>a</p><ul><li>b</li></ul></blockquote>" (html-of "> a\n> - b"))
  (test "<pre tabindex=\"0\"><code># a\n\n[[b]]</code></pre><p>c</p>"
        (html-of "```\n# a\n\n[[b]]\n```\nc"))
  (test "<pre tabindex=\"0\"><code>a</code></pre>" (html-of "```\na"))
  (test "<p>a</p><hr><p>b</p>" (html-of "a\n---\nb"))
  (test #t (and (string-contains (html-of "| a | b |\n|---|---|\n| 1 | *2* |")
                                 "<thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>\
                                  1</td><td><em>2</em></td></tr></tbody>")
                #t))
  (test "<hr>" (html-of "|---|\n|-|"))
  (test #t (and (string-contains (html-of "|---|\n| a |") "<tbody><tr><td>a</td></tr></tbody>") #t))
  (test #t (and (string-contains (html-of "- [x] a") "aria-label=\"done\"") #t)))

(test-group "words"
  (test "<p><em>a</em> <strong>b <em>c</em></strong> <del>d</del> <code>*e*</code></p>"
        (html-of "*a* **b *c*** ~~d~~ `*e*`"))
  (test "<p>2 * 3 * 4, **a, ** b **</p>" (html-of "2 * 3 * 4, **a, ** b **"))
  (test "<p>*a* \\n</p>" (html-of "\\*a\\* \\n"))
  (test "<p>a<br>b</p>" (html-of "a\\\nb")))

(test-group "links"
  (test "<p><a href=\"/wiki/Tea\">Tea</a> <a href=\"/wiki/Tea\">it</a></p>"
        (html-of "[[ Tea ]] [[Tea|it]]"))
  (test #t (and (string-contains (html-of "[[Nowhere]]") "class=\"missing\"") #t))
  (test "<p>[[]] [[a[b]]</p>" (html-of "[[]] [[a[b]]"))
  (test "<p>(<a href=\"https://a.org/?b=c&amp;d\" class=\"external\" rel=\"noopener nofollow \
         ugc\">https://a.org/?b=c&amp;d</a>).</p>"
        (html-of "(https://a.org/?b=c&d)."))
  (test "<p>[a](javascript:alert(1)) [a](//b) [a](data:x)</p>"
        (html-of "[a](javascript:alert(1)) [a](//b) [a](data:x)"))
  (test "<p><img src=\"/files/a.png\" alt=\"it\" loading=\"lazy\"> ![a](../b) ![a](//b/c.png)</p>"
        (html-of "![it](a.png) ![a](../b) ![a](//b/c.png)"))
  (test '("A" "B") (document-links (parse-markup "[[A]] *[[B]]*\n\n- [[a]]\n\n```\n[[C]]\n```")))
  (test '((1 "s-one" "One") (2 "s-two-x" "Two x"))
        (document-headings (parse-markup "# One\n## Two `x`"))))

(test-group "nothing in a text becomes markup"
  (test "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>" (html-of "<script>alert(1)</script>"))
  (test #f (string-contains
            (html-of "[[\"><script>|<b>]] `<i>` # <u>\n\n# <s>\n\n```\n</code></pre><script>\n```")
            "<script>"))
  (test-property "any text can be written" ((text (strings)))
                 (string? (html-of text)))
  (test-property "and so can any sequence of marks, as nothing but text"
                 ((parts (lists-of (one-of "*" "**" "~~" "`" "[[" "]]" "[" "](" ")" "!" "a" " " "\n"
                                           "> " "- " "1. " "# " "```\n" "| " "\\" "https://x"
                                           "|---|\n"
                                           "<script>" "javascript:" "\" onclick=\"" "a.png")
                                   30)))
                 (let* ((text (string-join parts ""))
                        (tree (html->sxml (html-of text) #:context 'body))
                        (document (parse-markup text)))
                   (and (list? (document-links document))
                        (string? (document-text document))
                        (list? (document-headings document))
                        (null? (append (sxml-select tree "//script")
                                       (sxml-select tree "//@onclick")))
                        (every (lambda (address) (not (string-prefix? "javascript:" address)))
                               (sxml-select tree "//@href"))))))

(test-group "texts that were made to take long"
  (for-each (lambda (part)
              (test part #t
                    (string? (html-of (string-join (vector->list (make-vector 20000 part)) "")))))
            '("[" "[[" "*" "*a " "**a *b ~~c " "> " "- " "  - a\n" "`" "![" "[a](b " "https://" "|"
              "[[a" "\\"))
  (test #t (string? (html-of (string-append (make-string 50000 #\[) "](x)]]")))))

(test-group "titles"
  (test "Green tea" (clean-title "  Green \t tea\n"))
  (test "Green tea" (clean-title "Green_tea"))
  (test #t (string=? (title-key "Café") (title-key "CAFE\x301;")))
  (test '(#f #f #f) (map title-problem '("Tea" "C++ & <b>" "日本語")))
  (test #t (every string? (map title-problem
                               (list "" "." ".." "a[b" "a|b" "a#b" "a\x7f;" "a\xffff;"
                                     (make-string 101 #\a))))))

(test-finish)
