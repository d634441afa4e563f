;;; (wiki markup): the language that pages are written in.
;;;
;;;     # Heading        ## Smaller        ### Smallest
;;;     - item           1. item           - [ ] to do        - [x] done
;;;     > quotation      ---               | a | table |
;;;     *emphasis*  **strong**  ~~gone~~  `code`
;;;     [[Page]]  [[Page|other words]]  [words](https://example.org/)  ![words](picture.png)
;;;
;;; Code stands between lines of three backquotes. A backslash before punctuation makes it plain.
;;; There are no errors: marks without a meaning are text.
;;;
;;; A text is read into a document, a list of blocks, and that is written as SXML, so nothing in a
;;; text can become markup of the page. Reading takes time in proportion to the text, whatever it
;;; is: the ends of inlines are looked up once, and quotations and lists are nested a few
;;; levels deep only.

(define-library (wiki markup)
  (export parse-markup document->sxml document-text document-links document-headings)
  (import (canny base) (canny match) (wiki titles))
  (begin

    ;; Quotations and lists in one another; deeper ones are text.
    (define depth-max 6)

    ;; The target of a link is no longer than this.
    (define target-length-max 1000)

    ;;; Lines

    (define (blank? line)
      (string-every char-whitespace? line))

    (define (char-at text index)
      (if (< index (string-length text)) (string-ref text index) #\newline))

    (define (indentation line)
      (let loop ((index 0))
        (if (and (< index (string-length line)) (char=? #\space (string-ref line index)))
            (loop (+ index 1))
            index)))

    ;; A line without so many blanks at its start, if it has them.
    (define (without-indentation line columns)
      (substring line (min columns (indentation line)) (string-length line)))

    ;; Everything that browsers send as ends of lines; tabs are blanks.
    (define (text-lines text)
      (let ((plain (string-filter (lambda (char) (not (char=? char #\return))) text)))
        (map (lambda (line)
               (if (string-index line (lambda (char) (char=? char #\tab)))
                   (string-join (string-split line #\tab) "    ")
                   line))
             (string-split plain #\newline))))

    ;;; Blocks
    ;;;
    ;;; (heading LEVEL ID INLINES) (paragraph INLINES) (items ORDERED? (ITEM ...)) (quotation
    ;;; BLOCKS) (code TEXT) (rule) (table HEAD? ((INLINES ...) ...)); an ITEM is (CHECK BLOCKS),
    ;;; CHECK is #f, open or done.

    ;; The document of a text.
    (define (parse-markup text)
      (with-heading-names (parse-blocks (text-lines text) 0)))

    (define (parse-blocks lines depth)
      (let loop ((lines lines) (blocks '()))
        (cond ((null? lines) (reverse blocks))
              ((blank? (car lines)) (loop (cdr lines) blocks))
              (else
               (receive (block rest) (parse-block lines depth)
                 (loop rest (cons block blocks)))))))

    ;; The block that begins with the first line, and the lines behind it.
    (define (parse-block lines depth)
      (let ((line (car lines)))
        (cond ((heading-level line) => (lambda (level) (parse-heading line level (cdr lines))))
              ((fence? line) (parse-code (cdr lines)))
              ((rule? line) (values '(rule) (cdr lines)))
              ((row? line) (parse-table lines))
              ((and (< depth depth-max) (quoted? line)) (parse-quotation lines depth))
              ((and (< depth depth-max) (marker-width line))
               (parse-items lines (ordered? line) depth))
              (else (parse-paragraph lines depth)))))

    (define (starts-block? line depth)
      (or (blank? line) (heading-level line) (fence? line) (rule? line) (row? line)
          (and (< depth depth-max) (or (quoted? line) (marker-width line)))))

    ;; 1 to 3, or `#f`.
    (define (heading-level line)
      (let ((level (or (string-index line (lambda (char) (not (char=? char #\#)))) 0)))
        (and (<= 1 level 3)
             (char=? #\space (char-at line level))
             (not (blank? (substring line level (string-length line))))
             level)))

    (define (fence? line) (string-prefix? "```" line))
    (define (quoted? line) (string-prefix? ">" line))
    (define (row? line) (and (string-prefix? "|" line) (> (string-length line) 1)))

    (define (rule? line)
      (and (string-prefix? "---" line)
           (string-every (lambda (char) (memv char '(#\- #\space))) line)))

    ;; How many characters stand before an item's content: `- ` or `12. `, with blanks before; else
    ;; `#f`.
    (define (marker-width line)
      (let* ((start (indentation line))
             (digits-end (let loop ((index start))
                           (if (char<=? #\0 (char-at line index) #\9) (loop (+ index 1)) index)))
             (mark (char-at line start)))
        (cond ((> start 3) #f)
              ((and (memv mark '(#\- #\*)) (char=? #\space (char-at line (+ start 1))))
               (+ start 2))
              ((and (< start digits-end (+ start 5))
                    (char=? #\. (char-at line digits-end))
                    (char=? #\space (char-at line (+ digits-end 1))))
               (+ digits-end 2))
              (else #f))))

    (define (ordered? line)
      (char<=? #\0 (char-at line (indentation line)) #\9))

    (define (parse-heading line level rest)
      (let ((text (string-trim-both (substring line level (string-length line)))))
        (values `(heading ,level #f ,(parse-inlines text)) rest)))

    (define (parse-code lines)
      (let loop ((lines lines) (found '()))
        (if (or (null? lines) (fence? (car lines)))
            (values `(code ,(string-join (reverse found) "\n"))
                    (if (null? lines) '() (cdr lines)))
            (loop (cdr lines) (cons (car lines) found)))))

    (define (parse-paragraph lines depth)
      (receive (rest more)
          (break (lambda (line) (starts-block? line depth)) (cdr lines))
        (values `(paragraph ,(parse-inlines (string-join (cons (car lines) rest) "\n")))
                more)))

    (define (parse-quotation lines depth)
      (receive (quoted rest) (span quoted? lines)
        (values `(quotation ,(parse-blocks (map unquoted quoted) (+ depth 1)))
                rest)))

    (define (unquoted line)
      (without-indentation (substring line 1 (string-length line)) 1))

    ;; Items of one kind. Indented lines belong to the item before, also behind an empty line.
    (define (parse-items lines kind depth)
      (define (item? line)
        (let ((width (marker-width line)))
          (and width (eq? kind (ordered? line)))))
      (let loop ((lines lines) (items '()))
        (if (and (pair? lines) (item? (car lines)))
            (let* ((line (car lines))
                   (width (marker-width line))
                   (own (+ 2 (indentation line))))
              (receive (inside rest) (item-lines (cdr lines) own)
                (loop (without-blank-lines rest item?)
                      (cons (parse-item (substring line width (string-length line))
                                        (map (lambda (line) (without-indentation line width))
                                             inside)
                                        depth)
                            items))))
            (values `(items ,kind ,(reverse items)) lines))))

    ;; Lines that are indented, with empty ones between them; and those behind.
    (define (item-lines lines columns)
      (let loop ((lines lines) (inside '()) (empty '()))
        (cond ((null? lines) (values (reverse inside) empty))
              ((blank? (car lines)) (loop (cdr lines) inside (cons "" empty)))
              ((>= (indentation (car lines)) columns)
               (loop (cdr lines) (cons (car lines) (append empty inside)) '()))
              (else (values (reverse inside) (append empty lines))))))

    ;; One empty line between items does not end their list.
    (define (without-blank-lines lines item?)
      (let ((rest (drop-while blank? lines)))
        (if (and (pair? rest) (item? (car rest))) rest lines)))

    (define (parse-item first inside depth)
      (let ((check (cond ((string-prefix? "[ ] " first) 'open)
                         ((or (string-prefix? "[x] " first) (string-prefix? "[X] " first)) 'done)
                         (else #f))))
        (list check
              (parse-blocks (cons (if check (substring first 4 (string-length first)) first)
                                  inside)
                            (+ depth 1)))))

    ;; Rows; what is below the first one may be a line of hyphens, which makes it the head.
    (define (parse-table lines)
      (receive (lines-of-table rest) (span row? lines)
        (let ((rows (remove separator? lines-of-table)))
          (if (null? rows)
              (values '(rule) rest)
              (values `(table ,(and (pair? (cdr lines-of-table))
                                    (not (separator? (car lines-of-table)))
                                    (separator? (cadr lines-of-table)))
                              ,(map (lambda (row) (map parse-inlines (row-cells row))) rows))
                      rest)))))

    (define (separator? row)
      (and (string-index row (lambda (char) (char=? char #\-)))
           (string-every (lambda (char) (memv char '(#\| #\- #\: #\space))) row)
           #t))

    (define (row-cells row)
      (let* ((row (string-trim-right row))
             (end (string-length row))
             (end (if (and (> end 1) (char=? #\| (string-ref row (- end 1)))) (- end 1) end)))
        (map string-trim-both (string-split (substring row 1 end) #\|))))

    ;;; Inlines
    ;;;
    ;;; A string, (strong INLINE ...), (emphasis INLINE ...), (gone INLINE ...), (code TEXT), (page
    ;;; TITLE LABEL), (link URL INLINE ...), (image NAME ALT), (break)

    ;; A procedure that finds where something is at or behind an index, which never becomes smaller
    ;; from call to call. The found place is kept until the index has passed it, so that all calls
    ;; together look at each character once.
    (define (make-finder found? start end)
      (let ((next start))
        (lambda (from)
          (if (> from next) (set! next from))
          (let loop ()
            (cond ((>= next end) #f)
                  ((found? next) next)
                  (else
                   (set! next (+ next 1))
                   (loop)))))))

    (define (parse-inlines text)
      (parse-range text 0 (string-length text) '(strong emphasis gone link)))

    ;; The inlines of a part of a text; `kinds` are those that may occur in it, each of which is
    ;; left out below itself.
    (define (parse-range text start end kinds)
      (define (at? pattern index)
        (let ((length (string-length pattern)))
          (and (<= (+ index length) end)
               (let loop ((offset 0))
                 (or (= offset length)
                     (and (char=? (string-ref pattern offset) (string-ref text (+ index offset)))
                          (loop (+ offset 1))))))))
      (define (finder pattern)
        (make-finder (lambda (index) (at? pattern index)) start end))
      (define (char-near index)
        (if (<= start index (- end 1)) (string-ref text index) #\space))
      (define (single-star? index)
        (and (char=? #\* (string-ref text index))
             (not (char=? #\* (char-near (- index 1))))
             (not (char=? #\* (char-near (+ index 1))))))
      (define find-backquote (finder "`"))
      (define find-page-end (finder "]]"))
      (define find-bracket (finder "]"))
      (define find-paren (finder ")"))
      ;; Of three stars the last two.
      (define find-strong
        (make-finder (lambda (index) (and (at? "**" index) (not (at? "***" index)))) start end))
      (define find-star (make-finder single-star? start end))
      (define find-gone (finder "~~"))

      ;; `plain` is where text begins that is not in the result yet.
      (define (scan index plain found)
        (define (text-before)
          (if (< plain index) (cons (substring text plain index) found) found))
        (define (next node after)
          (scan after after (cons node (text-before))))
        (define (as-text)
          (scan (+ index 1) plain found))
        ;; Emphasis of some kind, if its end is there and both ends touch words.
        (define (emphasized kind width find)
          (let ((stop (and (memq kind kinds) (find (+ index width)))))
            (if (and stop
                     (> stop (+ index width))
                     (not (char-whitespace? (string-ref text (+ index width))))
                     (not (char-whitespace? (string-ref text (- stop 1)))))
                (next (cons kind (parse-range text (+ index width) stop (delq kind kinds)))
                      (+ stop width))
                (scan (+ index width) plain found))))
        ;; `[words](target)`, whose first bracket is at `open`.
        (define (bracketed open make)
          (let* ((close (find-bracket (+ open 1)))
                 (stop (and close (char=? #\( (char-near (+ close 1))) (find-paren (+ close 1))))
                 (node (and stop
                            (< (- stop close) target-length-max)
                            (make (+ open 1) close (substring text (+ close 2) stop)))))
            (if node (next node (+ stop 1)) (as-text))))
        (if (>= index end)
            (reverse (text-before))
            (case (string-ref text index)
              ((#\\)
               (let ((char (char-near (+ index 1))))
                 (cond ((char=? char #\newline) (next '(break) (+ index 2)))
                       ((escapable? char) (next (string char) (+ index 2)))
                       (else (as-text)))))
              ((#\`)
               (let ((stop (find-backquote (+ index 1))))
                 (if (and stop (> stop (+ index 1)))
                     (next `(code ,(substring text (+ index 1) stop)) (+ stop 1))
                     (as-text))))
              ((#\*)
               (cond ((at? "**" index) (emphasized 'strong 2 find-strong))
                     (else (emphasized 'emphasis 1 find-star))))
              ((#\~) (if (at? "~~" index) (emphasized 'gone 2 find-gone) (as-text)))
              ((#\[)
               (cond ((and (at? "[[" index) (find-page-end (+ index 2)))
                      => (lambda (stop)
                           (let ((node (and (< (- stop index) target-length-max)
                                            (page-link (substring text (+ index 2) stop)))))
                             (if node (next node (+ stop 2)) (as-text)))))
                     ((memq 'link kinds)
                      (bracketed index
                                 (lambda (from to url)
                                   (and (web-address? url)
                                        `(link ,url
                                               ,@(parse-range text from to '(strong emphasis)))))))
                     (else (as-text))))
              ((#\!)
               (if (char=? #\[ (char-near (+ index 1)))
                   (bracketed (+ index 1)
                              (lambda (from to name)
                                (and (file-name? name) `(image ,name ,(substring text from to)))))
                   (as-text)))
              ((#\h)
               (let ((stop (and (memq 'link kinds)
                                (not (char-alphabetic? (char-near (- index 1))))
                                (or (at? "https://" index) (at? "http://" index))
                                (address-end index))))
                 (if stop
                     (let ((url (substring text index stop)))
                       (if (web-address? url) (next `(link ,url ,url) stop) (as-text)))
                     (as-text))))
              (else (as-text)))))

      ;; Where an address in running text ends: before blanks and brackets, and before punctuation
      ;; that stands at its end.
      (define (address-end index)
        (let* ((stop (let loop ((index index))
                       (if (and (< index end) (address-char? (string-ref text index)))
                           (loop (+ index 1))
                           index))))
          (let loop ((stop stop))
            (if (memv (string-ref text (- stop 1)) '(#\. #\, #\; #\: #\! #\? #\' #\*))
                (loop (- stop 1))
                stop))))

      (scan start start '()))

    (define (escapable? char)
      (memv char '(#\\ #\` #\* #\~ #\[ #\] #\( #\) #\! #\# #\- #\> #\| #\.)))

    (define (address-char? char)
      (not (or (char-whitespace? char)
               (char<? char #\space)
               (memv char '(#\< #\> #\" #\( #\) #\[ #\] #\{ #\} #\` #\|)))))

    ;; Links lead to the web and to mail, nowhere else.
    (define (web-address? url)
      (and (string-every (lambda (char) (and (char<? #\space char) (not (char=? char #\delete))))
                         url)
           (any (lambda (scheme)
                  (and (string-prefix? scheme (string-downcase url))
                       (> (string-length url) (string-length scheme))))
                '("https://" "http://" "mailto:"))))

    (define (file-name? name)
      (and (string-every (lambda (char)
                           (or (char-alphabetic? char) (char-numeric? char)
                               (memv char '(#\. #\- #\_))))
                         name)
           (not (string-prefix? "." name))
           (not (string-null? name))))

    ;; `Title` or `Title|words`.
    (define (page-link content)
      (let* ((bar (string-index content (lambda (char) (char=? char #\|))))
             (title (clean-title (if bar (substring content 0 bar) content)))
             (label (if bar
                        (string-trim-both (substring content (+ bar 1) (string-length content)))
                        "")))
        (and (not (title-problem title))
             `(page ,title ,(if (string-null? label) title label)))))

    ;;; Names of headings

    (define (slug text)
      (let ((words (string-split
                    (string-map (lambda (char)
                                  (if (or (char-alphabetic? char) (char-numeric? char))
                                      (char-downcase char)
                                      #\space))
                                text))))
        (if (null? words) "section" (string-join words "-"))))

    ;; The blocks with a name for each heading on top, no two of which are the same.
    (define (with-heading-names blocks)
      (let ((used (make-hash-table)))
        (map (lambda (block)
               (match block
                 (('heading level #f inlines)
                  (let* ((name (string-append "s-" (slug (inlines-text inlines))))
                         (count (hash-table-ref/default used name 0)))
                    (hash-table-set! used name (+ count 1))
                    `(heading ,level
                              ,(if (= count 0)
                                   name
                                   (string-append name "." (number->string (+ count 1))))
                              ,inlines)))
                 (_ block)))
             blocks)))

    ;; Levels, names and texts of the headings: ((LEVEL NAME TEXT) ...).
    (define (document-headings blocks)
      (filter-map (lambda (block)
                    (match block
                      (('heading level (? string? name) inlines)
                       (list level name (inlines-text inlines)))
                      (_ #f)))
                  blocks))

    ;;; The content of a document

    ;; Calls a procedure with each list of inlines, and one with each text of code.
    (define (for-each-part inlines-of code-of blocks)
      (for-each
       (lambda (block)
         (match block
           (('heading _ _ inlines) (inlines-of inlines))
           (('paragraph inlines) (inlines-of inlines))
           (('items _ items)
            (for-each (lambda (item) (for-each-part inlines-of code-of (cadr item))) items))
           (('quotation blocks) (for-each-part inlines-of code-of blocks))
           (('code text) (code-of text))
           (('table _ rows) (for-each (lambda (row) (for-each inlines-of row)) rows))
           (_ #f)))
       blocks))

    (define (inlines-text inlines)
      (string-concatenate
       (map (lambda (inline)
              (match inline
                ((? string? text) text)
                (((or 'strong 'emphasis 'gone) . inlines) (inlines-text inlines))
                (('link _ . inlines) (inlines-text inlines))
                (('code text) text)
                (('page _ label) label)
                (('image _ alt) alt)
                (_ " ")))
            inlines)))

    ;; The words of a document, without its marks: what is searched.
    (define (document-text blocks)
      (call-with-output-string
        (lambda (port)
          (define (write-text text)
            (write-string text port)
            (newline port))
          (for-each-part (lambda (inlines) (write-text (inlines-text inlines))) write-text
                         blocks))))

    ;; The titles of the pages that a document links to, each once.
    (define (document-links blocks)
      (let ((seen (make-hash-table)) (titles '()))
        (define (visit inlines)
          (for-each (lambda (inline)
                      (match inline
                        (('page title _)
                         (let ((key (title-key title)))
                           (if (not (hash-table-contains? seen key))
                               (begin
                                 (hash-table-set! seen key #t)
                                 (set! titles (cons title titles))))))
                        (((or 'strong 'emphasis 'gone) . inlines) (visit inlines))
                        (('link _ . inlines) (visit inlines))
                        (_ #f)))
                    inlines))
        (for-each-part visit (lambda (text) #f) blocks)
        (reverse titles)))

    ;;; As SXML

    ;; The nodes of a document. `page-url` gives the address for a title, `missing?` tells whether
    ;; there is no such page, `file-url` gives the address for a file's name.
    (define* (document->sxml blocks #:key page-url missing? file-url)
      (define (blocks->sxml blocks) (map block->sxml blocks))
      (define (inlines->sxml inlines) (map inline->sxml inlines))
      (define (inline->sxml inline)
        (match inline
          ((? string? text) text)
          (('strong . inlines) `(strong ,@(inlines->sxml inlines)))
          (('emphasis . inlines) `(em ,@(inlines->sxml inlines)))
          (('gone . inlines) `(del ,@(inlines->sxml inlines)))
          (('code text) `(code ,text))
          (('page title label)
           (if (missing? title)
               `(a (@ (href ,(page-url title)) (class "missing")
                      (title ,(string-append title " (not written yet)")))
                   ,label)
               `(a (@ (href ,(page-url title))) ,label)))
          (('link url . inlines)
           `(a (@ (href ,url) (class "external") (rel "noopener nofollow ugc"))
               ,@(inlines->sxml inlines)))
          (('image name alt) `(img (@ (src ,(file-url name)) (alt ,alt) (loading "lazy"))))
          (('break) '(br))))
      (define (item->sxml item)
        (match item
          ((check blocks)
           (let ((content (match blocks
                            ((('paragraph inlines) . rest)
                             (append (inlines->sxml inlines) (blocks->sxml rest)))
                            (_ (blocks->sxml blocks)))))
             (case check
               ((open)
                `(li (@ (class "task")) (span (@ (role "img") (aria-label "to do")) "☐") " "
                     ,@content))
               ((done)
                `(li (@ (class "task done")) (span (@ (role "img") (aria-label "done")) "☑") " "
                     ,@content))
               (else `(li ,@content)))))))
      (define (table->sxml head? rows)
        (define (row-of tag)
          (lambda (row)
            `(tr ,@(map (lambda (cell) `(,tag ,@(inlines->sxml cell))) row))))
        `(div (@ (class "table") (tabindex "0") (role "group") (aria-label "Table"))
              (table
               ,@(if head? `((thead ,((row-of 'th) (car rows)))) '())
               (tbody ,@(map (row-of 'td) (if head? (cdr rows) rows))))))
      (define (block->sxml block)
        (match block
          (('heading level name inlines)
           ;; The title of the page is the only heading of the first level.
           `(,(vector-ref #(h2 h3 h4) (- level 1))
             ,@(if name `((@ (id ,name))) '())
             ,@(inlines->sxml inlines)))
          (('paragraph inlines) `(p ,@(inlines->sxml inlines)))
          (('items ordered? items) `(,(if ordered? 'ol 'ul) ,@(map item->sxml items)))
          (('quotation blocks) `(blockquote ,@(blocks->sxml blocks)))
          (('code text) `(pre (@ (tabindex "0")) (code ,text)))
          (('table head? rows) (table->sxml head? rows))
          (('rule) '(hr))))
      (blocks->sxml blocks))))
