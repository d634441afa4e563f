;;; (canny compression): gzip, zlib, deflate and zstd.
;;;
;;; A port that decompresses reads from another binary port, which it takes over. One that
;;; compresses writes to another, which it closes when it is closed, unless an option forbids it.
;;; Only closing completes the data.
;;;
;;;     (gunzip (gzip (bytevector 1 2 3)))                    ; => #u8(1 2 3)
;;;     (read-line (open-gzip-input (open-binary-input-file "server.log.gz") #:text? #t))

(define-library (canny compression)
  (export open-gzip-input open-gzip-output open-zlib-input open-zlib-output
          open-deflate-input open-deflate-output open-zstd-input open-zstd-output
          gzip gunzip compress decompress)
  (import (canny machine protocols) (canny primitives) (canny syntax))
  (begin

    ;; A port of a procedure is not read by the machine while it decompresses: a procedure would
    ;; have to run meanwhile.
    (define (open-decompressor format port text?)
      (if (and (input-port? port) (binary-port? port) (%port-service port))
          (let ((served (open-served-decompressor format port)))
            (if text?
                (let ((text (%transcode-input served "UTF-8" 'raise 'any 'omit)))
                  (((%port-service served) service/succeed) text)
                  text)
                served))
          (%open-decompressor port format text?)))

    ;; Bytes of the port go by hand to a channel that the decompressor reads, when it has nothing
    ;; more.
    (define (open-served-decompressor format source)
      (let* ((name (port-name source))
             (name (if (string? name) name "port"))
             (channel (%open-channel name #f #t))
             (feeder (%port-twin channel))
             (decompressor (%open-decompressor channel format #f)))
        (define port (%open-channel name (lambda (request) (serve request)) #t))
        (define (fill)
          (if (u8-ready? decompressor)
              (let ((bytes (read-available decompressor)))
                (if (eof-object? bytes)
                    (%end-port! port #f)
                    (%feed-port! port bytes 0 (bytevector-length bytes))))
              (let ((bytes (read-available source)))
                (if (eof-object? bytes)
                    (%end-port! feeder #t)
                    (%feed-port! feeder bytes 0 (bytevector-length bytes)))
                (fill))))
        (define (serve request)
          (cond
           ((eqv? request service/fill) (fill))
           ((eqv? request service/close)
            (close-port decompressor)
            (close-port source)
            (%acknowledge-port! port))
           ((eqv? request service/succeed) (lambda (successor) (set! port successor)))
           (else #f)))
        port))

    ;; A port that reads what a port of gzip has; several members are read as one. With `#:text? #t`
    ;; it is a textual port, in UTF-8.
    (define* (open-gzip-input port #:key (text? #f))
      (open-decompressor 'gzip port text?))

    ;; A port of which what is written goes to another as gzip. `#:level` is from 0 to 9.
    (define* (open-gzip-output port #:key (level #f) (text? #f) (close? #t))
      (%open-compressor port 'gzip level text? close?))

    ;; The same for zlib.
    (define* (open-zlib-input port #:key (text? #f))
      (open-decompressor 'zlib port text?))
    (define* (open-zlib-output port #:key (level #f) (text? #f) (close? #t))
      (%open-compressor port 'zlib level text? close?))

    ;; The same for deflate without header and checksum.
    (define* (open-deflate-input port #:key (text? #f))
      (open-decompressor 'deflate port text?))
    (define* (open-deflate-output port #:key (level #f) (text? #f) (close? #t))
      (%open-compressor port 'deflate level text? close?))

    ;; The same for zstd. There is one level, a quick one.
    (define* (open-zstd-input port #:key (text? #f))
      (open-decompressor 'zstd port text?))
    (define* (open-zstd-output port #:key (level #f) (text? #f) (close? #t))
      (%open-compressor port 'zstd level text? close?))

    ;; The bytes of a bytevector in a format: `gzip`, `zlib`, `deflate` or `zstd`.
    (define* (compress bytes format #:key (level #f))
      (%compress bytes format level))

    ;; The bytes that those of a bytevector stand for; more than `#:limit` are an error.
    (define* (decompress bytes format #:key (limit #f))
      (%decompress bytes format limit))

    ;; `(compress bytes 'gzip)` and `(decompress bytes 'gzip)`.
    (define* (gzip bytes #:key (level #f))
      (%compress bytes 'gzip level))
    (define* (gunzip bytes #:key (limit #f))
      (%decompress bytes 'gzip limit))))
