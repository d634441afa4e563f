#!/usr/bin/env canny
;;; Filters: a web service whose users upload programs, which then work on the texts of requests.
;;;
;;;     canny examples/filters.scm --serve PORT      # serves on the loopback interface
;;;     canny examples/filters.scm                   # shows what it does, without a network
;;;
;;;     curl --data-binary @filter.wasm localhost:PORT/filters/upper     # upload
;;;     curl --data-binary @text localhost:PORT/filters/upper/run        # use
;;;
;;; A filter is a WASI command in any language: it reads the text from its input and writes another
;;; one to its output. Nobody has to trust it. It has no files and no network, its memory and time
;;; are limited, and each request gets an instance of its own: requests cannot see each other.

(import (canny base) (canny files) (canny wasm) (canny web message) (canny web router)
        (canny web server))

(define fuel 50000000) ; jumps and calls
(define memory-limit (* 16 1024 1024))
(define time-limit 2) ; seconds
(define upload-limit (* 4 1024 1024))

;; Modules by the names of their filters. A module is compiled once and shared by all requests.
(define filters (make-hash-table string=? string-hash))

(define (answer status text)
  (make-response #:status status #:headers '((content-type . (text/plain))) #:body text))

;; The body of a request is a binary port, or #f if there is none.
(define (bytes-of body)
  (if body (port->bytevector body) #u8()))

(define (upload request body)
  (define bytes (bytes-of body))
  (if (> (bytevector-length bytes) upload-limit)
      (answer 413 "the filter is too large\n")
      (guard (e ((wasm-error? e)
                 (answer 400 (string-append "no filter: " (error-object-message e) "\n"))))
        (hash-table-set! filters (route-parameter request 'name) (compile-module bytes))
        (answer 201 "uploaded\n"))))

;; The response with what a filter makes of a text, or with the reason why it makes nothing.
(define (run-filter module text)
  (define wasi (make-wasi #:input text #:output 'memory #:error-output 'memory))
  (guard (e ((trap? e)
             (answer 422 (string-append "the filter was stopped: " (error-object-message e) "\n")))
            ((wasm-error? e)
             (answer 422 (string-append "the filter cannot run: " (error-object-message e) "\n"))))
    (let ((code (run-command module wasi #:fuel fuel #:memory-limit memory-limit)))
      (if (= code 0)
          (answer 200 (utf8->string (wasi-output wasi)))
          (answer 422
                  (string-append "the filter failed: " (utf8->string (wasi-error-output wasi))))))))

(define (run request body)
  (define module (hash-table-ref/default filters (route-parameter request 'name) #f))
  (if module
      (run-filter module (bytes-of body))
      (answer 404 "there is no such filter\n")))

(define-routes application
  (POST "/filters/:name" upload)
  (POST "/filters/:name/run" run))

;; A demonstration. The filters are in the text format; a compiler makes them otherwise.

(define (guest program)
  (string-append
   "(module
     (import \"wasi_snapshot_preview1\" \"fd_read\"
       (func $read (param i32 i32 i32 i32) (result i32)))
     (import \"wasi_snapshot_preview1\" \"fd_write\"
       (func $write (param i32 i32 i32 i32) (result i32)))
     (memory (export \"memory\") 1)
     (func (export \"_start\") (local $at i32) " program "))"))

(define capitals
  (guest
   "(i32.store (i32.const 0) (i32.const 1024))
    (loop $more
      (i32.store (i32.const 4) (i32.const 4096))
      (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.load (i32.const 8))
        (then
          (local.set $at (i32.const 0))
          (loop $next
            (if (i32.lt_u (i32.sub (i32.load8_u offset=1024 (local.get $at)) (i32.const 97))
                          (i32.const 26))
              (then
                (i32.store8 offset=1024 (local.get $at)
                  (i32.sub (i32.load8_u offset=1024 (local.get $at)) (i32.const 32)))))
            (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 1)))
                                   (i32.load (i32.const 8)))))
          (i32.store (i32.const 4) (i32.load (i32.const 8)))
          (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
          (br $more))))"))

(define endless (guest "(loop $again (br $again))"))
(define greedy (guest "(drop (memory.grow (i32.const 1000)))
                       (i32.store (i32.const 1048576) (i32.const 1))"))

(define (show path body)
  (define response
    ((router-handler application) (make-request 'POST path)
     (open-input-bytevector (string->utf8 body))))
  (display (string-append "POST " path " => " (number->string (response-status response)) " "))
  (display (response-body response)))

(define (demonstrate)
  (show "/filters/capitals" capitals)
  (show "/filters/capitals/run" "hello from a guest\n")
  (show "/filters/endless" endless)
  (show "/filters/endless/run" "text")
  (show "/filters/greedy" greedy)
  (show "/filters/greedy/run" "text")
  (show "/filters/broken" "(module (func (result i32)))")
  (show "/filters/none/run" "text"))

(define (serve port)
  (run-server (router-handler application) #:port port #:handler-timeout time-limit))

(let ((arguments (cdr (command-line))))
  (if (and (= (length arguments) 2) (string=? (car arguments) "--serve"))
      (serve (string->number (cadr arguments)))
      (demonstrate)))
