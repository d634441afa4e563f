;;; (canny io): ports with options, positions, locks and time limits; lines; decoders and encoders;
;;; ports and encodings that are made of procedures.
;;;
;;; How ports of procedures work: such a port stands over a channel, a pipe in memory that is
;;; *served*. A primitive that finds the channel empty, or full, makes the machine call the port's
;;; procedure, its service, with one of these numbers, and begins again afterwards:
;;;   `service/fill`           make bytes with %feed-port!, or say with %end-port! that there are none for now
;;;   `service/drain`          take what was written with %take-port-bytes!
;;;   `service/flush`          take it, pass it on, and say so with %acknowledge-port!
;;;   `service/close`          release what the port stands for, and say so with %acknowledge-port!
;;;   `service/position`       give the position, or #f
;;;   `service/set-position`   give a procedure that changes the position, or #f
;;;   `service/encoding`       give the name of the encoding, or #f
;;;   `service/succeed`        give a procedure that takes the port in the place of this one
;;; The text of textual ports is UTF-8 in the channel.
;;;
;;; A port for both directions stands for two others. Where they have one position, that of a file
;;; or of a program's own, it goes from one to the other when the direction changes; a service is
;;; then called with `service/turn-to-read` or `service/turn-to-write`.

(define-library (canny io)
  (export open-input open-output open-binary-input open-binary-output open-input-output
          open-input/output open-binary-input/output
          make-input/output-port make-binary-input/output input/output-port?
          transcode-input transcode-output transcode-port
          port-encoding encoding-names encoding-name
          set-port-buffering! set-port-lines!
          port-closed? port-timeout set-port-timeout! timeout-error?
          port-position set-port-position!
          port-has-position? port-seekable? port-file-length truncate-port sync-port
          lock-port unlock-port call-with-locked-port
          read-bytevector-at read-available read-whole-line
          lines for-each-line in-lines
          make-encoding encoding? encoding-object-name
          make-decoder decoder? decoder-feed! decoder-finish!
          decoder-read-char decoder-peek-char decoder-read-line decoder-read-string
          decoder-read-available
          make-encoder encoder? encoder-write! encoder-finish! encoder-take!
          decode-bytevector encode-string
          make-binary-input make-textual-input make-binary-output make-textual-output)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny machine ports)
          (canny machine arguments)
          (only (canny loop) in-lines) (only (canny machine posix) timeout-error?))
  (begin

    (define piece-size 16384)

    ;; Opening.

    (define (mode-number who mode)
      (case mode
        ((truncate) output-mode/truncate)
        ((append) output-mode/append)
        ((overwrite) output-mode/overwrite)
        ((create-new) output-mode/create-new)
        (else (%range-error who 2 "one of truncate, append, overwrite, create-new" mode))))

    ;; A textual port that reads a file. The options are those of `transcode-input`.
    (define* (open-input name #:key (encoding "UTF-8") (malformed 'raise) (lines 'any)
                         (byte-order-mark 'omit))
      (check-input-options 'open-input encoding malformed lines byte-order-mark)
      (transcode-to-text (%open-input name) encoding malformed lines byte-order-mark))

    ;; A binary port that reads a file.
    (define (open-binary-input name)
      (%open-input name))

    ;; A textual port that writes a file. `mode` says what becomes of a file that is there:
    ;; `truncate`, `append`, `overwrite` or `create-new`, which wants that there is none. The other
    ;; options are those of `transcode-output`.
    (define* (open-output name #:key (mode 'truncate) (encoding "UTF-8") (malformed 'raise)
                          (byte-order-mark 'omit) (buffering 'default))
      (check-output-options 'open-output encoding malformed byte-order-mark buffering)
      (transcode-from-text (%open-output name (mode-number 'open-output mode))
                           encoding malformed byte-order-mark buffering))

    ;; A binary port that writes a file, with the modes of `open-output`.
    (define* (open-binary-output name #:key (mode 'truncate) (buffering 'default))
      (let ((port (%open-output name (mode-number 'open-binary-output mode))))
        (%set-port-buffering! port buffering)
        port))

    ;; A binary port that reads and writes a file at one position, with the modes of `open-output`.
    (define* (open-binary-input/output name #:key (mode 'overwrite) (buffering 'default))
      (let ((port (%open-input/output name (mode-number 'open-binary-input/output mode))))
        (%set-port-buffering! port buffering)
        port))

    ;; A textual port that reads and writes a file at one position. The options are those of
    ;; `open-input` and `open-output`.
    (define* (open-input/output name #:key (mode 'overwrite) (encoding "UTF-8") (malformed 'raise)
                                (lines 'any) (byte-order-mark 'omit) (buffering 'default))
      (check-input-options 'open-input/output encoding malformed lines byte-order-mark)
      (check-output-options 'open-input/output encoding malformed byte-order-mark buffering)
      (transcode-both (%open-input/output name (mode-number 'open-input/output mode))
                      encoding malformed lines byte-order-mark buffering))

    ;; One port for both directions of an input port and an output port, both binary or both
    ;; textual: whatever reads uses the first, whatever writes the second. `close-port` closes both,
    ;; `close-input-port` and `close-output-port` one of them.
    (define (make-input/output-port input output)
      (%join-ports input output #f))

    ;; Whether an object is a port for both directions.
    (define (input/output-port? object)
      (and (port? object)
           (input-port? object)
           (output-port? object)))

    ;; Two binary ports on one file, the first to read it and the second to write it, each with a
    ;; position of its own. What was written is read once it was flushed.
    (define* (open-input-output name #:key (mode 'overwrite) (buffering 'default))
      (let* ((output (open-binary-output name #:mode mode #:buffering buffering))
             (input (%open-input name)))
        (values input output)))

    ;; Options.

    (define (check-encoding who object)
      (cond ((encoding? object))
            ((or (string? object) (symbol? object))
             (if (not (%encoding-name (if (symbol? object) (symbol->string object) object)))
                 (%range-error who 1 "the name of a known encoding" object)))
            (else (%type-error who 1 "encoding" object))))

    (define (check-choice who object choices)
      (if (not (memq object choices))
          (%range-error who 1 (choice-text choices) object)))

    (define (choice-text choices)
      (let ((port (open-output-string)))
        (write-string "one of" port)
        (let next ((rest choices))
          (if (pair? rest)
              (begin
                (write-string (if (eq? rest choices) " " ", ") port)
                (display (car rest) port)
                (next (cdr rest)))))
        (get-output-string port)))

    (define (check-lines who object)
      (cond ((memq object '(any linefeed)))
            ((and (string? object) (not (string=? object ""))))
            ((and (pair? object) (list? object) (all-strings? object)))
            (else (%type-error who 1 "any, linefeed, string or list of strings" object))))

    (define (all-strings? list)
      (or (null? list)
          (and (string? (car list))
               (not (string=? (car list) ""))
               (all-strings? (cdr list)))))

    (define (check-input-options who encoding malformed lines byte-order-mark)
      (check-encoding who encoding)
      (check-choice who malformed '(raise replace ignore))
      (check-lines who lines)
      (check-choice who byte-order-mark '(omit keep)))

    (define (check-output-options who encoding malformed byte-order-mark buffering)
      (check-encoding who encoding)
      (check-choice who malformed '(raise replace ignore))
      (check-choice who byte-order-mark '(omit keep))
      (check-choice who buffering '(default block line none)))

    ;; Transcoding.

    ;; A textual port in the place of a binary input port, which is closed but for that. `encoding`
    ;; is a name or an encoding object, `malformed` one of `raise`, `replace` and `ignore`; `lines`
    ;; says what ends a line: `any` of the usual ends, `linefeed`, a string or a list of strings;
    ;; `byte-order-mark` is `omit` or `keep`.
    (define* (transcode-input port #:key (encoding "UTF-8") (malformed 'raise) (lines 'any)
                              (byte-order-mark 'omit))
      (check-input-options 'transcode-input encoding malformed lines byte-order-mark)
      (transcode-to-text port encoding malformed lines byte-order-mark))

    ;; A textual port in the place of a binary output port. `malformed` is for characters that the
    ;; encoding has not; `buffering` is `block`, `line`, `none`, or `default`, which is lines for
    ;; terminals and blocks for the rest.
    (define* (transcode-output port #:key (encoding "UTF-8") (malformed 'raise)
                               (byte-order-mark 'omit) (buffering 'default))
      (check-output-options 'transcode-output encoding malformed byte-order-mark buffering)
      (transcode-from-text port encoding malformed byte-order-mark buffering))

    ;; A textual port in the place of a binary port of any direction, or of both. The options are
    ;; those of `transcode-input` and `transcode-output`.
    (define* (transcode-port port #:key (encoding "UTF-8") (malformed 'raise) (lines 'any)
                             (byte-order-mark 'omit) (buffering 'default))
      (check-argument 'transcode-port 1 port? "binary port" port)
      (check-input-options 'transcode-port encoding malformed lines byte-order-mark)
      (check-output-options 'transcode-port encoding malformed byte-order-mark buffering)
      (cond ((not (output-port? port))
             (transcode-to-text port encoding malformed lines byte-order-mark))
            ((not (input-port? port))
             (transcode-from-text port encoding malformed byte-order-mark buffering))
            (else (transcode-both port encoding malformed lines byte-order-mark buffering))))

    (define (transcode-both port encoding malformed lines byte-order-mark buffering)
      ;; What is decoded or encoded by procedures has no position.
      (let ((turns (and (not (encoding? encoding)) (%port-turns port)))
            (output (transcode-from-text port encoding malformed byte-order-mark buffering)))
        (%join-ports (transcode-to-text port encoding malformed lines byte-order-mark)
                     output
                     turns)))

    (define (transcode-to-text port encoding malformed lines byte-order-mark)
      (let ((port (side port input-port? #f)))
        (if (encoding? encoding)
            (user-input port encoding malformed lines)
            (adopted port (%transcode-input port encoding malformed lines byte-order-mark)))))

    (define (transcode-from-text port encoding malformed byte-order-mark buffering)
      (let ((port (side port output-port? #t)))
        (if (encoding? encoding)
            (user-output port encoding malformed)
            (adopted port (%transcode-output port encoding malformed byte-order-mark buffering)))))

    ;; The port of a port for both directions that has the direction; any other object.
    (define (side object has-direction? writes?)
      (if (and (port? object) (has-direction? object))
          (%port-side object writes?)
          object))

    ;; Tells the service of a port which port has taken its place.
    (define (adopted before after)
      (let ((service (%port-service before)))
        (if service ((service service/succeed) after))
        after))

    ;; The name of a textual port's encoding.
    (define (port-encoding port)
      (let* ((port (side port input-port? #f))
             (service (and (port? port) (%port-service port))))
        (or (and service (service service/encoding))
            (%port-encoding port))))

    ;; The usual name of an encoding that is built in, or `#f`.
    (define (encoding-name name)
      (%encoding-name name))

    ;; Changes when an output port hands its bytes on: `block`, `line` or `none`.
    (define (set-port-buffering! port buffering)
      (check-choice 'set-port-buffering! buffering '(default block line none))
      (%set-port-buffering! port buffering))

    ;; Changes what ends a line of a textual input port from here on; see `transcode-input`.
    (define (set-port-lines! port lines)
      (check-lines 'set-port-lines! lines)
      (%set-port-lines! port lines))

    ;; State, waits and files.

    ;; Whether a port was closed, in both directions if it has both.
    (define (port-closed? port)
      (not (or (input-port-open? port)
               (and (output-port? port) (output-port-open? port)))))

    ;; Limits each wait of a port for the other side to so many seconds; `#f` is no limit. A wait
    ;; that lasts longer is an error that `timeout-error?` knows, and nothing is lost by it.
    (define (set-port-timeout! port seconds)
      (%set-port-timeout!
       port
       (cond ((not seconds) #f)
             ((and (real? seconds) (> seconds 0) (< seconds 1e12))
              (exact (ceiling (* 1000 seconds))))
             (else (%type-error 'set-port-timeout! 2 "positive number or #f" seconds)))))

    ;; Where the next byte of a port, or the first byte of its next character, stands.
    (define (port-position port)
      (let ((port (side port input-port? #f)))
        (if (and (port? port) (%port-service port))
            (%custom-position port)
            (%port-position port))))

    ;; Continues at another position, counted in bytes from the start, where a character must begin.
    (define (set-port-position! port position)
      (let ((port (side port input-port? #f)))
        (if (and (port? port) (%port-service port))
            (%custom-set-position! port position)
            (%set-port-position! port position))))

    ;; Whether a port can tell its position. Only ports of procedures may be unable to.
    (define (port-has-position? port)
      (check-argument 'port-has-position? 1 port? "port" port)
      (let ((service (%port-service (side port input-port? #f))))
        (or (not service)
            (and (service service/position) #t))))

    ;; Whether the position of a port can be changed.
    (define (port-seekable? port)
      (let* ((port (side port input-port? #f))
             (service (and (port? port) (%port-service port))))
        (if service
            (and (service service/set-position) #t)
            (%port-seekable? port))))

    ;; Cuts off the file of an output port, or makes it longer with zeros.
    (define (truncate-port port length)
      (%truncate-port port length))

    ;; Waits until everything that was written to a port is on the disk. With `data-only?` not true
    ;; for what is only told about the file, such as its times.
    (define (sync-port port . data-only?)
      (%sync-port port (and (pair? data-only?) (car data-only?))))

    ;; Locks the file of a port for all others that ask: `exclusive`, or `shared`. Waits until it
    ;; gets the lock, unless `wait?` is false. Gives whether it has the lock.
    (define* (lock-port port #:optional (kind 'exclusive) #:key (wait? #t))
      (check-choice 'lock-port kind '(exclusive shared))
      (%lock-port port (eq? kind 'exclusive) wait?))

    ;; Calls a procedure with a port whose file is locked meanwhile.
    (define* (call-with-locked-port port procedure #:optional (kind 'exclusive))
      (check-procedure 'call-with-locked-port 2 procedure)
      (dynamic-wind
       (lambda () (lock-port port kind))
       (lambda () (procedure port))
       (lambda () (if (not (port-closed? port)) (unlock-port port)))))

    ;; Lines.

    ;; The next line of a textual port together with what ends it.
    (define (read-whole-line . port)
      (if (pair? port)
          (%read-whole-line (car port))
          (%read-whole-line (current-input-port))))

    ;; A generator of the lines of a port: a procedure that gives the next one, and an end-of-file
    ;; object behind the last. With `keep?` a line has its end.
    (define* (lines #:optional (port (current-input-port)) #:key (keep? #f))
      (check-argument 'lines 1 input-port? "textual input port" port)
      (if keep?
          (lambda () (%read-whole-line port))
          (lambda () (read-line port))))

    ;; Calls a procedure with each line of a port.
    (define* (for-each-line procedure #:optional (port (current-input-port)))
      (check-procedure 'for-each-line 1 procedure)
      (let next ((line (read-line port)))
        (if (not (eof-object? line))
            (begin
              (procedure line)
              (next (read-line port))))))

    ;; Encodings of a program's own.

    (define-record-type encoding
      (new-encoding name decode encode)
      encoding?
      (name encoding-object-name)
      (decode encoding-decode)
      (encode encoding-encode))

    ;; An encoding made of two procedures.
    ;;
    ;; `(decode bytes last? state)` gives four values: the text of as many bytes as form whole
    ;; characters, the number of these bytes, the state behind them, and the length of a malformed
    ;; sequence that comes next, or 0. Bytes that it does not take it gets again, with more behind
    ;; them; `last?` says that there are no more.
    ;;
    ;; `(encode text last? state)` gives three values: a bytevector, the state, and the index of the
    ;; first character that has no bytes, or `#f` if all of them were encoded. The state is `#f` at
    ;; first.
    (define (make-encoding name decode encode)
      (check-argument 'make-encoding 1 string? "string" name)
      (check-procedure 'make-encoding 2 decode)
      (check-procedure 'make-encoding 3 encode)
      (new-encoding name decode encode))

    (define (raise-malformed encoding name offset bytes length)
      (let ((message (open-output-string)))
        (write-string "cannot read: malformed " message)
        (write-string (encoding-object-name encoding) message)
        (write-string " at byte " message)
        (display offset message)
        (write-string " (" message)
        (let next ((index 0))
          (if (< index length)
              (let ((byte (bytevector-u8-ref bytes index)))
                (if (> index 0) (write-string " " message))
                (if (< byte 16) (write-string "0" message))
                (write-string (string-upcase (number->string byte 16)) message)
                (next (+ index 1)))))
        (write-string ")" message)
        (raise (%make-condition 'read (get-output-string message) (list name) 'read))))

    ;; A procedure that takes bytes, which begin with those that were left, and whether they are the
    ;; last; `give` gets the text. What is malformed is reported by the call after the one that
    ;; found it, and skipped.
    (define (bytes->text encoding name malformed give)
      (let ((decode (encoding-decode encoding)) (state #f) (rest (bytevector)) (offset 0) (fault 0))
        (define (skip length)
          (set! rest (bytevector-copy rest length))
          (set! offset (+ offset length)))
        (define (work last?)
          (let-values (((text used next length) (decode rest last? state)))
            (set! state next)
            (skip used)
            (if (not (string=? text "")) (give text))
            (let ((length (if (and last? (= length 0)) (bytevector-length rest) length)))
              (if (> length 0)
                  (case malformed
                    ((raise) (set! fault (min length (bytevector-length rest))))
                    (else
                     (if (eq? malformed 'replace) (give "\xFFFD;"))
                     (skip (min length (bytevector-length rest)))
                     (work last?)))))))
        (define (report-fault)
          (if (> fault 0)
              (let ((bytes rest) (at offset) (length fault))
                (set! fault 0)
                (skip length)
                (raise-malformed encoding name at bytes length))))
        (case-lambda
          (() (> fault 0))
          ((bytes last?)
           (report-fault)
           (set! rest (if (= (bytevector-length rest) 0) bytes (bytevector-append rest bytes)))
           (work last?)))))

    ;; A procedure that takes text and whether it is the last; `give` gets the bytes.
    (define (text->bytes encoding name malformed give)
      (let ((encode (encoding-encode encoding)) (state #f))
        (define (work text last?)
          (let-values (((bytes next bad) (encode text last? state)))
            (set! state next)
            (if (> (bytevector-length bytes) 0) (give bytes))
            (if bad
                (let ((rest (string-copy text (+ bad 1))))
                  (case malformed
                    ((raise)
                     (raise (%make-condition
                             'file
                             (string-append "cannot write: " (encoding-object-name encoding)
                                            " has no character U+"
                                            (string-upcase
                                             (number->string (char->integer (string-ref text bad))
                                                             16)))
                             (list name)
                             'write)))
                    ((replace) (work "?" #f) (work rest last?))
                    (else (work rest last?)))))))
        work))

    (define (user-input port encoding malformed lines)
      (define name (port-name port))
      (define text-port
        (%transcode-input (%open-channel name (lambda (request) (serve request)) #t)
                          "UTF-8" 'raise lines 'keep))
      (define take
        (bytes->text encoding name malformed
                     (lambda (text) (%feed-port! text-port text 0 (string-length text)))))
      (define ended? #f)
      (define (serve request)
        (cond
         ((eqv? request service/fill)
          (cond ((take) (take (bytevector) ended?))
                (ended? (set! ended? #f) (%end-port! text-port #f))
                (else
                 (let ((bytes (read-available port)))
                   (if (eof-object? bytes)
                       (begin
                         (set! ended? #t)
                         (take (bytevector) #t))
                       (take bytes #f))))))
         ((eqv? request service/close) (close-port port) (%acknowledge-port! text-port))
         ((eqv? request service/encoding) (encoding-object-name encoding))
         (else #f)))
      (check-argument 'transcode-input 1 binary-port? "binary input port" port)
      (check-argument 'transcode-input 1 input-port? "binary input port" port)
      text-port)

    (define (user-output port encoding malformed)
      (define name (port-name port))
      (define text-port
        (%transcode-output (%open-channel name (lambda (request) (serve request)) #f)
                           "UTF-8" 'raise 'omit 'block))
      (define give
        (text->bytes encoding name malformed (lambda (bytes) (write-bytevector bytes port))))
      (define (drain last?)
        (give (utf8->string (%take-port-bytes! text-port)) last?))
      (define (serve request)
        (cond
         ((eqv? request service/drain) (drain #f))
         ((eqv? request service/flush)
          (drain #f)
          (flush-output-port port)
          (%acknowledge-port! text-port))
         ((eqv? request service/close) (drain #t) (close-port port) (%acknowledge-port! text-port))
         ((eqv? request service/encoding) (encoding-object-name encoding))
         (else #f)))
      (check-argument 'transcode-output 1 binary-port? "binary output port" port)
      (check-argument 'transcode-output 1 output-port? "binary output port" port)
      (note-output! text-port))

    ;; Decoders and encoders without a port.

    (define-record-type decoder
      (new-decoder port feed finish)
      decoder?
      (port decoder-port)
      (feed decoder-feed)
      (finish decoder-finish))

    (define (check-decoder who object)
      (check-argument who 1 decoder? "decoder" object))

    ;; A decoder, which is fed bytes, cut anywhere, and asked for text. The options are those of
    ;; `transcode-input`. Asked for something that has not arrived whole, it gives `#f`; at the end,
    ;; the end-of-file object.
    (define* (make-decoder #:optional (encoding "UTF-8") #:key (malformed 'raise) (lines 'any)
                           (byte-order-mark 'omit))
      (check-input-options 'make-decoder encoding malformed lines byte-order-mark)
      (if (encoding? encoding)
          (let*
              ((port (%transcode-input (%open-channel "decoder" #f #t) "UTF-8" 'raise lines 'keep))
               (take (bytes->text encoding "decoder" malformed
                                  (lambda (text) (%feed-port! port text 0 (string-length text))))))
            (new-decoder port
                         (lambda (bytes start end) (take (bytevector-copy bytes start end) #f))
                         (lambda ()
                           (take (bytevector) #t)
                           (if (take) (take (bytevector) #t))
                           (%end-port! port #t))))
          (let ((port (%transcode-input (%open-channel "decoder" #f #t)
                                        encoding malformed lines byte-order-mark)))
            (new-decoder port
                         (lambda (bytes start end) (%feed-port! port bytes start end))
                         (lambda () (%end-port! port #t))))))

    ;; Gives a decoder the next bytes.
    (define* (decoder-feed! decoder bytes #:optional (start 0) (end (bytevector-length bytes)))
      (check-decoder 'decoder-feed! decoder)
      (check-argument 'decoder-feed! 2 bytevector? "bytevector" bytes)
      (check-bounds 'decoder-feed! 3 start end (bytevector-length bytes))
      ((decoder-feed decoder) bytes start end))

    ;; Says that there are no more bytes.
    (define (decoder-finish! decoder)
      (check-decoder 'decoder-finish! decoder)
      ((decoder-finish decoder)))

    ;; The next character.
    (define (decoder-read-char decoder)
      (check-decoder 'decoder-read-char decoder)
      (%try-read (decoder-port decoder) try-read/character))

    ;; The next character, which stays.
    (define (decoder-peek-char decoder)
      (check-decoder 'decoder-peek-char decoder)
      (%try-read (decoder-port decoder) try-read/peek))

    ;; The next line; with `keep?` it has its end.
    (define* (decoder-read-line decoder #:key (keep? #f))
      (check-decoder 'decoder-read-line decoder)
      (%try-read (decoder-port decoder) (if keep? try-read/whole-line try-read/line)))

    ;; The next so many characters, or those before the end.
    (define (decoder-read-string decoder count)
      (check-decoder 'decoder-read-string decoder)
      (check-index 'decoder-read-string 2 count)
      (%try-read (decoder-port decoder) try-read/characters count))

    ;; All text that there is.
    (define (decoder-read-available decoder)
      (check-decoder 'decoder-read-available decoder)
      (%try-read (decoder-port decoder) try-read/available))

    (define-record-type encoder
      (new-encoder write finish take)
      encoder?
      (write encoder-write)
      (finish encoder-finish)
      (take encoder-take))

    ;; An encoder, which is given text and asked for bytes. The options are those of
    ;; `transcode-output`.
    (define* (make-encoder #:optional (encoding "UTF-8") #:key (malformed 'raise)
                           (byte-order-mark 'omit))
      (check-output-options 'make-encoder encoding malformed byte-order-mark 'block)
      (if (encoding? encoding)
          (let* ((bytes (open-output-bytevector))
                 (give (text->bytes encoding "encoder" malformed
                                    (lambda (piece) (write-bytevector piece bytes)))))
            (new-encoder (lambda (text) (give text #f))
                         (lambda () (give "" #t))
                         (lambda ()
                           (let ((taken (get-output-bytevector bytes)))
                             (set! bytes (open-output-bytevector))
                             taken))))
          (let ((port (%transcode-output (%open-channel "encoder" #f #f)
                                         encoding malformed byte-order-mark 'block)))
            (new-encoder (lambda (text) (write-string text port))
                         (lambda () #f)
                         (lambda () (%take-port-bytes! port))))))

    ;; Gives an encoder the next text.
    (define (encoder-write! encoder text)
      (check-argument 'encoder-write! 1 encoder? "encoder" encoder)
      (check-argument 'encoder-write! 2 string? "string" text)
      ((encoder-write encoder) text))

    ;; Says that there is no more text.
    (define (encoder-finish! encoder)
      (check-argument 'encoder-finish! 1 encoder? "encoder" encoder)
      ((encoder-finish encoder)))

    ;; Takes the bytes that there are.
    (define (encoder-take! encoder)
      (check-argument 'encoder-take! 1 encoder? "encoder" encoder)
      ((encoder-take encoder)))

    ;; The text of a bytevector. The options are those of `transcode-input`.
    (define* (decode-bytevector bytes #:optional (encoding "UTF-8") #:key (malformed 'raise)
                                (byte-order-mark 'omit))
      (check-argument 'decode-bytevector 1 bytevector? "bytevector" bytes)
      (check-input-options 'decode-bytevector encoding malformed 'any byte-order-mark)
      (let ((port (transcode-to-text (open-input-bytevector bytes)
                                     encoding malformed 'any byte-order-mark))
            (text (open-output-string)))
        (let next ()
          (let ((piece (read-string piece-size port)))
            (if (eof-object? piece)
                (get-output-string text)
                (begin
                  (write-string piece text)
                  (next)))))))

    ;; The bytes of a text. The options are those of `transcode-output`.
    (define* (encode-string text #:optional (encoding "UTF-8") #:key (malformed 'raise)
                            (byte-order-mark 'omit))
      (check-argument 'encode-string 1 string? "string" text)
      (let ((encoder
             (make-encoder encoding #:malformed malformed #:byte-order-mark byte-order-mark)))
        (encoder-write! encoder text)
        (encoder-finish! encoder)
        (encoder-take! encoder)))

    ;; Ports of procedures.

    (define (check-procedure-or-false who position object)
      (if object (check-procedure who position object)))

    (define (check-count who count size)
      (if (not (and (exact-integer? count) (<= 0 count size)))
          (%range-error who 2 "a count of what there is room for" count)
          count))

    ;; A binary input port whose bytes a procedure makes: `(read! bytevector start count)` puts at
    ;; most `count` bytes into the bytevector from `start` on and gives their number; 0 is the end.
    (define* (make-binary-input name read! #:key (position #f) (set-position! #f) (close #f))
      (check-argument 'make-binary-input 1 string? "string" name)
      (check-procedure 'make-binary-input 2 read!)
      (check-procedure-or-false 'make-binary-input 3 position)
      (check-procedure-or-false 'make-binary-input 4 set-position!)
      (check-procedure-or-false 'make-binary-input 5 close)
      (let* ((buffer (make-bytevector piece-size 0)) (before #f) (offset 0))
        (define port (%open-channel name (lambda (request) (serve request)) #t))
        (define (serve request)
          (cond
           ((eqv? request service/fill)
            (if position
                (begin
                  (set! before (position))
                  (set! offset (%port-position port))))
            (let ((count (check-count 'read! (read! buffer 0 piece-size) piece-size)))
              (if (= count 0)
                  (%end-port! port #f)
                  (%feed-port! port buffer 0 count))))
           ((eqv? request service/close) (if close (close)) (%acknowledge-port! port))
           ((eqv? request service/position)
            (and position
                 (if (and (exact-integer? before) (input-there? port))
                     (+ before (- (%port-position port) offset))
                     (position))))
           ((eqv? request service/set-position)
            (and set-position!
                 (lambda (place)
                   (drop-input port)
                   (set-position! place))))
           ((eqv? request service/succeed) (lambda (successor) (set! port successor)))
           (else #f)))
        port))

    ;; Forgets what was made and not read.
    (define (drop-input port)
      (if (input-there? port)
          (begin
            (if (textual-port? port)
                (read-char port)
                (read-u8 port))
            (drop-input port))))

    (define (input-there? port)
      (if (textual-port? port)
          (char-ready? port)
          (u8-ready? port)))

    ;; A textual input port whose characters a procedure makes: `(read! string start count)` puts at
    ;; most `count` characters into the string from `start` on and gives their number; 0 is the end.
    ;; With `position` it is asked for one character at a time.
    (define* (make-textual-input name read! #:key (position #f) (set-position! #f) (close #f)
                                 (lines 'any))
      (check-argument 'make-textual-input 1 string? "string" name)
      (check-procedure 'make-textual-input 2 read!)
      (check-procedure-or-false 'make-textual-input 3 position)
      (check-procedure-or-false 'make-textual-input 4 set-position!)
      (check-procedure-or-false 'make-textual-input 5 close)
      (check-lines 'make-textual-input lines)
      (let* ((size (if position 1 4096)) (buffer (make-string size #\space)) (before #f))
        (define port
          (%transcode-input (%open-channel name (lambda (request) (serve request)) #t)
                            "UTF-8" 'raise lines 'keep))
        (define (serve request)
          (cond
           ((eqv? request service/fill)
            (if position (set! before (position)))
            (let ((count (check-count 'read! (read! buffer 0 size) size)))
              (if (= count 0)
                  (%end-port! port #f)
                  (%feed-port! port buffer 0 count))))
           ((eqv? request service/close) (if close (close)) (%acknowledge-port! port))
           ((eqv? request service/position)
            (and position (if (char-ready? port) before (position))))
           ((eqv? request service/set-position)
            (and set-position!
                 (lambda (place)
                   (drop-input port)
                   (set-position! place))))
           ((eqv? request service/succeed) (lambda (successor) (set! port successor)))
           (else #f)))
        port))

    ;; Calls `write!` until it has taken everything.
    (define (write-all write! buffer length)
      (let next ((start 0))
        (if (< start length)
            (next (+ start
                     (check-count 'write! (write! buffer start (- length start))
                                  (- length start)))))))

    ;; The service of an output port; it must be told which one that is.
    (define (output-service take length-of write! position set-position! close flush)
      (define port #f)
      (define (drain)
        (let ((written (take (%take-port-bytes! port))))
          (write-all write! written (length-of written))))
      (define (drain-and-flush)
        (drain)
        (if flush (flush)))
      (lambda (request)
        (cond
         ((eqv? request service/drain) (drain))
         ((eqv? request service/flush)
          (drain-and-flush)
          (%acknowledge-port! port))
         ((eqv? request service/close)
          (drain-and-flush)
          (if close (close))
          (%acknowledge-port! port))
         ((eqv? request service/position) (and position (begin (drain) (position))))
         ((eqv? request service/set-position)
          (and set-position!
               (lambda (place)
                 (drain)
                 (set-position! place))))
         ((eqv? request service/succeed) (lambda (successor) (set! port successor)))
         (else #f))))

    ;; Output ports of procedures, the last one first, so that nothing is lost if the program ends
    ;; without closing them. They are held weakly; the guardian gives those that nothing else refers
    ;; to any more. Several threads note ports at once: what is known is replaced as a whole, if it
    ;; is still what it was.
    (define-record-type known-outputs
      (make-known-outputs state)
      known-outputs?
      (state known-outputs-state set-known-outputs-state!))

    (define-record-type output-list
      (make-output-list ports count sweep-at)
      output-list?
      (ports output-list-ports)
      (count output-list-count)
      (sweep-at output-list-sweep-at))

    (define sweep-at-least 64)
    (define known (make-known-outputs (make-output-list '() 0 sweep-at-least)))
    (define abandoned (make-guardian))

    (define (note-output! port)
      (finish-abandoned)
      (%set-exit-hook! finish-outputs)
      (let ((reference (weak-cons port #f)))
        (let again ((old (known-outputs-state known)))
          (let ((held (%compare-and-swap! known 0 old (with-output reference (swept old)))))
            (if (not (eq? held old))
                (again held)))))
      (abandoned port)
      port)

    (define (with-output reference list)
      (make-output-list (cons reference (output-list-ports list))
                        (+ (output-list-count list) 1)
                        (output-list-sweep-at list)))

    ;; The list without the ports that are closed or gone, if it has grown to twice of what was left
    ;; the last time.
    (define (swept list)
      (if (< (output-list-count list) (output-list-sweep-at list))
          list
          (let* ((open (open-outputs (output-list-ports list)))
                 (count (length open)))
            (make-output-list open count (max sweep-at-least (* 2 count))))))

    (define (open-outputs outputs)
      (let next ((rest outputs) (open '()))
        (if (null? rest)
            (reverse! open)
            (let ((port (weak-car (car rest))))
              (next (cdr rest)
                    (if (and port (output-port-open? port))
                        (cons (car rest) open)
                        open))))))

    ;; An error is reported, and changes nothing about how the program ends.
    (define (finish-output port)
      (if (output-port-open? port)
          (guard (object (#t (write-string "canny: " (current-error-port))
                          (write-string (port-name port) (current-error-port))
                          (write-string ": " (current-error-port))
                          (if (error-object? object)
                              (write-string (error-object-message object) (current-error-port))
                              (write object (current-error-port)))
                          (newline (current-error-port))))
            (flush-output-port port))))

    (define (finish-abandoned)
      (let next ()
        (let ((port (abandoned)))
          (if port
              (begin
                (finish-output port)
                (next))))))

    (define (finish-outputs)
      (finish-abandoned)
      (let next ((rest (output-list-ports (known-outputs-state known))))
        (if (pair? rest)
            (let ((port (weak-car (car rest))))
              (if port (finish-output port))
              (next (cdr rest))))))

    ;; A binary output port whose bytes a procedure takes: `(write! bytevector start count)` takes
    ;; at least one of `count` bytes from `start` on and gives the number of those that it took.
    (define* (make-binary-output name write! #:key (position #f) (set-position! #f) (close #f)
                                 (flush #f))
      (check-argument 'make-binary-output 1 string? "string" name)
      (check-procedure 'make-binary-output 2 write!)
      (check-procedure-or-false 'make-binary-output 3 position)
      (check-procedure-or-false 'make-binary-output 4 set-position!)
      (check-procedure-or-false 'make-binary-output 5 close)
      (check-procedure-or-false 'make-binary-output 6 flush)
      (let* ((serve (output-service (lambda (bytes) bytes) bytevector-length
                                    write! position set-position! close flush))
             (port (%open-channel name serve #f)))
        ((serve service/succeed) port)
        (note-output! port)))

    ;; A textual output port whose characters a procedure takes: `(write! string start count)`,
    ;; likewise.
    (define* (make-textual-output name write! #:key (position #f) (set-position! #f) (close #f)
                                  (flush #f))
      (check-argument 'make-textual-output 1 string? "string" name)
      (check-procedure 'make-textual-output 2 write!)
      (check-procedure-or-false 'make-textual-output 3 position)
      (check-procedure-or-false 'make-textual-output 4 set-position!)
      (check-procedure-or-false 'make-textual-output 5 close)
      (check-procedure-or-false 'make-textual-output 6 flush)
      (let* ((serve (output-service utf8->string string-length
                                    write! position set-position! close flush))
             (port (%transcode-output (%open-channel name serve #f) "UTF-8" 'raise 'omit 'block)))
        ((serve service/succeed) port)
        (note-output! port)))

    ;; A binary port for both directions whose bytes procedures make and take; see
    ;; `make-binary-input` and `make-binary-output`. With `position` and `set-position!`, which go
    ;; together, both have one position. `close` is called when both directions are closed.
    (define* (make-binary-input/output name read! write! #:key (position #f) (set-position! #f)
                                       (close #f) (flush #f))
      (check-procedure-or-false 'make-binary-input/output 6 close)
      (let* ((open 2)
             (close-side (lambda ()
                           (set! open (- open 1))
                           (if (and close (= open 0)) (close))))
             (input (make-binary-input name read! #:position position
                                       #:set-position! set-position! #:close close-side))
             (output (make-binary-output name write! #:position position
                                         #:set-position! set-position!
                                         #:close close-side #:flush flush))
             (read-service (%port-service input))
             (write-service (%port-service output)))
        (%join-ports input output
                     (and position
                          set-position!
                          (lambda (request)
                            (if (= request service/turn-to-read)
                                (write-service service/drain)
                                ((read-service service/set-position)
                                 (read-service service/position))))))))

    (define (%custom-position port)
      (or ((%port-service port) service/position)
          (%range-error 'port-position 1 "a port that has a position" port)))

    (define (%custom-set-position! port position)
      (let ((change ((%port-service port) service/set-position)))
        (if (not change)
            (%range-error 'set-port-position! 1 "a port whose position can be changed" port))
        (change position)))))
