;;; (canny io): ports with options, positions, locks and time limits; lines; decoders and encoders;
;;; ports and encodings that are made of procedures.
;;;
;;; How ports of procedures work: such a port stands over a channel, a pipe in memory that is
;;; *served*. A primitive that finds the channel empty, or full, makes the machine call the port's
;;; procedure, its service. That gets one of these numbers, and the primitive begins again
;;; afterwards:
;;;   `service/fill`           make bytes with %feed-port!, or say with %end-port! that there are
;;;                            none for now
;;;   `service/drain`          take what was written with %take-port-bytes!
;;;   `service/flush`          take it, pass it on, and say so with %acknowledge-port!
;;;   `service/close`          release what the port stands for, and say so with %acknowledge-port!
;;;   `service/position`       give the position, or #f
;;;   `service/set-position`   give a procedure that changes the position, or #f
;;;   `service/encoding`       give the name of the encoding, or #f
;;;   `service/succeed`        give a procedure that takes the port in the place of this one
;;; The text of textual ports is UTF-8 in the channel. `io/procedures.scm` has these ports,
;;; `io/encodings.scm` encodings that are made of procedures.
;;;
;;; A port for both directions stands for two others. If they share one position, of a file or of
;;; the program's own, it moves from one port to the other when the direction changes. A service is
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
  (include "io/encodings.scm" "io/procedures.scm")
  (begin

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
    ;; textual: reading uses the first, writing the second. `close-port` closes both,
    ;; `close-input-port` and `close-output-port` one of them.
    (define (make-input/output-port input output)
      (%join-ports input output #f))

    ;; Whether an object is a port for both directions.
    (define (input/output-port? object)
      (and (port? object)
           (input-port? object)
           (output-port? object)))

    ;; Two binary ports on one file, the first to read it and the second to write it, each with a
    ;; position of its own. Written bytes are read once they were flushed.
    (define* (open-input-output name #:key (mode 'overwrite) (buffering 'default))
      (let* ((output (open-binary-output name #:mode mode #:buffering buffering))
             (input (%open-input name)))
        (values input output)))

    ;; Transcoding.

    ;; A textual port in the place of a binary input port, which is closed but for that. `encoding`
    ;; is a name or an encoding object, `malformed` one of `raise`, `replace` and `ignore`. `lines`
    ;; says what ends a line: `any` of the usual ends, `linefeed`, a string or a list of strings.
    ;; `byte-order-mark` is `omit` or `keep`.
    (define* (transcode-input port #:key (encoding "UTF-8") (malformed 'raise) (lines 'any)
                              (byte-order-mark 'omit))
      (check-input-options 'transcode-input encoding malformed lines byte-order-mark)
      (transcode-to-text port encoding malformed lines byte-order-mark))

    ;; A textual port in the place of a binary output port. `malformed` is for characters that the
    ;; encoding has not. `buffering` is `block`, `line`, `none`, or `default`, which is lines for
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
      ;; A port that procedures decode or encode has no position.
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

    ;; Hands the port that replaces another one to the service of that.
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

    ;; The position of the next byte of a port, or of the first byte of its next character.
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

    ;; Whether a port has a position. Only ports of procedures may be unable to.
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

    ;; Waits until everything that was written to a port is on the disk. With a true `data-only?`
    ;; metadata such as the times of the file are left out.
    (define (sync-port port . data-only?)
      (%sync-port port (and (pair? data-only?) (car data-only?))))

    ;; Locks the file of a port against other locks: `exclusive`, or `shared`. Waits until it gets
    ;; the lock, unless `wait?` is false. Gives whether it has the lock.
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

    ;; A decoder, which takes bytes, cut anywhere, and returns text. The options are those of
    ;; `transcode-input`. For an item that has not arrived whole, it returns `#f`; at the end, the
    ;; end-of-file object.
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

    ;; An encoder, which takes text and returns bytes. The options are those of `transcode-output`.
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
        (encoder-take! encoder)))))
