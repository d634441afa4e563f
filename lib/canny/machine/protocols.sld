;;; (canny machine protocols): numbers that mean the same in Rust and in Scheme.
;;;
;;; `cargo xtask protocols` made this file from the rows in `crates/tables/src/protocols`. Change
;;; those.

(define-library (canny machine protocols)
  (export vector-at
          ticket/ready
          ticket/timed-out
          ticket/interrupted
          element-type/u8
          element-type/s8
          element-type/u16
          element-type/s16
          element-type/u32
          element-type/s32
          element-type/u64
          element-type/s64
          element-type/f32
          element-type/f64
          element-type/c64
          element-type/c128
          flonum-function/exp-1
          flonum-function/exp2
          flonum-function/log1+
          flonum-function/log2
          flonum-function/log10
          flonum-function/cbrt
          flonum-function/sinh
          flonum-function/cosh
          flonum-function/tanh
          flonum-function/asinh
          flonum-function/acosh
          flonum-function/atanh
          flonum-function/gamma
          flonum-function/loggamma
          flonum-function/erf
          flonum-function/erfc
          flonum-operation/hypot
          flonum-operation/copysign
          flonum-operation/adjacent
          flonum-operation/scale
          flonum-operation/remainder
          flonum-operation/quotient-bits
          flonum-operation/first-bessel
          flonum-operation/second-bessel
          clock/realtime
          clock/monotonic
          clock/process
          clock/thread
          port-key/input
          port-key/output
          port-key/error
          output-mode/truncate
          output-mode/append
          output-mode/overwrite
          output-mode/create-new
          port-kind/binary-input
          port-kind/textual-input
          port-kind/binary-output
          port-kind/textual-output
          port-kind/both
          open-flag/append
          open-flag/create
          open-flag/exclusive
          open-flag/no-follow
          open-flag/truncate
          file-access/execute
          file-access/write
          file-access/read
          try-read/character
          try-read/peek
          try-read/line
          try-read/whole-line
          try-read/characters
          try-read/available
          service/fill
          service/drain
          service/flush
          service/close
          service/position
          service/set-position
          service/encoding
          service/succeed
          service/turn-to-read
          service/turn-to-write
          family/any
          family/inet
          family/inet6
          shutdown/read
          shutdown/write
          shutdown/both
          division/graphemes
          division/segments
          division/words
          division/sentences
          normal-form/nfc
          normal-form/nfd
          normal-form/nfkc
          normal-form/nfkd
          json-objects/symbols
          json-objects/strings
          json-objects/tables
          padding/required
          padding/optional
          padding/refused
          database-mode/read
          database-mode/write
          database-mode/create
          database-mode/memory
          row-shape/changes
          row-shape/vectors
          row-shape/alists
          row-shape/vector
          row-shape/alist
          row-shape/value
          row-shape/nothing
          guest-item/function
          guest-item/table
          guest-item/memory
          guest-item/global
          guest-item/tag
          guest-number/u8
          guest-number/s8
          guest-number/u16
          guest-number/s16
          guest-number/u32
          guest-number/s32
          guest-number/u64
          guest-number/s64
          guest-number/f32
          guest-number/f64
          database-state/last-insert-id
          database-state/in-transaction
          database-state/statements
          database-state/cursors
          stream/inherit
          stream/null
          stream/binary-pipe
          stream/textual-pipe
          stream/output
          exchange/input
          exchange/output
          exchange/error
          log-format/common
          log-format/combined
          log-format/json
          proxy-field/x-forwarded-for
          proxy-field/forwarded
          request-flag/keeps-alive
          request-flag/new
          request-flag/head
          request-flag/upgrades
          request-flag/secure
          request-flag/http2
          response-flag/keeps-alive
          response-flag/new
          body-length/chunked
          body-length/until-end
          frame/continuation
          frame/text
          frame/binary
          frame/close
          frame/ping
          frame/pong
          websocket-event/fault
          websocket-event/close
          websocket-event/ping
          sort-order/numbers
          sort-order/numbers-descending
          sort-order/strings
          sort-order/strings-descending
          sort-order/characters
          sort-order/characters-descending
          transformer-kind/procedure
          transformer-kind/explicit
          transformer-kind/implicit
          transformer-kind/closing
          transformer-kind/variable
          waiter-field/state
          waiter-field/task
          waiter-field/value
          task-field/lock
          task-field/continuation
          task-field/parameters
          task-field/lane
          task-field/account
          task-field/waiter
          task-field/cancelled
          task-field/interruptions
          task-field/future
          task-field/number
          task-field/name
          task-field/waits-for
          request-field/server
          request-field/id
          request-field/serial
          request-field/method
          request-field/flags
          request-field/head
          request-field/length
          present-field/request
          present-field/step
          file-info-record-field/device
          file-info-record-field/inode
          file-info-record-field/mode
          file-info-record-field/nlinks
          file-info-record-field/uid
          file-info-record-field/gid
          file-info-record-field/rdev
          file-info-record-field/size
          file-info-record-field/blksize
          file-info-record-field/blocks
          file-info-record-field/accessed
          file-info-record-field/modified
          file-info-record-field/changed
          server-option/max-header-bytes
          server-option/max-headers
          server-option/max-target-bytes
          server-option/max-body-bytes
          server-option/max-connections
          server-option/max-connections-per-client
          server-option/idle-timeout
          server-option/header-timeout
          server-option/body-timeout
          server-option/log-format
          server-option/metrics
          server-option/max-streams
          server-option/trusted-proxies
          server-option/proxy-field
          server-option/max-unsent-bytes
          server-option/max-unsent-bytes-per-connection
          server-option/count
          wait-row/key
          wait-row/kind
          wait-row/words
          wait-row/name
          wait-row/owner
          wait-row/count
          snapshot-report/objects
          snapshot-report/bytes
          snapshot-report/written
          snapshot-report/stopped
          snapshot-report/taken
          snapshot-report/in-place
          snapshot-report/count
          heap-watch-report/written
          heap-watch-report/failed
          heap-watch-report/left-out
          heap-watch-report/count
          type-sum/family
          type-sum/name
          type-sum/file
          type-sum/line
          type-sum/library
          type-sum/objects
          type-sum/bytes
          type-sum/count
          spawn-setting/program
          spawn-setting/arguments
          spawn-setting/environment
          spawn-setting/directory
          spawn-setting/input
          spawn-setting/output
          spawn-setting/error
          spawn-setting/group
          spawn-setting/terminal
          spawn-setting/count
          csv-dialect/delimiter
          csv-dialect/quote
          csv-dialect/escape
          csv-dialect/comment
          csv-dialect/trims
          csv-dialect/skips-empty
          csv-dialect/ends-with-return
          csv-dialect/count
          websocket-agreement/read-bits
          websocket-agreement/read-keeps-context
          websocket-agreement/written-bits
          websocket-agreement/written-keeps-context
          websocket-agreement/count
          system-name/operating-system
          system-name/node
          system-name/release
          system-name/version
          system-name/hardware
          user-id/user
          user-id/group
          user-id/effective-user
          user-id/effective-group
          spawned/process
          spawned/input
          spawned/output
          spawned/error
          name-information/kind
          name-information/library
          name-information/signature
          name-information/description
          parameter-list/required
          parameter-list/optional
          parameter-list/keywords
          parameter-list/rest
          definition-position/file
          definition-position/line
          definition-position/column
          datagram/bytes
          datagram/sender
          datagram/cut
          secured/ports
          secured/version
          secured/protocol
          secured/certificate
          response-head/length
          response-head/status
          response-head/reason
          response-head/flags
          response-head/body
          response-head/fields
          measured/in-flight
          measured/counts
          measured/bounds
          measured/durations
          measured/nanoseconds)
  (import (canny primitives) (canny syntax))
  (begin

    ;; A vector with so many elements: each value is at the index before it.
    (define-syntax vector-at
      (syntax-rules ()
        ((_ count (index value) ...)
         (let ((elements (make-vector count #f)))
           (vector-set! elements index value) ...
           elements))))

    ;; The result of a ticket.
    (define ticket/ready 0)
    (define ticket/timed-out 1)
    (define ticket/interrupted 2)

    ;; The type of the elements of a numeric vector.
    (define element-type/u8 0)
    (define element-type/s8 1)
    (define element-type/u16 2)
    (define element-type/s16 3)
    (define element-type/u32 4)
    (define element-type/s32 5)
    (define element-type/u64 6)
    (define element-type/s64 7)
    (define element-type/f32 8)
    (define element-type/f64 9)
    (define element-type/c64 10)
    (define element-type/c128 11)

    ;; A function of one flonum, of those that no primitive is named after.
    (define flonum-function/exp-1 0)
    (define flonum-function/exp2 1)
    (define flonum-function/log1+ 2)
    (define flonum-function/log2 3)
    (define flonum-function/log10 4)
    (define flonum-function/cbrt 5)
    (define flonum-function/sinh 6)
    (define flonum-function/cosh 7)
    (define flonum-function/tanh 8)
    (define flonum-function/asinh 9)
    (define flonum-function/acosh 10)
    (define flonum-function/atanh 11)
    (define flonum-function/gamma 12)
    (define flonum-function/loggamma 13)
    (define flonum-function/erf 14)
    (define flonum-function/erfc 15)

    ;; A function of two flonums, of those that no primitive is named after.
    (define flonum-operation/hypot 0)
    (define flonum-operation/copysign 1)
    (define flonum-operation/adjacent 2)
    (define flonum-operation/scale 3)
    (define flonum-operation/remainder 4)
    (define flonum-operation/quotient-bits 5)
    (define flonum-operation/first-bessel 6)
    (define flonum-operation/second-bessel 7)

    ;; A clock.
    (define clock/realtime 0)
    (define clock/monotonic 1)
    (define clock/process 2)
    (define clock/thread 3)

    ;; The key of a current port in the parameters register.
    (define port-key/input 0)
    (define port-key/output 1)
    (define port-key/error 2)

    ;; The treatment of an existing file that is opened for output.
    (define output-mode/truncate 0)
    (define output-mode/append 1)
    (define output-mode/overwrite 2)
    (define output-mode/create-new 3)

    ;; The kind of a port over a descriptor.
    (define port-kind/binary-input 0)
    (define port-kind/textual-input 1)
    (define port-kind/binary-output 2)
    (define port-kind/textual-output 3)
    (define port-kind/both 4)

    ;; How a file is opened: a sum of flags.
    (define open-flag/append 1)
    (define open-flag/create 2)
    (define open-flag/exclusive 4)
    (define open-flag/no-follow 8)
    (define open-flag/truncate 16)

    ;; How a file may be used: a sum of flags.
    (define file-access/execute 1)
    (define file-access/write 2)
    (define file-access/read 4)

    ;; A read that does not wait.
    (define try-read/character 0)
    (define try-read/peek 1)
    (define try-read/line 2)
    (define try-read/whole-line 3)
    (define try-read/characters 4)
    (define try-read/available 5)

    ;; A request to the service of a port.
    (define service/fill 0)
    (define service/drain 1)
    (define service/flush 2)
    (define service/close 3)
    (define service/position 4)
    (define service/set-position 5)
    (define service/encoding 6)
    (define service/succeed 7)
    (define service/turn-to-read 8)
    (define service/turn-to-write 9)

    ;; A version of the Internet protocol.
    (define family/any 0)
    (define family/inet 4)
    (define family/inet6 6)

    ;; The direction in which a socket is shut down.
    (define shutdown/read 0)
    (define shutdown/write 1)
    (define shutdown/both 2)

    ;; The parts that a text is divided into.
    (define division/graphemes 0)
    (define division/segments 1)
    (define division/words 2)
    (define division/sentences 3)

    ;; A normalization form of Unicode.
    (define normal-form/nfc 0)
    (define normal-form/nfd 1)
    (define normal-form/nfkc 2)
    (define normal-form/nfkd 3)

    ;; The representation of JSON objects.
    (define json-objects/symbols 0)
    (define json-objects/strings 1)
    (define json-objects/tables 2)

    ;; Padding at the end of base 64.
    (define padding/required 0)
    (define padding/optional 1)
    (define padding/refused 2)

    ;; How a database is opened.
    (define database-mode/read 0)
    (define database-mode/write 1)
    (define database-mode/create 2)
    (define database-mode/memory 3)

    ;; The result of a statement.
    (define row-shape/changes 0)
    (define row-shape/vectors 1)
    (define row-shape/alists 2)
    (define row-shape/vector 3)
    (define row-shape/alist 4)
    (define row-shape/value 5)
    (define row-shape/nothing 6)

    ;; A kind of items that guests export and import.
    (define guest-item/function 0)
    (define guest-item/table 1)
    (define guest-item/memory 2)
    (define guest-item/global 3)
    (define guest-item/tag 4)

    ;; A number in a memory of a guest.
    (define guest-number/u8 0)
    (define guest-number/s8 1)
    (define guest-number/u16 2)
    (define guest-number/s16 3)
    (define guest-number/u32 4)
    (define guest-number/s32 5)
    (define guest-number/u64 6)
    (define guest-number/s64 7)
    (define guest-number/f32 8)
    (define guest-number/f64 9)

    ;; A property of a database connection.
    (define database-state/last-insert-id 0)
    (define database-state/in-transaction 1)
    (define database-state/statements 2)
    (define database-state/cursors 3)

    ;; A stream of a new process, if it is no port.
    (define stream/inherit 0)
    (define stream/null 1)
    (define stream/binary-pipe 2)
    (define stream/textual-pipe 3)
    (define stream/output 4)

    ;; The progress of an exchange with a process.
    (define exchange/input 0)
    (define exchange/output 1)
    (define exchange/error 2)

    ;; The format of an access log.
    (define log-format/common 0)
    (define log-format/combined 1)
    (define log-format/json 2)

    ;; The header in which proxies name their client.
    (define proxy-field/x-forwarded-for 0)
    (define proxy-field/forwarded 1)

    ;; Properties of a request: a sum of flags.
    (define request-flag/keeps-alive 1)
    (define request-flag/new 2)
    (define request-flag/head 4)
    (define request-flag/upgrades 8)
    (define request-flag/secure 16)
    (define request-flag/http2 32)

    ;; Properties of a response: a sum of flags.
    (define response-flag/keeps-alive 1)
    (define response-flag/new 2)

    ;; The length of a body that is not known beforehand.
    (define body-length/chunked -1)
    (define body-length/until-end -2)

    ;; The kind of a frame of a WebSocket.
    (define frame/continuation 0)
    (define frame/text 1)
    (define frame/binary 2)
    (define frame/close 8)
    (define frame/ping 9)
    (define frame/pong 10)

    ;; An event of a WebSocket beside messages and pongs.
    (define websocket-event/fault 0)
    (define websocket-event/close 8)
    (define websocket-event/ping 9)

    ;; An order by which a primitive sorts.
    (define sort-order/numbers 0)
    (define sort-order/numbers-descending 1)
    (define sort-order/strings 2)
    (define sort-order/strings-descending 3)
    (define sort-order/characters 4)
    (define sort-order/characters-descending 5)

    ;; The kind of a macro's transformer, which says what symbols in its result mean.
    (define transformer-kind/procedure 0)
    (define transformer-kind/explicit 1)
    (define transformer-kind/implicit 2)
    (define transformer-kind/closing 3)
    (define transformer-kind/variable 4)

    ;; Fields of `waiter` in `(canny tasks)`, from 0.
    (define waiter-field/state 0)
    (define waiter-field/task 1)
    (define waiter-field/value 2)

    ;; Fields of `task` in `(canny tasks)`, from 0.
    (define task-field/lock 0)
    (define task-field/continuation 1)
    (define task-field/parameters 2)
    (define task-field/lane 3)
    (define task-field/account 4)
    (define task-field/waiter 5)
    (define task-field/cancelled 6)
    (define task-field/interruptions 7)
    (define task-field/future 8)
    (define task-field/number 9)
    (define task-field/name 10)
    (define task-field/waits-for 11)

    ;; Fields of `request` in `(canny web message)`, from 0.
    (define request-field/server 0)
    (define request-field/id 1)
    (define request-field/serial 2)
    (define request-field/method 3)
    (define request-field/flags 4)
    (define request-field/head 5)
    (define request-field/length 6)

    ;; Fields of `present` in `(canny web server)`, from 0.
    (define present-field/request 0)
    (define present-field/step 1)

    ;; Fields of `file-info-record` in `(canny machine posix)`, from 0.
    (define file-info-record-field/device 0)
    (define file-info-record-field/inode 1)
    (define file-info-record-field/mode 2)
    (define file-info-record-field/nlinks 3)
    (define file-info-record-field/uid 4)
    (define file-info-record-field/gid 5)
    (define file-info-record-field/rdev 6)
    (define file-info-record-field/size 7)
    (define file-info-record-field/blksize 8)
    (define file-info-record-field/blocks 9)
    (define file-info-record-field/accessed 10)
    (define file-info-record-field/modified 11)
    (define file-info-record-field/changed 12)

    ;; Elements of a vector of `server-option`.
    (define server-option/max-header-bytes 0)
    (define server-option/max-headers 1)
    (define server-option/max-target-bytes 2)
    (define server-option/max-body-bytes 3)
    (define server-option/max-connections 4)
    (define server-option/max-connections-per-client 5)
    (define server-option/idle-timeout 6)
    (define server-option/header-timeout 7)
    (define server-option/body-timeout 8)
    (define server-option/log-format 9)
    (define server-option/metrics 10)
    (define server-option/max-streams 11)
    (define server-option/trusted-proxies 12)
    (define server-option/proxy-field 13)
    (define server-option/max-unsent-bytes 14)
    (define server-option/max-unsent-bytes-per-connection 15)
    (define server-option/count 16)

    ;; Elements of a vector of `wait-row`.
    (define wait-row/key 0)
    (define wait-row/kind 1)
    (define wait-row/words 2)
    (define wait-row/name 3)
    (define wait-row/owner 4)
    (define wait-row/count 5)

    ;; Elements of a vector of `snapshot-report`.
    (define snapshot-report/objects 0)
    (define snapshot-report/bytes 1)
    (define snapshot-report/written 2)
    (define snapshot-report/stopped 3)
    (define snapshot-report/taken 4)
    (define snapshot-report/in-place 5)
    (define snapshot-report/count 6)

    ;; Elements of a vector of `heap-watch-report`.
    (define heap-watch-report/written 0)
    (define heap-watch-report/failed 1)
    (define heap-watch-report/left-out 2)
    (define heap-watch-report/count 3)

    ;; Elements of a vector of `type-sum`.
    (define type-sum/family 0)
    (define type-sum/name 1)
    (define type-sum/file 2)
    (define type-sum/line 3)
    (define type-sum/library 4)
    (define type-sum/objects 5)
    (define type-sum/bytes 6)
    (define type-sum/count 7)

    ;; Elements of a vector of `spawn-setting`.
    (define spawn-setting/program 0)
    (define spawn-setting/arguments 1)
    (define spawn-setting/environment 2)
    (define spawn-setting/directory 3)
    (define spawn-setting/input 4)
    (define spawn-setting/output 5)
    (define spawn-setting/error 6)
    (define spawn-setting/group 7)
    (define spawn-setting/terminal 8)
    (define spawn-setting/count 9)

    ;; Elements of a vector of `csv-dialect`.
    (define csv-dialect/delimiter 0)
    (define csv-dialect/quote 1)
    (define csv-dialect/escape 2)
    (define csv-dialect/comment 3)
    (define csv-dialect/trims 4)
    (define csv-dialect/skips-empty 5)
    (define csv-dialect/ends-with-return 6)
    (define csv-dialect/count 7)

    ;; Elements of a vector of `websocket-agreement`.
    (define websocket-agreement/read-bits 0)
    (define websocket-agreement/read-keeps-context 1)
    (define websocket-agreement/written-bits 2)
    (define websocket-agreement/written-keeps-context 3)
    (define websocket-agreement/count 4)

    ;; Elements of a list of `system-name`.
    (define system-name/operating-system 0)
    (define system-name/node 1)
    (define system-name/release 2)
    (define system-name/version 3)
    (define system-name/hardware 4)

    ;; Elements of a list of `user-id`.
    (define user-id/user 0)
    (define user-id/group 1)
    (define user-id/effective-user 2)
    (define user-id/effective-group 3)

    ;; Elements of a list of `spawned`.
    (define spawned/process 0)
    (define spawned/input 1)
    (define spawned/output 2)
    (define spawned/error 3)

    ;; Elements of a list of `name-information`.
    (define name-information/kind 0)
    (define name-information/library 1)
    (define name-information/signature 2)
    (define name-information/description 3)

    ;; Elements of a list of `parameter-list`.
    (define parameter-list/required 0)
    (define parameter-list/optional 1)
    (define parameter-list/keywords 2)
    (define parameter-list/rest 3)

    ;; Elements of a list of `definition-position`.
    (define definition-position/file 0)
    (define definition-position/line 1)
    (define definition-position/column 2)

    ;; Elements of a list of `datagram`.
    (define datagram/bytes 0)
    (define datagram/sender 1)
    (define datagram/cut 2)

    ;; Elements of a list of `secured`.
    (define secured/ports 0)
    (define secured/version 1)
    (define secured/protocol 2)
    (define secured/certificate 3)

    ;; Elements of a list of `response-head`.
    (define response-head/length 0)
    (define response-head/status 1)
    (define response-head/reason 2)
    (define response-head/flags 3)
    (define response-head/body 4)
    (define response-head/fields 5)

    ;; Elements of a list of `measured`.
    (define measured/in-flight 0)
    (define measured/counts 1)
    (define measured/bounds 2)
    (define measured/durations 3)
    (define measured/nanoseconds 4)))
