//! Rows of the messages about conditions and other raised objects, which end a program or return to
//! the prompt.
//!
//! The kinds of conditions map to these codes by `code_of_raised`; a kind without a row is
//! `other-condition`. Tests run the examples.

use super::rows;

rows! { Running:
"wrong-type" ["type"]
"An argument has the wrong type"
"The message names the procedure, the argument and the object that was given."
"(define (total numbers)
  (if (null? numbers) 0 (+ (car numbers) (total (cdr numbers)))))
(display (total '(1 two 3)))"
=> "(define (total numbers)
  (if (null? numbers) 0 (+ (car numbers) (total (cdr numbers)))))
(display (total '(1 2 3)))";

"out-of-range" ["range"]
"An argument is out of range"
"An index is not inside of its vector, string or list, or a number is larger or smaller than the procedure \
 allows. The message says what would be right."
"(define v (vector 1 2 3))
(display (vector-ref v 3))"
=> "(define v (vector 1 2 3))
(display (vector-ref v 2))";

"not-a-procedure" ["not-procedure"]
"The operator of a call is not a procedure"
"The first element of a call must be a procedure. Often there is a pair of parentheses too many, or a \
 variable shadows a procedure."
"(define (f rest) ((car rest) 1 2))
(display (f '(3 4)))"
=> "(define (f rest) ((car rest) 1 2))
(display (f (list + 4)))";

"arithmetic" ["arithmetic"]
"A number cannot be computed"
"Division by an exact zero, and the like. Inexact numbers give infinities and NaN instead."
"(define (mean numbers) (/ (apply + numbers) (length numbers)))
(display (mean '()))"
=> "(define (mean numbers)
  (if (null? numbers) 0 (/ (apply + numbers) (length numbers))))
(display (mean '()))";

"immutable-object" ["immutable"]
"A literal is changed"
"Quoted lists and vectors and strings in the text of a program are constants. `list`, `vector`, \
 `string-copy` and the like make objects that can change."
"(define greeting \"hello\")
(string-set! greeting 0 #\\H)"
=> "(define greeting (string-copy \"hello\"))
(string-set! greeting 0 #\\H)";

"raised-error" ["error"]
"The program raised an error"
"`error` was called, and no handler took the condition. The message and the objects are those of the call."
"(define (root x)
  (if (< x 0) (error \"root of a negative number:\" x) (sqrt x)))
(display (root -4))"
=> "(define (root x)
  (if (< x 0) (error \"root of a negative number:\" x) (sqrt x)))
(display (guard (e ((error-object? e) 'none)) (root -4)))";

"uncaught-object" []
"An object was raised and not handled"
"`raise` was called with an object that is no condition, and no handler took it."
"(define (find-name key)
  (raise 'no-such-key))
(display (find-name 'x))"
=> "(define (find-name key)
  (raise 'no-such-key))
(display (guard (e ((symbol? e) e)) (find-name 'x)))";

"handler-returned" ["handler-returned"]
"An exception handler returned"
"A handler of `raise` or `error` must not return. Use `guard`, or leave by a continuation; objects of \
 `raise-continuable` may be answered by returning."
"(with-exception-handler
  (lambda (e) 0)
  (lambda () (+ 1 (raise 'oops))))"
=> "(with-exception-handler
  (lambda (e) 0)
  (lambda () (+ 1 (raise-continuable 'oops))))";

"failed-assertion" ["assertion"]
"An assertion does not hold"
"The expression of `assert` was false."
"(define (half n)
  (assert (even? n))
  (quotient n 2))
(display (half 3))"
=> "(define (half n)
  (assert (even? n))
  (quotient n 2))
(display (half 4))";

"missing-key" ["key"]
"A hash table has no such key"
"`hash-table-ref` without a procedure for that case was called with a key that has no value. \
 `hash-table-ref/default` gives a default."
"(import (scheme base) (srfi 69))
(define ages (make-hash-table))
(hash-table-ref ages 'ann)"
=> "(import (scheme base) (srfi 69))
(define ages (make-hash-table))
(hash-table-ref/default ages 'ann 0)";

"no-applicable-method" ["no-applicable-method"]
"A generic function has no method for these arguments"
"No method's classes fit the classes of the arguments, which the message shows."
"(import (scheme base) (canny generic))
(define-generic (area shape))
(define-method (area (side <number>)) (* side side))
(area \"x\")"
=> "(import (scheme base) (canny generic))
(define-generic (area shape))
(define-method (area (side <number>)) (* side side))
(area 2)";

"no-next-method" ["no-next-method"]
"There is no further method"
"A method called the next method, and it is the last one."
"" => "";

"file-error" ["file"]
"The system refused something with a file"
"The message has the name of the file and what the system said. Such conditions satisfy `file-error?`."
"(define port (open-input-file \"no-such-file.txt\"))
(display (read-line port))"
=> "(define port
  (guard (e ((file-error? e) (open-input-string \"\")))
    (open-input-file \"no-such-file.txt\")))
(display (read-line port))";

"process-failed" ["process"]
"A program that was run failed"
"It ended with an exit code that is not 0, or by a signal. The message has the command, how it ended, and \
 the end of what it wrote to its error stream. `run` gives the exit code instead. Such conditions satisfy \
 `process-error?`."
"(import (scheme base) (canny process))
(run/check '(\"false\"))"
=> "(import (scheme base) (canny process))
(run '(\"false\"))";

"database-error" ["sqlite" "postgresql"]
"A database has refused something"
"The message has the database's words, its code, and for errors in a statement its text and the place in it. \
 Predicates of `(canny sqlite)` and `(canny postgresql)` tell the kinds apart that programs handle: \
 `unique-violation?`, `database-busy?`, `serialization-failure?` and so on."
"(import (scheme base) (canny sqlite))
(query (open-memory-database) \"select * form t\")"
=> "(import (scheme base) (canny sqlite))
(query (open-memory-database) \"select 1\")";

"guest-error" ["wasm"]
"A WebAssembly guest has failed"
"A module is not valid, its imports do not fit, or a call has ended with a trap. Of a trap the message \
 has the kind and the guest's functions. `wasm-error?`, `trap?` and `trap-kind` of `(canny wasm)` tell \
 them apart."
"(import (scheme base) (canny wasm))
(define guest (instantiate (compile-module \"(module (func (export \\\"f\\\") unreachable))\")))
(call-export guest \"f\")"
=> "(import (scheme base) (canny wasm))
(define guest (instantiate (compile-module \"(module (func (export \\\"f\\\")))\")))
(call-export guest \"f\")";

"read-error" ["read"]
"The text that `read` got is not a datum"
"The text of a port is not that of a datum. The message has the place in the text. Such conditions satisfy \
 `read-error?`."
"(display (read (open-input-string \"(1 . )\")))"
=> "(display (read (open-input-string \"(1 . 2)\")))";

"evaluated-syntax" ["syntax"]
"Code that is evaluated while the program runs has errors"
"`eval`, `load` or `environment` was given something that is no correct code. The message has the errors."
"(import (scheme base) (scheme eval))
(eval '(if) (environment '(scheme base)))"
=> "(import (scheme base) (scheme eval))
(eval '(if #t 1 2) (environment '(scheme base)))";

"dead-escape" ["escape"]
"An escape procedure is called too late"
"The call that made the escape procedure has returned. `call/cc` makes continuations that can be entered \
 again."
"(define leave (call/ec (lambda (k) k)))
(leave 1)"
=> "(display (call/ec (lambda (leave) (leave 1))))";

"missing-prompt" ["prompt"]
"There is no prompt with this tag"
"`abort-to-prompt` and the operators made of it need a call of `call-with-prompt` with the same tag around \
 them."
"" => "";

"stack-overflow" ["stack"]
"The calls are nested too deeply"
"A procedure calls itself without end, or so often that the frames exceed the limit; `--stack-limit` sets \
 it. A call in tail position needs no frame."
";;; options: --stack-limit 4M
(define (count n) (+ 1 (count (+ n 1))))
(display (count 0))"
=> "(define (count n) (if (= n 1000) n (count (+ n 1))))
(display (count 0))";

"out-of-memory" ["memory"]
"The heap is exhausted"
"Objects that are in use need more memory than there is; `--heap-limit` sets the limit."
";;; options: --heap-limit 16M
(define (fill list) (fill (cons (make-vector 1000 0) list)))
(fill '())"
=> "(define (fill list n) (if (> n 0) (fill (cons (make-vector 1000 0) list) (- n 1))))
(fill '() 10)";

"interrupted" ["interrupt"]
"Ctrl-C was typed"
"The program was interrupted, and no handler took the condition."
"" => "";

"system-error" ["system"]
"The operating system refused something"
"The message says what."
"" => "";

"timed-out" ["timeout"]
"An operation took longer than it was allowed to"
"The other side of a port, a connection or a program did nothing for as long as a `#:timeout` or \
 `set-port-timeout!` allows. Of a port nothing is lost, and the operation can be tried again; a program that \
 was run is ended. `guard` with `timeout-error?` takes the condition."
"(import (scheme base) (canny process))
(run '(\"sleep\" \"60\") #:timeout 0.01)"
=> "(import (scheme base) (canny process))
(run '(\"sleep\" \"0\") #:timeout 60)";

"cancelled" ["cancelled"]
"A task was cancelled"
"Somebody has asked the task to end while it waited, and what waits for the task gets this condition. \
 `guard` with `cancelled-error?` takes it."
"" => "";

"deadlock" ["deadlock"]
"A task would wait for ever"
"The event that it would wait for can only come from itself."
"" => "";

"channel-closed" ["channel-closed"]
"Something was sent to a channel that is closed"
"`channel-close!` says that nothing will be sent any more; who sends has to know that, or to take the \
 condition by `guard` with `channel-closed-error?`."
"(import (scheme base) (canny channels))
(define c (make-channel 1))
(channel-close! c)
(channel-send! c 'late)"
=> "(import (scheme base) (canny channels))
(define c (make-channel 1))
(channel-send! c 'in-time)
(channel-close! c)";

"malformed-markup" ["markup"]
"A text is not the markup that it should be, or an object has no form as markup"
"Errors of `html->sxml` and `xml->sxml` name line and column, those of `sxml->html` and `sxml->xml` the path \
 to the node. `guard` with `markup-error?` takes the condition. Attributes that are programs, and URLs such \
 as `javascript:`, are written only if they are marked by `*trusted*`."
"(import (scheme base) (canny sxml))
(sxml->html '(p (b #t)))"
=> "(import (scheme base) (canny sxml))
(sxml->html '(p (b \"true\")))";

"other-condition" []
"A condition of a library's own kind was raised and not handled"
"The message is that of the library which made the condition."
"" => "";
}
