;;; (canny web multipart): forms with files, multipart/form-data as RFC 7578 has it, read from a
;;; binary port and written to one.
;;;
;;; The port is read in pieces, however they are cut, and each byte a bounded number of times. The
;;; end of a part begins with a carriage return, which it has nowhere else, so that a failed
;;; comparison need not go back. The search steps over as many bytes as the end of a part has where
;;; the last of them is none of it (Horspool).
;;;
;;; A *scanner* holds bytes from `start` to `end` of its buffer that were read and not handed out.
;;; It begins with a line end of its own, so that the first boundary is like others.

(define-library (canny web multipart)
  (export multipart-boundary for-each-part read-multipart call-with-multipart
          part? make-part part-name part-filename part-headers part-header part-type part-size
          part-bytes part-text part-port part-file save-part delete-part-file
          make-boundary write-multipart multipart-length
          multipart-error?)
  (import (canny primitives) (canny syntax) (canny machine arguments)
          (only (canny machine control) raise guard dynamic-wind)
          (only (canny io) make-binary-input decode-bytevector)
          (only (canny fs) make-temporary-file copy-file file-size)
          (only (canny files) file->bytevector)
          (canny web headers text)
          (only (canny web headers) parse-header header->string))
  (begin

    ;; Errors.

    ;; Whether a condition says that a body is no form, or more than the limits allow.
    (define (multipart-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'multipart)))

    (define (wrong message . irritants)
      (raise (%make-condition 'multipart message irritants 'for-each-part)))

    ;; Boundaries.

    (define (boundary-char? char)
      (or (and (char<=? #\a char) (char<=? char #\z))
          (and (char<=? #\A char) (char<=? char #\Z))
          (and (char<=? #\0 char) (char<=? char #\9))
          (memv char '(#\' #\( #\) #\+ #\_ #\, #\- #\. #\/ #\: #\= #\? #\space))))

    (define (boundary? text)
      (let ((end (string-length text)))
        (and (<= 1 end 70)
             (not (char=? (string-ref text (- end 1)) #\space))
             (let loop ((index 0))
               (or (eqv? index end)
                   (and (boundary-char? (string-ref text index))
                        (loop (+ index 1))))))))

    ;; The boundary of a content type, its value or its text; #f if it is not of the family
    ;; multipart or has none.
    (define (multipart-boundary type)
      (let* ((type (if (string? type) (parse-header 'content-type type) type))
             (boundary (and (pair? type)
                            (symbol? (car type))
                            (string-prefix? "multipart/" (symbol->string (car type)))
                            (assq 'boundary (cdr type)))))
        (and boundary (string? (cdr boundary)) (boundary? (cdr boundary)) (cdr boundary))))

    (define (check-boundary who boundary)
      (if (not (and (string? boundary) (boundary? boundary)))
          (%type-error who 2 "boundary of at most 70 characters" boundary)))

    ;; Scanners.

    (define-record-type scanner
      (make-scanner port delimiter steps buffer start end left)
      scanner?
      (port scanner-port)
      ;; A line end, two hyphens and the boundary.
      (delimiter scanner-delimiter)
      ;; For each byte how far it is from the end of the delimiter.
      (steps scanner-steps)
      (buffer scanner-buffer)
      (start scanner-start set-scanner-start!)
      (end scanner-end set-scanner-end!)
      ;; How many bytes may still come, or #f; -1 once the port has ended.
      (left scanner-left set-scanner-left!))

    (define buffer-size 16384)

    (define (delimiter-steps delimiter)
      (let* ((length (bytevector-length delimiter)) (steps (make-bytevector 256 length)))
        (let loop ((index 0))
          (if (< index (- length 1))
              (begin
                (bytevector-u8-set! steps (bytevector-u8-ref delimiter index)
                                    (- length 1 index))
                (loop (+ index 1)))))
        steps))

    (define (new-scanner port boundary total-limit header-limit)
      (let* ((delimiter (string->utf8 (string-append "\r\n--" boundary)))
             (buffer (make-bytevector (+ buffer-size header-limit))))
        (bytevector-u8-set! buffer 0 13)
        (bytevector-u8-set! buffer 1 10)
        (make-scanner port delimiter (delimiter-steps delimiter) buffer 0 2 total-limit)))

    ;; Reads on, behind what is there; whether there was something.
    (define (fill! scanner)
      (let ((buffer (scanner-buffer scanner))
            (start (scanner-start scanner))
            (end (scanner-end scanner))
            (left (scanner-left scanner)))
        (if (eqv? left -1)
            #f
            (begin
              (bytevector-copy! buffer 0 buffer start end)
              (set-scanner-start! scanner 0)
              (set-scanner-end! scanner (- end start))
              (let* ((place (- end start))
                     (count (read-bytevector! buffer (scanner-port scanner) place
                                              (min (bytevector-length buffer)
                                                   (+ place buffer-size)))))
                (if (eof-object? count)
                    (begin
                      (set-scanner-left! scanner -1)
                      #f)
                    (begin
                      (if left
                          (if (> count left)
                              (wrong "the form has more bytes than are allowed")
                              (set-scanner-left! scanner (- left count))))
                      (set-scanner-end! scanner (+ place count))
                      #t)))))))

    ;; The index of the delimiter in a range, or the end of the range that cannot have its
    ;; beginning.
    (define (search scanner receive)
      (let* ((buffer (scanner-buffer scanner))
             (delimiter (scanner-delimiter scanner))
             (steps (scanner-steps scanner))
             (last (- (bytevector-length delimiter) 1))
             (end (scanner-end scanner)))
        (let loop ((index (scanner-start scanner)))
          (if (>= (+ index last) end)
              (receive #f (min index end))
              (let ((byte (bytevector-u8-ref buffer (+ index last))))
                (if (and (eqv? byte (bytevector-u8-ref delimiter last))
                         (same? buffer index delimiter last))
                    (receive index index)
                    (loop (+ index (bytevector-u8-ref steps byte)))))))))

    (define (same? buffer place delimiter count)
      (let loop ((index 0))
        (or (eqv? index count)
            (and (eqv? (bytevector-u8-ref buffer (+ place index))
                       (bytevector-u8-ref delimiter index))
                 (loop (+ index 1))))))

    ;; Hands pieces of the part to `take`, a bytevector and a range, until its end, or until `take`
    ;; gives true. Whether the end was reached. The scanner stands behind the delimiter then.
    (define (scan-part scanner take)
      (let loop ()
        (search scanner
          (lambda (found safe)
            (let ((start (scanner-start scanner)))
              (set-scanner-start! scanner safe)
              (let ((enough? (and (< start safe) (take (scanner-buffer scanner) start safe))))
                (cond (found
                       (if enough?
                           #f
                           (begin
                             (set-scanner-start! scanner
                                                 (+ found
                                                    (bytevector-length
                                                     (scanner-delimiter scanner))))
                             #t)))
                      (enough? #f)
                      ((fill! scanner) (loop))
                      (else (wrong "the form ends before its last boundary")))))))))

    ;; The next byte, or #f at the end.
    (define (peek-byte scanner offset)
      (let loop ()
        (let ((place (+ (scanner-start scanner) offset)))
          (cond ((< place (scanner-end scanner))
                 (bytevector-u8-ref (scanner-buffer scanner) place))
                ((fill! scanner) (loop))
                (else #f)))))

    (define (skip-bytes! scanner count)
      (set-scanner-start! scanner (+ (scanner-start scanner) count)))

    ;; Behind a delimiter: whether a part follows.  Blanks may stand behind it.
    (define (part-follows? scanner)
      (let loop ((count 0))
        (let ((byte (peek-byte scanner 0)))
          (cond ((and (eqv? count 0) (eqv? byte 45) (eqv? (peek-byte scanner 1) 45))
                 (skip-bytes! scanner 2)
                 #f)
                ((or (eqv? byte 32) (eqv? byte 9))
                 (if (> count 100)
                     (wrong "there are too many blanks behind a boundary"))
                 (skip-bytes! scanner 1)
                 (loop (+ count 1)))
                ((and (eqv? byte 13) (eqv? (peek-byte scanner 1) 10))
                 ;; The line end stays: the headers may be empty.
                 #t)
                (else (wrong "a boundary is followed by something else than a line end"))))))

    ;; The headers of a part, an association list of symbols and strings.
    (define (read-headers scanner limit)
      (let loop ((offset 0))
        (if (> offset limit)
            (wrong "the headers of a part are longer than is allowed"))
        (if (and (eqv? (peek-byte scanner offset) 13)
                 (eqv? (peek-byte scanner (+ offset 1)) 10)
                 (eqv? (peek-byte scanner (+ offset 2)) 13)
                 (eqv? (peek-byte scanner (+ offset 3)) 10))
            (let* ((start (scanner-start scanner))
                   (bytes (bytevector-copy (scanner-buffer scanner) start (+ start offset)))
                   (text (or (utf8-or-false bytes) (decode-bytevector bytes "ISO-8859-1"))))
              (skip-bytes! scanner (+ offset 4))
              (header-lines text))
            (if (peek-byte scanner offset)
                (loop (+ offset 1))
                (wrong "the form ends within the headers of a part")))))

    (define (header-lines text)
      (let ((end (string-length text)))
        (let loop ((index 0) (headers '()))
          (if (>= index end)
              (reverse! headers)
              (let* ((stop (or (string-contains text "\r\n" index) end))
                     (colon (%string-index text #\: index stop)))
                (cond ((eqv? index stop) (loop (+ stop 2) headers))
                      ((not (and colon
                                 (< index colon)
                                 (eqv? colon (token-end text index colon))))
                       (wrong "a header of a part has no name"))
                      (else
                       (let ((start (skip-blanks text (+ colon 1) stop)))
                         (loop (+ stop 2)
                               (cons (cons (symbol-of text index colon)
                                           (substring text start (trim-end text start stop)))
                                     headers))))))))))

    ;; Parts. The content is a bytevector, the name of a file in a pair, a port, or, for writing, a
    ;; string.

    (define-record-type part
      (new-part name filename type headers content)
      part?
      (name name-of)
      (filename filename-of)
      (type type-of)
      (headers headers-of)
      (content content-of set-content-of!))

    (define (check-part who part)
      (check-argument who 1 part? "part of a form" part))

    ;; The name of the field, or #f.
    (define (part-name part) (check-part 'part-name part) (name-of part))

    ;; The name of the file as the other side has it, without directories, or #f.
    (define (part-filename part) (check-part 'part-filename part) (filename-of part))

    ;; The headers as an association list of symbols and strings.
    (define (part-headers part) (check-part 'part-headers part) (headers-of part))

    ;; The value of a header, or #f if there is none, or if it is malformed.
    (define (part-header part name)
      (check-part 'part-header part)
      (let ((found (assq name (headers-of part))))
        (and found
             (guard (condition ((header-error? condition) #f))
               (parse-header name (cdr found))))))

    ;; The content type; that of plain text if none was given.
    (define (part-type part)
      (check-part 'part-type part)
      (or (type-of part) '(text/plain)))

    ;; The name of the temporary file that has the contents, or #f if they are in memory.
    (define (part-file part)
      (check-part 'part-file part)
      (and (pair? (content-of part)) (cdr (content-of part))))

    ;; The number of bytes.
    (define (part-size part)
      (check-part 'part-size part)
      (let ((content (content-of part)))
        (cond ((bytevector? content) (bytevector-length content))
              ((string? content) (bytevector-length (string->utf8 content)))
              ((pair? content) (file-size (cdr content)))
              (else #f))))

    ;; The contents as a bytevector.
    (define (part-bytes part)
      (check-part 'part-bytes part)
      (let ((content (content-of part)))
        (cond ((bytevector? content) content)
              ((string? content) (string->utf8 content))
              ((pair? content) (file->bytevector (cdr content)))
              (else (rest-of content)))))

    (define (rest-of port)
      (let ((collected (open-output-bytevector)))
        (copy-port port collected)
        (get-output-bytevector collected)))

    (define (copy-port input output)
      (let ((buffer (make-bytevector buffer-size)))
        (let loop ()
          (let ((count (read-bytevector! buffer input)))
            (if (not (eof-object? count))
                (begin
                  (write-bytevector buffer output 0 count)
                  (loop)))))))

    ;; The contents as text, in the encoding that the content type names, or UTF-8; what is
    ;; malformed is U+FFFD.
    (define (part-text part)
      (let* ((charset (assq 'charset (cdr (part-type part))))
             (encoding (or (and charset (string? (cdr charset)) (%encoding-name (cdr charset)))
                           "UTF-8")))
        (decode-bytevector (part-bytes part) encoding #:malformed 'replace #:byte-order-mark
                           'keep)))

    ;; A binary port that reads the contents.
    (define (part-port part)
      (check-part 'part-port part)
      (let ((content (content-of part)))
        (cond ((bytevector? content) (open-input-bytevector content))
              ((string? content) (open-input-bytevector (string->utf8 content)))
              ((pair? content) (open-binary-input-file (cdr content)))
              (else content))))

    ;; Puts the contents into a file, which is replaced if it is there.
    (define (save-part part path)
      (check-part 'save-part part)
      (check-argument 'save-part 2 string? "name of a file" path)
      (let ((content (content-of part)))
        (if (pair? content)
            (copy-file (cdr content) path #:replace #t)
            (let ((output (open-binary-output-file path)))
              (if (port? content)
                  (copy-port content output)
                  (write-bytevector (part-bytes part) output))
              (close-port output)))))

    ;; Removes the temporary file of a part, if it has one.
    (define (delete-part-file part)
      (check-part 'delete-part-file part)
      (if (pair? (content-of part))
          (let ((file (cdr (content-of part))))
            (set-content-of! part (bytevector))
            (guard (condition ((file-error? condition) #f))
              (delete-file file)))))

    ;; Browsers write quotes and line ends in names as escapes, others with a backslash.
    (define (field-text text)
      (let loop ((text text) (escapes '(("%22" . "\"") ("%0D" . "\r") ("%0d" . "\r")
                                        ("%0A" . "\n") ("%0a" . "\n"))))
        (if (null? escapes)
            text
            (loop (if (string-contains text (caar escapes))
                      (string-join (string-split text (caar escapes)) (cdar escapes))
                      text)
                  (cdr escapes)))))

    (define (without-directories name)
      (let* ((slash (or (%string-rindex name #\/) -1))
             (backslash (or (%string-rindex name #\\) -1)))
        (substring name (+ 1 (max slash backslash)))))

    ;; The name of a file that the other side gave. A directory of which it would be the name is
    ;; none.
    (define (file-name-of text)
      (let ((name (without-directories (field-text text))))
        (if (or (string=? name ".") (string=? name "..")) "" name)))

    (define (received-part headers content)
      (let* ((disposition (assq 'content-disposition headers))
             (parameters (if disposition
                             (guard (condition ((header-error? condition)
                                                (wrong "the disposition of a part is malformed")))
                               (cdr (parse-header 'content-disposition (cdr disposition))))
                             '()))
             (name (assq 'name parameters))
             (filename (assq 'filename parameters))
             (type (assq 'content-type headers)))
        (new-part (and name (cdr name) (field-text (cdr name)))
                  (and filename (cdr filename) (file-name-of (cdr filename)))
                  (and type
                       (guard (condition ((header-error? condition) #f))
                         (parse-header 'content-type (cdr type))))
                  headers
                  content)))

    ;; Reading.

    (define (check-limit who keyword limit)
      (if (not (or (not limit) (exact-nonnegative-integer? limit)))
          (raise-bad-option who keyword "a number or #f" limit)))

    ;; Calls a procedure with each part of the form that a binary port has, in their order. The
    ;; contents are read with `part-port` while the procedure runs; what it leaves is passed over.
    (define* (for-each-part procedure port boundary
                            #:key (part-limit #f) (total-limit #f) (parts-limit 1000)
                            (header-limit 8192))
      (check-procedure 'for-each-part 1 procedure)
      (check-boundary 'for-each-part boundary)
      (check-limit 'for-each-part "#:part-limit" part-limit)
      (check-limit 'for-each-part "#:total-limit" total-limit)
      (check-limit 'for-each-part "#:parts-limit" parts-limit)
      (check-argument 'for-each-part 3 exact-nonnegative-integer? "limit of headers"
                      header-limit)
      (let ((scanner (new-scanner port boundary total-limit header-limit)))
        ;; Text in front of the first boundary is ignored.
        (scan-part scanner (lambda (buffer start end) #f))
        (let loop ((count 0))
          (if (part-follows? scanner)
              (begin
                (if (and parts-limit (>= count parts-limit))
                    (wrong "the form has more parts than are allowed"))
                (read-one procedure scanner part-limit header-limit)
                (loop (+ count 1)))))))

    (define (read-one procedure scanner part-limit header-limit)
      (let ((headers (read-headers scanner header-limit)) (size 0) (ended? #f))
        ;; Puts at least one byte into a bytevector, unless the part has ended.
        (define (read! target place count)
          (let ((taken 0))
            (define (take buffer start end)
              (let ((stop (min end (+ start count))))
                (set! taken (- stop start))
                (set! size (+ size taken))
                (if (and part-limit (> size part-limit))
                    (wrong "a part has more bytes than are allowed"))
                (bytevector-copy! target place buffer start stop)
                (set-scanner-start! scanner stop)
                #t))
            (if (and (not ended?) (scan-part scanner take))
                (set! ended? #t))
            taken))
        (procedure (received-part headers (make-binary-input "part" read!)))
        (let ((rest (make-bytevector buffer-size)))
          (let drain ()
            (if (not ended?)
                (begin
                  (read! rest 0 buffer-size)
                  (drain)))))))

    ;; The parts of a form as a list. Contents of up to `#:memory-limit` bytes are in memory, others
    ;; in temporary files, which the caller deletes with `delete-part-file`.
    (define* (read-multipart port boundary #:key (part-limit #f) (total-limit 67108864)
                             (parts-limit 1000) (header-limit 8192) (memory-limit 65536))
      (check-argument 'read-multipart 3 exact-nonnegative-integer? "limit of memory" memory-limit)
      (let ((parts '()))
        (guard (condition
                (#t (for-each-element delete-part-file parts)
                 (raise condition)))
          (for-each-part
           (lambda (part)
             ;; It is in the list before it has a file, so that none is forgotten.
             (set! parts (cons part parts))
             (collect-part! part memory-limit))
           port boundary
           #:part-limit part-limit
           #:total-limit total-limit
           #:parts-limit parts-limit
           #:header-limit header-limit))
        (reverse parts)))

    (define (for-each-element procedure list)
      (if (pair? list)
          (begin
            (procedure (car list))
            (for-each-element procedure (cdr list)))))

    (define (collect-part! part memory-limit)
      (let* ((input (content-of part))
             (first (read-bytevector memory-limit input))
             (first (if (eof-object? first) (bytevector) first)))
        (if (or (and (> memory-limit 0) (< (bytevector-length first) memory-limit))
                (eof-object? (peek-u8 input)))
            (set-content-of! part first)
            (let ((file (make-temporary-file #:prefix "canny-part-")))
              (set-content-of! part (cons 'file file))
              (let ((output (open-binary-output-file file)))
                (dynamic-wind
                 void
                 (lambda ()
                   (write-bytevector first output)
                   (copy-port input output))
                 (lambda () (close-port output))))))))

    ;; Calls a procedure with the parts of a form, and removes their temporary files when it returns
    ;; or is left.
    (define* (call-with-multipart port boundary procedure
               #:key (part-limit #f) (total-limit 67108864)
               (parts-limit 1000) (header-limit 8192) (memory-limit 65536))
      (check-procedure 'call-with-multipart 3 procedure)
      (let ((parts (read-multipart port boundary
                                   #:part-limit part-limit
                                   #:total-limit total-limit
                                   #:parts-limit parts-limit
                                   #:header-limit header-limit
                                   #:memory-limit memory-limit)))
        (dynamic-wind
         void
         (lambda () (procedure parts))
         (lambda () (for-each-element delete-part-file parts)))))

    ;; Writing.

    ;; A part to be written: the content is a string, a bytevector, a binary input port, or
    ;; `(file . PATH)`.
    (define* (make-part name content #:key (filename #f) (type #f) (headers '()))
      (check-argument 'make-part 1 string? "string" name)
      (if (not (or (string? content)
                   (bytevector? content)
                   (input-port? content)
                   (and (pair? content) (eq? (car content) 'file) (string? (cdr content)))))
          (%type-error 'make-part 2 "string, bytevector, port or (file . PATH)" content))
      (if (not (or (not filename) (string? filename)))
          (raise-bad-option 'make-part "#:filename" "a string" filename))
      (new-part name
                (or filename
                    (and (pair? content) (without-directories (cdr content))))
                (or type
                    (and (or filename (pair? content)) '(application/octet-stream)))
                headers
                content))

    ;; A boundary that no content has by chance: 120 random bits.
    (define (make-boundary)
      (let ((port (open-binary-input-file "/dev/urandom")))
        (let ((bytes (read-bytevector 15 port)))
          (close-port port)
          (string-append "----canny-" (%hex-encode bytes #f)))))

    (define (write-escaped text port)
      (let ((end (string-length text)))
        (let loop ((index 0))
          (if (< index end)
              (let ((char (string-ref text index)))
                (case char
                  ((#\") (write-string "%22" port))
                  ((#\return) (write-string "%0D" port))
                  ((#\newline) (write-string "%0A" port))
                  (else
                   (if (char<? char #\space)
                       (wrong "the name of a part has a control character"))
                   (write-char char port)))
                (loop (+ index 1)))))))

    ;; The bytes in front of the contents of a part.
    (define (part-head part boundary)
      (let ((port (open-output-string)))
        (write-string "--" port)
        (write-string boundary port)
        (write-string "\r\nContent-Disposition: form-data; name=\"" port)
        (write-escaped (name-of part) port)
        (write-char #\" port)
        (if (filename-of part)
            (begin
              (write-string "; filename=\"" port)
              (write-escaped (filename-of part) port)
              (write-char #\" port)))
        (if (type-of part)
            (begin
              (write-string "\r\nContent-Type: " port)
              (write-string (if (string? (type-of part))
                                (header->string 'content-type
                                                (parse-header 'content-type (type-of part)))
                                (header->string 'content-type (type-of part)))
                            port)))
        (for-each-element
         (lambda (header)
           (write-string "\r\n" port)
           (write-string (token->string (car header) (car header)) port)
           (write-string ": " port)
           (write-string (header->string (car header) (cdr header)) port))
         (headers-of part))
        (write-string "\r\n\r\n" port)
        (string->utf8 (get-output-string port))))

    ;; Parts, or pairs of a name and a content.
    (define (as-parts who parts)
      (check-argument who 1 list? "list of parts" parts)
      (let loop ((rest parts) (result '()))
        (if (null? rest)
            (reverse! result)
            (let ((part (car rest)))
              (loop (cdr rest)
                    (cons (cond ((part? part) part)
                                ((pair? part)
                                 (make-part (if (symbol? (car part))
                                                (symbol->string (car part))
                                                (car part))
                                            (cdr part)))
                                (else (%type-error who 1 "list of parts" parts)))
                          result))))))

    ;; Writes a form of parts, or pairs of a name and a content, to a binary port.
    (define (write-multipart parts port boundary)
      (check-boundary 'write-multipart boundary)
      (for-each-element
       (lambda (part)
         (write-bytevector (part-head part boundary) port)
         (let ((content (content-of part)))
           (if (or (pair? content) (port? content))
               (let ((input (part-port part)))
                 (copy-port input port)
                 (if (pair? content) (close-port input)))
               (write-bytevector (part-bytes part) port)))
         (write-bytevector (bytevector 13 10) port))
       (as-parts 'write-multipart parts))
      (write-bytevector (string->utf8 (string-append "--" boundary "--\r\n")) port))

    ;; How many bytes that writes, or #f if a content is a port.
    (define (multipart-length parts boundary)
      (check-boundary 'multipart-length boundary)
      (let loop ((rest (as-parts 'multipart-length parts))
                 (sum (+ 6 (string-length boundary))))
        (if (null? rest)
            sum
            (let ((size (part-size (car rest))))
              (and size
                   (loop (cdr rest)
                         (+ sum size 2
                            (bytevector-length (part-head (car rest) boundary)))))))))))
