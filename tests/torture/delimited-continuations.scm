;;; Torture: random programs with delimited continuations against a machine whose continuations are
;;; lists of frames, where everything dynamic is a frame and nothing has to be kept in step.

(import (scheme base) (scheme write) (scheme eval) (scheme process-context) (canny prompts)
        (canny test))

;; Expressions:
;;   number | symbol | (+ e e) | (let x e e) | (emit e) | (reset tag e) | (capture which tag k e)
;;   | (call k e) | (wind id e) | (with-parameter e e) | (parameter) | (guard x e e) | (raise e)
;;   | (handle x e e) | (ask e) | (escape-scope x e) | (leave x e)
;; `which` is shift, shift0, control or control0.  The value of what is raised by the machine is -1.

;; A program as Scheme.

(define (compile expression)
  (if (pair? expression)
      (let ((part (lambda (n) (compile (list-ref expression n))))
            (raw (lambda (n) (list-ref expression n))))
        (case (car expression)
          ((+) `(add ,(part 1) ,(part 2)))
          ((let) `(let ((,(raw 1) ,(part 2))) ,(part 3)))
          ((emit) `(emit ,(part 1)))
          ((reset) `(reset-at ,(raw 1) ,(part 2)))
          ((capture)
           `(,(case (raw 1)
                ((shift) 'shift-at) ((shift0) 'shift0-at)
                ((control) 'control-at) (else 'control0-at))
             ,(raw 2) ,(raw 3) ,(part 4)))
          ((call) `(call ,(raw 1) ,(part 2)))
          ((wind)
           `(dynamic-wind (lambda () (emit (list 'in ,(raw 1) (p))))
                          (lambda () ,(part 2))
                          (lambda () (emit (list 'out ,(raw 1) (p))))))
          ((with-parameter) `(parameterize ((p ,(part 1))) ,(part 2)))
          ((parameter) '(p))
          ((guard)
           `(guard (,(raw 1) (else (let ((,(raw 1) (plain ,(raw 1)))) ,(part 3)))) ,(part 2)))
          ((raise) `(raise ,(part 1)))
          ((handle)
           `(with-exception-handler
              (lambda (,(raw 1)) (let ((,(raw 1) (plain ,(raw 1)))) ,(part 3)))
              (lambda () ,(part 2))))
          ((ask) `(raise-continuable ,(part 1)))
          ((escape-scope)
           `(call-with-escape-continuation (lambda (,(raw 1)) ,(part 2))))
          ((leave) `(call ,(raw 1) ,(part 2)))))
      expression))

(define trace '())

(define (emit value)
  (set! trace (cons value trace))
  0)

(define (plain object) (if (number? object) object -1))

(define (add x y) (if (and (number? x) (number? y)) (+ x y) (raise -1)))

(define (call k value) (if (procedure? k) (k value) (raise -1)))

(define (run-compiled expression)
  (set! trace '())
  (let ((value
         (guard (object (else (list 'uncaught (plain object))))
           ((eval `(lambda (a b emit plain add call p) ,(compile expression))
                  (environment '(scheme base) '(canny prompts)
                               '(only (canny base) call-with-escape-continuation)))
            tag-a tag-b emit plain add call (make-parameter 0)))))
    (list (plain-value value) (reverse trace))))

(define tag-a (make-prompt-tag 'a))
(define tag-b (make-prompt-tag 'b))

(define (plain-value value)
  (cond ((procedure? value) 'procedure) ((vector? value) 'procedure) (else value)))

;; The machine.  A frame is a list whose head says what it is:
;;   (add-right e env) (add value) (let x e env) (emit) (prompt tag) (call k) (wind id)
;;   (parameter value) (with-parameter e env) (guard x e env) (raise) (handle x e env id) (ask)
;;   (inside id) (scope id)
;; A continuation is #(continuation frames tag), an escape procedure #(escape id).

(define fuel 0)

(define (find-frame frames accept?)
  (cond ((null? frames) #f)
        ((accept? (car frames)) frames)
        (else (find-frame (cdr frames) accept?))))

(define (is? kind) (lambda (frame) (eq? (car frame) kind)))

(define (current-parameter frames)
  (let ((found (find-frame frames (is? 'parameter))))
    (if found (cadr (car found)) 0)))

;; Leaves the frames in front of `end`: the winders among them are left, the innermost first.
(define (leave-frames frames end)
  (if (not (eq? frames end))
      (begin
        (if (eq? (caar frames) 'wind)
            (emit (list 'out (cadr (car frames)) (current-parameter (cdr frames)))))
        (leave-frames (cdr frames) end))))

;; Puts frames, the outermost last, on top of others: the winders among them are entered, the
;; outermost first.
(define (enter-frames frames others)
  (if (null? frames)
      others
      (let ((rest (enter-frames (cdr frames) others)))
        (if (eq? (caar frames) 'wind)
            (emit (list 'in (cadr (car frames)) (current-parameter rest))))
        (cons (car frames) rest))))

(define (frames-before frames end)
  (if (eq? frames end) '() (cons (car frames) (frames-before (cdr frames) end))))

;; The frames from the innermost handler on; a handler runs with those outside of its own.
(define (handlers-from frames)
  (cond ((null? frames) '())
        ((memq (caar frames) '(guard handle)) frames)
        ((eq? (caar frames) 'inside)
         (let ((own (find-frame frames
                                (lambda (frame)
                                  (and (eq? (car frame) 'handle)
                                       (eqv? (list-ref frame 4) (cadr (car frames))))))))
           (handlers-from (if own (cdr own) '()))))
        (else (handlers-from (cdr frames)))))

(define next-id 0)
(define (new-id) (set! next-id (+ next-id 1)) next-id)

(define (evaluate e env frames)
  (set! fuel (- fuel 1))
  (cond ((< fuel 0) 'too-long)
        ((number? e) (return e frames))
        ((symbol? e) (return (cdr (assq e env)) frames))
        (else
         (let ((raw (lambda (n) (list-ref e n))))
           (case (car e)
             ((+) (evaluate (raw 1) env (cons (list 'add-right (raw 2) env) frames)))
             ((let) (evaluate (raw 2) env (cons (list 'let (raw 1) (raw 3) env) frames)))
             ((emit) (evaluate (raw 1) env (cons '(emit) frames)))
             ((reset) (evaluate (raw 2) env (cons (list 'prompt (raw 1)) frames)))
             ((capture)
              (let* ((which (raw 1))
                     (tag (raw 2))
                     (end (find-frame frames
                                      (lambda (frame)
                                        (and (eq? (car frame) 'prompt) (eq? (cadr frame) tag))))))
                (if (not end)
                    (throw -1 frames #f)
                    (let ((k (vector 'continuation (frames-before frames end)
                                     (and (memq which '(shift shift0)) tag))))
                      (leave-frames frames end)
                      (evaluate (raw 4) (cons (cons (raw 3) k) env)
                                (if (memq which '(shift control)) end (cdr end)))))))
             ((call leave)
              (evaluate (raw 2) env (cons (list 'call (cdr (assq (raw 1) env))) frames)))
             ((wind)
              (emit (list 'in (raw 1) (current-parameter frames)))
              (evaluate (raw 2) env (cons (list 'wind (raw 1)) frames)))
             ((with-parameter)
              (evaluate (raw 1) env (cons (list 'with-parameter (raw 2) env) frames)))
             ((parameter) (return (current-parameter frames) frames))
             ((guard)
              (evaluate (raw 2) env (cons (list 'guard (raw 1) (raw 3) env) frames)))
             ((raise) (evaluate (raw 1) env (cons '(raise) frames)))
             ((handle)
              (evaluate (raw 2) env (cons (list 'handle (raw 1) (raw 3) env (new-id)) frames)))
             ((ask) (evaluate (raw 1) env (cons '(ask) frames)))
             ((escape-scope)
              (let ((id (new-id)))
                (evaluate (raw 2) (cons (cons (raw 1) (vector 'escape id)) env)
                          (cons (list 'scope id) frames)))))))))

(define (return value frames)
  (if (null? frames)
      value
      (let* ((frame (car frames))
             (rest (cdr frames))
             (part (lambda (n) (list-ref frame n))))
        (case (car frame)
          ((add-right) (evaluate (part 1) (part 2) (cons (list 'add value) rest)))
          ((add)
           (if (and (number? value) (number? (part 1)))
               (return (+ (part 1) value) rest)
               (throw -1 rest #f)))
          ((let) (evaluate (part 2) (cons (cons (part 1) value) (part 3)) rest))
          ((emit) (emit (plain-value value)) (return 0 rest))
          ((prompt parameter guard handle inside scope) (return value rest))
          ((call)
           (let ((k (part 1)))
             (cond ((not (vector? k)) (throw -1 rest #f))
                   ((eq? (vector-ref k 0) 'escape)
                    (let ((end (find-frame rest
                                           (lambda (frame)
                                             (and (eq? (car frame) 'scope)
                                                  (eqv? (cadr frame) (vector-ref k 1)))))))
                      (if end
                          (begin (leave-frames rest end) (return value (cdr end)))
                          (throw -1 rest #f))))
                   (else
                    (let ((tag (vector-ref k 2)))
                      (return value
                              (enter-frames (vector-ref k 1)
                                            (if tag (cons (list 'prompt tag) rest) rest))))))))
          ((wind)
           (emit (list 'out (part 1) (current-parameter rest)))
           (return value rest))
          ((with-parameter) (evaluate (part 1) (part 2) (cons (list 'parameter value) rest)))
          ((raise) (throw value rest #f))
          ((ask) (throw value rest #t))
          ;; The handler of a plain raise has returned.
          ((secondary) (throw -1 rest #f))))))

(define (throw value frames continuable?)
  (let ((place (handlers-from frames)))
    (if (null? place)
        (begin
          (leave-frames frames '())
          (list 'uncaught (plain value)))
        (let* ((frame (car place))
               (env (cons (cons (list-ref frame 1) (plain value)) (list-ref frame 3))))
          (if (eq? (car frame) 'guard)
              (begin
                (leave-frames frames place)
                (evaluate (list-ref frame 2) env (cdr place)))
              (let ((inside (cons (list 'inside (list-ref frame 4)) frames)))
                (evaluate (list-ref frame 2) env
                          (if continuable? inside (cons '(secondary) inside)))))))))

(define (run-interpreted expression)
  (set! trace '())
  (set! fuel 3000)
  (let ((value (evaluate expression '() '())))
    (list (plain-value value) (reverse trace))))

;; Random programs.

(define seed 1)

(define (random n)
  (set! seed (modulo (+ (* seed 1103515245) 12345) 2147483648))
  (modulo (quotient seed 65536) n))

(define (pick list) (list-ref list (random (length list))))

(define (atom variables)
  (if (or (null? variables) (= 0 (random 3)))
      (random 10)
      (pick variables)))

(define counter 0)
(define (fresh name)
  (set! counter (+ counter 1))
  (string->symbol (string-append name (number->string counter))))

;; `numbers`, `ks` and `scopes` are the variables of each sort. Handlers for `ask` capture nothing
;; themselves, since what a capture outside of the prompt's own handlers means is nobody's concern.
(define (program depth numbers ks)
  (define (sub) (program (- depth 1) numbers ks))
  (if (<= depth 0)
      (atom numbers)
      (case (random 19)
        ((0 1) `(+ ,(sub) ,(sub)))
        ((2) (let ((x (fresh "x")))
               `(let ,x ,(sub) ,(program (- depth 1) (cons x numbers) ks))))
        ((3) `(emit ,(sub)))
        ((4 5) `(reset ,(pick '(a b)) ,(sub)))
        ((6 7 8)
         (let ((k (fresh "k")))
           `(capture ,(pick '(shift shift shift0 control control0)) ,(pick '(a b)) ,k
                     ,(program (- depth 1) numbers (cons k ks)))))
        ((9 10 11) (if (null? ks) (sub) `(call ,(pick ks) ,(sub))))
        ((12) `(wind ,(random 100) ,(sub)))
        ((13) `(with-parameter ,(random 100) ,(sub)))
        ((14) '(parameter))
        ((15) (let ((x (fresh "e")))
                `(guard ,x ,(sub) ,(program (- depth 1) (cons x numbers) ks))))
        ((16) `(raise ,(sub)))
        ((17) (let ((x (fresh "e")))
                `(handle ,x ,(program (- depth 1) numbers ks) (+ ,x (emit (parameter))))))
        (else
         (if (= 0 (random 2))
             `(ask ,(sub))
             (let ((x (fresh "x")))
               `(escape-scope ,x ,(program (- depth 1) numbers (cons x ks)))))))))

(define (random-program)
  (set! counter 0)
  `(reset a (reset b (guard e ,(program 7 '() '()) (+ e 1000)))))

;; Programs that take too long are left out.
(define (skipped? outcome) (memq (car outcome) '(too-long)))

(define count
  (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 300))

(test-group "random programs"
  (let loop ((i 0) (compared 0))
    (if (< i count)
        (let* ((expression (random-program))
               (expected (run-interpreted expression)))
          (if (skipped? expected)
              (loop (+ i 1) compared)
              (let ((actual (run-compiled expression)))
                (if (not (equal? expected actual))
                    (begin
                      (write expression)
                      (newline)))
                (test expected actual)
                (loop (+ i 1) (+ compared 1)))))
        (test-true (> compared (quotient count 2))))))

(test-finish)
