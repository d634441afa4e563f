;;; Part of (canny io): ports whose bytes or characters procedures make and take.
;;;
;;; The header of `(canny io)` says how the machine calls the service of such a port. Output ports
;;; are known by a weak list, so that they are flushed when the program ends.

(define piece-size 16384)

(define (check-procedure-or-false who position object)
  (if object (check-procedure who position object)))

(define (check-count who count size)
  (if (not (and (exact-integer? count) (<= 0 count size)))
      (%range-error who 2 "a count of what there is room for" count)
      count))

;; A binary input port whose bytes a procedure makes. `(read! bytevector start count)` puts at
;; most `count` bytes into the bytevector from `start` on and gives their number. 0 is the end.
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

;; A textual input port whose characters a procedure makes. `(read! string start count)` puts at
;; most `count` characters into the string from `start` on and gives their number. 0 is the end.
;; With `position` it is called for one character at a time.
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

;; The service of an output port; `service/succeed` hands it that port.
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

;; A binary output port whose bytes a procedure takes. `(write! bytevector start count)` takes
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
    (change position)))
