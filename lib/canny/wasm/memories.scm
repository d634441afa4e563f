;;; Part of (canny wasm): memories, whose addresses are checked by the machine.

(define-record-type memory
  (new-memory %store number)
  memory?
  (%store memory-store)
  (number memory-number))

(define (check-memory who object)
  (check-argument who 1 memory? "memory" object))

;; A memory of so many pages of 65,536 bytes. One that is `#:shared` has a maximum, and can be
;; imported by instances of all stores.
(define* (make-memory store pages #:key (maximum #f) (shared #f))
  (check-store 'make-memory store)
  (check-index 'make-memory 2 pages)
  (if (and shared (not (exact-nonnegative-integer? maximum)))
      (raise-bad-option 'make-memory "#:maximum" "a number of pages if the memory is shared"
                        maximum))
  (new-memory store (%wasm-memory store pages maximum #f (if shared #t #f))))

;; Whether instances of several stores can have a memory.
(define (memory-shared? memory)
  (check-memory 'memory-shared? memory)
  (%wasm-memory-shared? (memory-store memory) (memory-number memory)))

;; Wakes guests that wait for an address of a shared memory, the longest first: `#:count` at
;; most, or all. How many there were.
(define* (memory-notify! memory address #:key (count #f))
  (check-memory 'memory-notify! memory)
  (check-index 'memory-notify! 2 address)
  (check-limit 'memory-notify! "#:count" count)
  (%wasm-memory-notify (memory-store memory) (memory-number memory) address count))

(define (memory-pages memory)
  (check-memory 'memory-pages memory)
  (%wasm-memory-pages (memory-store memory) (memory-number memory)))

;; Its bytes.
(define (memory-size memory)
  (check-memory 'memory-size memory)
  (* 65536 (%wasm-memory-pages (memory-store memory) (memory-number memory))))

;; Adds pages; how many there were, or #f if so many are not to be had.
(define (memory-grow! memory pages)
  (check-memory 'memory-grow! memory)
  (check-index 'memory-grow! 2 pages)
  (%wasm-memory-grow! (memory-store memory) (memory-number memory) pages))

(define-syntax define-accessors
  (syntax-rules ()
    ((_ (reference change kind) ...)
     (begin
       (begin
         (define (reference memory address)
           (check-memory 'reference memory)
           (check-index 'reference 2 address)
           (%wasm-memory-ref (memory-store memory) (memory-number memory) address kind))
         (define (change memory address value)
           (check-memory 'change memory)
           (check-index 'change 2 address)
           (%wasm-memory-set! (memory-store memory) (memory-number memory) address kind value)))
       ...))))

(define-accessors
  (memory-u8-ref memory-u8-set! guest-number/u8)
  (memory-s8-ref memory-s8-set! guest-number/s8)
  (memory-u16-ref memory-u16-set! guest-number/u16)
  (memory-s16-ref memory-s16-set! guest-number/s16)
  (memory-u32-ref memory-u32-set! guest-number/u32)
  (memory-s32-ref memory-s32-set! guest-number/s32)
  (memory-u64-ref memory-u64-set! guest-number/u64)
  (memory-s64-ref memory-s64-set! guest-number/s64)
  (memory-f32-ref memory-f32-set! guest-number/f32)
  (memory-f64-ref memory-f64-set! guest-number/f64))

;; A copy of the bytes from `start` to `end`.
(define (memory-bytes memory start end)
  (check-memory 'memory-bytes memory)
  (check-range 'memory-bytes start end)
  (%wasm-memory-bytes (memory-store memory) (memory-number memory) start (- end start)))

(define (check-range who start end)
  (check-index who 2 start)
  (check-index who 3 end)
  (if (< end start)
      (%range-error who 3 "at least the start" end)))

;; Copies a bytevector, or a part of it, to an address.
(define* (memory-copy! memory address bytes #:optional (start 0) (end #f))
  (check-memory 'memory-copy! memory)
  (check-index 'memory-copy! 2 address)
  (check-argument 'memory-copy! 3 bytevector? "bytevector" bytes)
  (%wasm-memory-copy! (memory-store memory) (memory-number memory) address bytes start
                      (or end (bytevector-length bytes))))

;; The UTF-8 text from `start` to `end`.
(define (memory-string memory start end)
  (check-memory 'memory-string memory)
  (check-range 'memory-string start end)
  (%wasm-memory-string (memory-store memory) (memory-number memory) start (- end start)))

;; Writes a text in UTF-8 to an address; the number of bytes.
(define (memory-string-set! memory address text)
  (check-memory 'memory-string-set! memory)
  (check-index 'memory-string-set! 2 address)
  (check-argument 'memory-string-set! 3 string? "string" text)
  (%wasm-memory-string-set! (memory-store memory) (memory-number memory) address text))

;; The UTF-8 text from an address to the next zero byte.
(define (memory-c-string memory address)
  (check-memory 'memory-c-string memory)
  (check-index 'memory-c-string 2 address)
  (let ((end (%wasm-memory-find (memory-store memory) (memory-number memory) address 0)))
    (if (not end)
        (%range-error 'memory-c-string 2 "no zero byte follows in the memory" address))
    (memory-string memory address end)))

;; Bytes go between memories and ports in pieces, so that a task may wait for a port while the store
;; is free for others.
(define piece-size 65536)

;; Writes the bytes from `start` to `end` to a binary port.
(define* (memory-write memory start end #:optional (port (current-output-port)))
  (check-memory 'memory-write memory)
  (check-range 'memory-write start end)
  (check-argument 'memory-write 4 binary-output-port? "binary output port" port)
  (check-end 'memory-write memory end)
  (let ((piece (make-bytevector (min piece-size (- end start)))))
    (let loop ((at start))
      (if (< at end)
          (let ((count (min piece-size (- end at))))
            (%wasm-memory-copy-out! (memory-store memory) (memory-number memory) at piece 0 count)
            (write-bytevector piece port 0 count)
            (loop (+ at count)))))))

;; Reads up to `count` bytes from a binary port to an address. The value is how many there were, or
;; an end-of-file object.
(define* (memory-read! memory address count #:optional (port (current-input-port)))
  (check-memory 'memory-read! memory)
  (check-index 'memory-read! 2 address)
  (check-index 'memory-read! 3 count)
  (check-argument 'memory-read! 4 binary-input-port? "binary input port" port)
  (check-end 'memory-read! memory (+ address count))
  (let ((piece (make-bytevector (min piece-size count))))
    (let loop ((done 0))
      (let ((read (if (= done count)
                      0
                      (read-bytevector! piece port 0 (min piece-size (- count done))))))
        (cond ((and (eof-object? read) (= done 0)) read)
              ((or (eof-object? read) (= read 0)) done)
              (else
               (memory-copy! memory (+ address done) piece 0 read)
               (loop (+ done read))))))))

(define (check-end who memory end)
  (if (> end (memory-size memory))
      (%range-error who 3 "at most the size of the memory" end)))

(define (binary-output-port? object)
  (and (output-port? object) (binary-port? object)))

(define (binary-input-port? object)
  (and (input-port? object) (binary-port? object)))
