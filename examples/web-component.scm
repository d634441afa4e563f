#!/usr/bin/env canny
;;; A component of WebAssembly that answers requests of HTTP.
;;;
;;;     canny examples/web-component.scm
;;;
;;; Compilers of other languages make such components for `wasi:http`. This one was written by
;;; hand, with ' in place of ". It answers each request with the path that was asked for.

(import (scheme base) (scheme write) (canny wasm) (canny web components) (canny web message))

(define text "
(component $C
  (import 'wasi:io/error@0.2.0' (instance $error (export 'error' (type (sub resource)))))
  (alias export $error 'error' (type $io-error))
  (import 'wasi:io/streams@0.2.0' (instance $streams
    (alias outer $C $io-error (type $e))
    (export 'error' (type $error (eq $e)))
    (export 'output-stream' (type $stream (sub resource)))
    (type $f (variant (case 'last-operation-failed' (own $error)) (case 'closed')))
    (export 'stream-error' (type $failure (eq $f)))
    (export '[method]output-stream.blocking-write-and-flush'
      (func (param 'self' (borrow $stream)) (param 'contents' (list u8))
        (result (result (error $failure)))))))
  (alias export $streams 'output-stream' (type $output-stream))
  (import 'wasi:http/types@0.2.0' (instance $http
    (alias outer $C $output-stream (type $s))
    (export 'output-stream' (type $stream (eq $s)))
    (export 'fields' (type $fields (sub resource)))
    (export 'incoming-request' (type $request (sub resource)))
    (export 'outgoing-response' (type $response (sub resource)))
    (export 'outgoing-body' (type $body (sub resource)))
    (export 'response-outparam' (type $place (sub resource)))
    (type $c (variant (case 'DNS-timeout')))
    (export 'error-code' (type $code (eq $c)))
    (export '[constructor]fields' (func (result (own $fields))))
    (export '[method]incoming-request.path-with-query'
      (func (param 'self' (borrow $request)) (result (option string))))
    (export '[constructor]outgoing-response'
      (func (param 'headers' (own $fields)) (result (own $response))))
    (export '[method]outgoing-response.body'
      (func (param 'self' (borrow $response)) (result (result (own $body)))))
    (export '[method]outgoing-body.write'
      (func (param 'self' (borrow $body)) (result (result (own $stream)))))
    (export '[static]outgoing-body.finish'
      (func (param 'this' (own $body)) (param 'trailers' (option (own $fields)))
        (result (result (error $code)))))
    (export '[static]response-outparam.set'
      (func (param 'param' (own $place))
        (param 'response' (result (own $response) (error $code)))))))
  (alias export $http 'incoming-request' (type $request))
  (alias export $http 'response-outparam' (type $place))

  ;; Functions that the module imports, with its memory.
  (core module $libc
    (memory (export 'memory') 1)
    ;; There is only the path to make room for.
    (func (export 'realloc') (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc 'memory' (core memory $m))
  (alias core export $libc 'realloc' (core func $realloc))
  (core func $fields (canon lower (func $http '[constructor]fields')))
  (core func $path
    (canon lower (func $http '[method]incoming-request.path-with-query')
      (memory $m) (realloc $realloc)))
  (core func $response (canon lower (func $http '[constructor]outgoing-response')))
  (core func $body (canon lower (func $http '[method]outgoing-response.body') (memory $m)))
  (core func $stream (canon lower (func $http '[method]outgoing-body.write') (memory $m)))
  (core func $write
    (canon lower (func $streams '[method]output-stream.blocking-write-and-flush') (memory $m)))
  (core func $drop (canon resource.drop $output-stream))
  (core func $finish (canon lower (func $http '[static]outgoing-body.finish') (memory $m)))
  (core func $set (canon lower (func $http '[static]response-outparam.set')))

  (core module $app
    (import 'libc' 'memory' (memory 1))
    (import 'host' 'fields' (func $fields (result i32)))
    (import 'host' 'path' (func $path (param i32 i32)))
    (import 'host' 'response' (func $response (param i32) (result i32)))
    (import 'host' 'body' (func $body (param i32 i32)))
    (import 'host' 'stream' (func $stream (param i32 i32)))
    (import 'host' 'write' (func $write (param i32 i32 i32 i32)))
    (import 'host' 'drop' (func $drop (param i32)))
    (import 'host' 'finish' (func $finish (param i32 i32 i32 i32)))
    (import 'host' 'set' (func $set (param i32 i32 i32)))
    (data (i32.const 64) 'You asked for ')
    (func (export 'handle') (param $request i32) (param $place i32)
      (local $new i32) (local $out i32) (local $parts i32)
      (call $path (local.get $request) (i32.const 0))
      (local.set $new (call $response (call $fields)))
      (call $body (local.get $new) (i32.const 16))
      (call $set (local.get $place) (i32.const 0) (local.get $new))
      (local.set $parts (i32.load (i32.const 20)))
      (call $stream (local.get $parts) (i32.const 16))
      (local.set $out (i32.load (i32.const 20)))
      (call $write (local.get $out) (i32.const 64) (i32.const 14) (i32.const 16))
      (call $write (local.get $out) (i32.load (i32.const 4)) (i32.load (i32.const 8))
        (i32.const 16))
      (call $drop (local.get $out))
      (call $finish (local.get $parts) (i32.const 0) (i32.const 0) (i32.const 16))))
  (core instance $app (instantiate $app
    (with 'libc' (instance $libc))
    (with 'host' (instance
      (export 'fields' (func $fields)) (export 'path' (func $path))
      (export 'response' (func $response)) (export 'body' (func $body))
      (export 'stream' (func $stream)) (export 'write' (func $write))
      (export 'drop' (func $drop)) (export 'finish' (func $finish))
      (export 'set' (func $set))))))

  (func $handle (param 'request' (own $request)) (param 'response-out' (own $place))
    (canon lift (core func $app 'handle')))
  (component $interface
    (import 'request' (type $request (sub resource)))
    (import 'place' (type $place (sub resource)))
    (import 'handle' (func $handle (param 'request' (own $request))
      (param 'response-out' (own $place))))
    (export 'handle' (func $handle)))
  (instance $exported (instantiate $interface (with 'request' (type $request))
    (with 'place' (type $place)) (with 'handle' (func $handle))))
  (export 'wasi:http/incoming-handler@0.2.0' (instance $exported)))
")

(define component
  (compile-component
   (string-map (lambda (char) (if (char=? char #\') #\" char)) text)))

;; `(run-server answer #:port 8080)` of `(canny web server)` would serve it.
(define answer (component-handler component))

;; The body of a response that has not ended yet is a port.
(define (text-of body)
  (if (bytevector? body)
      (utf8->string body)
      (let ((bytes (read-bytevector 1000 body)))
        (close-port body)
        (utf8->string bytes))))

(for-each (lambda (target)
            (let ((response (answer (make-request 'GET target) #f)))
              (write (response-status response))
              (display " ")
              (display (text-of (response-body response)))
              (newline)))
          '("/" "/news?page=2"))
