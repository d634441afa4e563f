;;; (srfi 181): Custom ports (including transcoded ports).
;;;
;;; A transcoder whose end-of-line style is not `none` makes every end of a line a line
;;; feed when reading. When writing it makes it the end of the style.

(define-library (srfi 181)
  (export make-custom-binary-input-port make-custom-textual-input-port
          make-custom-binary-output-port make-custom-textual-output-port
          make-custom-binary-input/output-port make-file-error
          make-codec latin-1-codec utf-8-codec utf-16-codec native-eol-style
          unknown-encoding-error? unknown-encoding-error-name
          i/o-decoding-error? i/o-encoding-error? i/o-encoding-error-char
          make-transcoder native-transcoder transcoded-port
          bytevector->string string->bytevector)
  (import (canny primitives) (canny syntax) (canny machine control) (canny machine arguments)
          (canny io))
  (begin

    (define (name-of id)
      (let ((port (open-output-string)))
        (display id port)
        (get-output-string port)))

    (define (make-custom-binary-input-port id read! get-position set-position! close)
      (make-binary-input (name-of id) read!
                         #:position get-position #:set-position! set-position! #:close close))

    (define (make-custom-textual-input-port id read! get-position set-position! close)
      (make-textual-input (name-of id) read!
                          #:position get-position #:set-position! set-position! #:close close))

    (define (make-custom-binary-output-port id write! get-position set-position! close . flush)
      (make-binary-output (name-of id) write!
                          #:position get-position #:set-position! set-position! #:close close
                          #:flush (and (pair? flush) (car flush))))

    (define (make-custom-textual-output-port id write! get-position set-position! close . flush)
      (make-textual-output (name-of id) write!
                           #:position get-position #:set-position! set-position! #:close close
                           #:flush (and (pair? flush) (car flush))))

    (define (make-custom-binary-input/output-port id read! write! get-position set-position! close
                                                  . flush)
      (make-binary-input/output (name-of id) read! write!
                                #:position get-position #:set-position! set-position!
                                #:close close #:flush (and (pair? flush) (car flush))))

    (define (make-file-error . objects)
      (%make-condition 'file "file error" objects #f))

    ;; Codecs.

    (define-record-type codec
      (new-codec name)
      codec?
      (name codec-name))

    (define (make-codec name)
      (check-argument 'make-codec 1 string? "string" name)
      (if (encoding-name name)
          (new-codec name)
          (raise (%make-condition 'unknown-encoding "unknown encoding" (list name) 'make-codec))))

    (define (unknown-encoding-error? object)
      (and (error-object? object)
           (eq? (condition-kind object) 'unknown-encoding)))

    (define (unknown-encoding-error-name condition)
      (check-argument 'unknown-encoding-error-name 1 unknown-encoding-error?
                      "unknown encoding error" condition)
      (car (error-object-irritants condition)))

    (define the-latin-1-codec (new-codec "ISO-8859-1"))
    (define the-utf-8-codec (new-codec "UTF-8"))
    (define the-utf-16-codec (new-codec "UTF-16"))

    (define (latin-1-codec) the-latin-1-codec)
    (define (utf-8-codec) the-utf-8-codec)
    (define (utf-16-codec) the-utf-16-codec)

    (define (native-eol-style) 'none)

    (define (i/o-decoding-error? object)
      (and (read-error? object)
           (string-prefix? "cannot read: malformed " (error-object-message object))))

    (define (i/o-encoding-error? object)
      (and (file-error? object)
           (encoding-error-place object)
           #t))

    ;; The index of the character's number in the message.
    (define (encoding-error-place object)
      (let* ((message (error-object-message object))
             (place (string-contains message " has no character U+")))
        (and (string-prefix? "cannot write: " message)
             place
             (+ place 20))))

    (define (i/o-encoding-error-char condition)
      (check-argument 'i/o-encoding-error-char 1 i/o-encoding-error? "encoding error" condition)
      (let ((message (error-object-message condition)))
        (integer->char (string->number (substring message (encoding-error-place condition)
                                                  (string-length message))
                                       16))))

    ;; Transcoders.

    (define-record-type transcoder
      (new-transcoder codec eol-style handling-mode)
      transcoder?
      (codec transcoder-codec)
      (eol-style transcoder-eol-style)
      (handling-mode transcoder-handling-mode))

    (define (make-transcoder codec eol-style handling-mode)
      (check-argument 'make-transcoder 1 codec? "codec" codec)
      (if (not (memq eol-style '(none lf cr crlf nel crnel ls)))
          (%range-error 'make-transcoder 2 "an end-of-line style" eol-style))
      (if (not (memq handling-mode '(raise replace ignore)))
          (%range-error 'make-transcoder 3 "one of raise, replace, ignore" handling-mode))
      (new-transcoder codec eol-style handling-mode))

    (define the-native-transcoder (new-transcoder the-utf-8-codec 'none 'replace))

    (define (native-transcoder) the-native-transcoder)

    (define (transcoded-port port transcoder)
      (check-argument 'transcoded-port 1 binary-port? "binary port" port)
      (check-argument 'transcoded-port 2 transcoder? "transcoder" transcoder)
      (let* ((encoding (codec-name (transcoder-codec transcoder)))
             (mode (transcoder-handling-mode transcoder))
             (style (transcoder-eol-style transcoder))
             (text (transcode-port port #:encoding encoding #:malformed mode)))
        (cond ((eq? style 'none) text)
              ((and (input-port? text) (output-port? text))
               (make-input/output-port (with-line-feeds (%port-side text #f))
                                       (if (eq? style 'lf)
                                           (%port-side text #t)
                                           (with-line-ends (%port-side text #t) (line-end style)))))
              ((input-port? text) (with-line-feeds text))
              ((eq? style 'lf) text)
              (else (with-line-ends text (line-end style))))))

    (define (line-end style)
      (case style
        ((lf) "\n")
        ((cr) "\r")
        ((crlf) "\r\n")
        ((nel) "\x85;")
        ((crnel) "\r\x85;")
        (else "\x2028;")))

    (define (with-line-feeds source)
      (define after-return? #f)
      (define (read! buffer start count)
        (let next ((index start))
          (if (or (= index (+ start count))
                  (and (> index start) (not (char-ready? source))))
              (- index start)
              (let ((character (read-char source)))
                (cond ((eof-object? character) (- index start))
                      ((and after-return? (memv character '(#\newline #\x85)))
                       (set! after-return? #f)
                       (next index))
                      (else
                       (set! after-return? (eqv? character #\return))
                       (string-set! buffer index
                                    (if (memv character '(#\return #\x85 #\x2028))
                                        #\newline
                                        character))
                       (next (+ index 1))))))))
      (make-textual-input (port-name source) read! #:close (lambda () (close-port source))))

    (define (with-line-ends target end)
      (define (write! text start count)
        (let next ((index start))
          (if (< index (+ start count))
              (let ((character (string-ref text index)))
                (if (eqv? character #\newline)
                    (write-string end target)
                    (write-char character target))
                (next (+ index 1)))))
        count)
      (make-textual-output (port-name target) write!
                           #:close (lambda () (close-port target))
                           #:flush (lambda () (flush-output-port target))))

    ;; The index of the first line feed from `start` on, or `#f`.
    (define (newline-from text start)
      (cond ((= start (string-length text)) #f)
            ((eqv? (string-ref text start) #\newline) start)
            (else (newline-from text (+ start 1)))))

    (define (bytevector->string bytes transcoder)
      (check-argument 'bytevector->string 1 bytevector? "bytevector" bytes)
      (let ((port (transcoded-port (open-input-bytevector bytes) transcoder))
            (text (open-output-string)))
        (let next ()
          (let ((piece (read-string 4096 port)))
            (if (eof-object? piece)
                (get-output-string text)
                (begin
                  (write-string piece text)
                  (next)))))))

    (define (string->bytevector text transcoder)
      (check-argument 'string->bytevector 1 string? "string" text)
      (check-argument 'string->bytevector 2 transcoder? "transcoder" transcoder)
      (let ((end (line-end (if (eq? (transcoder-eol-style transcoder) 'none)
                               'lf
                               (transcoder-eol-style transcoder))))
            (encoder (make-encoder (codec-name (transcoder-codec transcoder))
                                   #:malformed (transcoder-handling-mode transcoder))))
        (let next ((start 0))
          (let ((place (newline-from text start)))
            (encoder-write! encoder (substring text start (or place (string-length text))))
            (if place
                (begin
                  (encoder-write! encoder end)
                  (next (+ place 1))))))
        (encoder-finish! encoder)
        (encoder-take! encoder)))))
