;;; (canny machine control): continuations, the dynamic state, exceptions, parameters, promises.
;;;
;;; This library is the only user of the registers of the dynamic state: winders, handlers and
;;; parameters.  The file of primitive rows `control` says what each holds.
;;;
;;; Invariants:
;;; - A procedure that changes a register puts the old value back before it returns, so that on an
;;;   ordinary return the registers are what they were at the call.
;;; - A continuation or escape procedure restores all three, after it has run the winders between
;;;   here and there.  The before and after procedures of a winder run with the handlers and the
;;;   parameters of the call to dynamic-wind.
;;; - The copy of a register in a frame may be out of date when a composable continuation copies the
;;;   frame to another place. Lists of winders and of parameters, as far as they belong to the part
;;;   that is copied, are replaced in frames by new ones. For handlers, which `raise` takes off and
;;;   puts back, that would not be enough: nothing relies on an old list of handlers.
;;; - Several values are one object. A plain `let` passes results on, no matter how many.
;;;
;;; The machine calls these globals by name:
;;;
;;; (raise object)          for a condition made by a failing primitive or instruction, in place of
;;;                         the failing operation; it never returns.
;;; (%rewind-and-call winders procedure value)
;;;                         for a continuation or escape procedure that was called with the value
;;;                         and has these winders.
;;; (%call-again serve request primitive argument ...)
;;;                         for a primitive, called as a procedure, that can do its work only after
;;;                         (serve request).
;;; (%interrupt-handler)    at a safepoint, when an interrupt is pending; when it returns, the
;;;                         program continues.
;;; (%preempt-handler) at a safepoint, when another task should run; when it returns, this one
;;; resumes.
;;;
;;; If no handler takes an exception, `raise` calls the primitive %uncaught with the object while
;;; the frames of the raise still exist. So the report can show them. %uncaught ends the program,
;;; or the form of the REPL, and runs no winders.
;;;
;;; When a handler returns from `raise`, a condition of kind `handler-returned` is raised, with
;;; the object as its irritant. It is raised in the dynamic environment of the handler.

(define-library (canny machine control)
  (export call-with-current-continuation
          (rename call-with-current-continuation call/cc)
          call-with-escape-continuation
          (rename call-with-escape-continuation call/ec)
          let/cc let/ec
          dynamic-wind
          with-exception-handler raise raise-continuable error
          guard %guard %guard-else
          make-parameter parameterize %parameterize
          current-input-port current-output-port current-error-port
          call-with-prompt abort-to-prompt call-with-composable-continuation prompt-available?
          abort-current-continuation
          promise? make-promise force delay delay-force %delay %delay-force
          make-guardian
          exit emergency-exit %exit-override
          %rewind %rewind-and-call %interrupt-handler %preempt-handler
          %set-preempt-procedure!
          %call-again)
  (import (canny machine protocols) (canny primitives) (canny syntax))
  (begin

    ;; Winders. A winder is a vector: before, after, handlers, parameters. Prompts stand among them.

    (define (dynamic-wind before thunk after)
      (before)
      (let ((outer (%winders)))
        (%set-winders! (cons (vector before after (%handlers) (%parameters)) outer))
        (let ((result (thunk)))
          (%set-winders! outer)
          (after)
          result)))

    (define (common-tail left right)
      (let* ((left-length (length left))
             (right-length (length right))
             (shorter (min left-length right-length)))
        (let loop ((left (list-tail left (- left-length shorter)))
                   (right (list-tail right (- right-length shorter))))
          (if (eq? left right)
              left
              (loop (cdr left) (cdr right))))))

    (define (enter-dynamic-state-of winder)
      (%set-handlers! (vector-ref winder 2))
      (%set-parameters! (vector-ref winder 3)))

    (define (unwind winders target)
      (if (not (eq? winders target))
          (let ((winder (car winders))
                (rest (cdr winders)))
            (%set-winders! rest)
            (if (vector? winder)
                (begin
                  (enter-dynamic-state-of winder)
                  ((vector-ref winder 1))))
            (unwind rest target))))

    (define (wind winders target)
      (if (not (eq? winders target))
          (let ((winder (car winders)))
            (wind (cdr winders) target)
            (if (vector? winder)
                (begin
                  (enter-dynamic-state-of winder)
                  ((vector-ref winder 0))))
            (%set-winders! winders))))

    ;; Runs the winders between the current ones and `target`.  Afterwards the handlers and the
    ;; parameters are those of the last winder run: the caller sets its own.
    (define (%rewind target)
      (let ((current (%winders)))
        (cond ((eq? current target))
              ((and (pair? current) (eq? (cdr current) target))
               (unwind current target))
              (else
               (let ((common (common-tail current target)))
                 (unwind current common)
                 (wind target common))))))

    ;; The machine calls this when a continuation or an escape procedure was called and there are
    ;; winders to be run.  The second time there are none.
    (define (%rewind-and-call winders procedure value)
      (%rewind winders)
      (procedure value))

    ;; Continuations and escape procedures are the machine's; it restores the three registers.

    (define-syntax let/cc
      (syntax-rules ()
        ((_ name body0 body ...)
         (call-with-current-continuation (lambda (name) body0 body ...)))))

    (define-syntax let/ec
      (syntax-rules ()
        ((_ name body0 body ...)
         (call-with-escape-continuation (lambda (name) body0 body ...)))))

    ;; Exceptions.

    (define (with-exception-handler handler thunk)
      (if (not (procedure? handler))
          (%type-error 'with-exception-handler 1 "procedure" handler))
      (%set-handlers! (cons handler (%handlers)))
      (let ((result (thunk)))
        (%set-handlers! (cdr (%handlers)))
        result))

    ;; The list of handlers from the first one on: prompts stand among them.
    (define (skip-prompts handlers)
      (if (and (pair? handlers) (not (procedure? (car handlers))))
          (skip-prompts (cdr handlers))
          handlers))

    (define (raise object)
      (let ((handlers (skip-prompts (%handlers))))
        (if (null? handlers)
            (%uncaught object #f)
            (begin
              (%set-handlers! (cdr handlers))
              ((car handlers) object)
              (raise (%make-condition 'handler-returned
                                      "exception handler returned from non-continuable raise"
                                      (list object)
                                      'raise))))))

    (define (raise-continuable object)
      (let* ((all (%handlers))
             (handlers (skip-prompts all)))
        (if (null? handlers)
            (%uncaught object #t)
            (begin
              (%set-handlers! (cdr handlers))
              (let ((result ((car handlers) object)))
                (%set-handlers!
                 (if (eq? (%handlers) (cdr handlers))
                     all
                     (put-back all (cdr handlers) (%handlers))))
                result)))))

    ;; The handlers of `all` in front of `end`, on top of others.
    (define (put-back all end others)
      (if (eq? all end)
          others
          (cons (car all) (put-back (cdr all) end others))))

    (define (error message . irritants)
      (raise (%make-condition 'error message irritants #f)))

    (define (%call-again serve request primitive . arguments)
      (serve request)
      (%apply primitive arguments))

    (define (%interrupt-handler)
      (raise-continuable (%make-condition 'interrupt "interrupted" '() #f)))

    ;; The procedure that lets other tasks run; `(canny tasks)` has it.
    (define preempt-procedure (lambda () #f))

    (define (%set-preempt-procedure! procedure)
      (set! preempt-procedure procedure))

    (define (%preempt-handler)
      (preempt-procedure))

    ;; guard. The body returns an ordinary result or, by way of its handler, a `caught` record with
    ;; a procedure that evaluates what the guard gives. The continuation must be a full one. A
    ;; continuation captured in the body may enter it again after guard has returned. So may an
    ;; after procedure that is run on the way out. It is thrown to, which leaves winders and
    ;; registers alone. The winders are run here, where the frames of the body, which may have used
    ;; up the stack, are gone. When a composable continuation has put the frames of the guard
    ;; elsewhere, that is where it is thrown to.
    ;;
    ;; Tests of clauses are evaluated where the object was raised, if there are no winders to be run
    ;; first. Then nothing has to be captured for the case that no clause takes the object.
    ;; Otherwise the raise is captured and entered again in that case.

    (define-record-type caught
      (make-caught finish)
      caught?
      (finish caught-finish))

    (define (run-guarded body make-handler)
      (let* ((winders (%winders))
             (parameters (%parameters))
             (result
              (call-with-current-continuation
               (lambda (frames)
                 (%set-handlers! (cons (make-handler frames winders parameters) (%handlers)))
                 (let ((result (body)))
                   (%set-handlers! (cdr (%handlers)))
                   result)))))
        (if (caught? result)
            ;; The handler was called with the handlers around the guard.
            (let ((handlers (%handlers)))
              (if (not (eq? (%winders) winders))
                  (%rewind winders))
              (%set-handlers! handlers)
              (%set-parameters! parameters)
              ((caught-finish result)))
            result)))

    (define (%guard-else body clauses)
      (run-guarded body
                   (lambda (frames winders parameters)
                     (lambda (object)
                       (%throw (%continuation-here frames)
                               (make-caught (lambda () (clauses object))))))))

    (define (%guard body choose)
      (run-guarded body
                   (lambda (frames winders parameters)
                     (lambda (object)
                       (if (eq? (%winders) winders)
                           (choose-here object choose frames parameters)
                           (choose-there object choose frames))))))

    ;; Evaluates the tests here, with the parameters of the guard.
    (define (choose-here object choose frames parameters)
      (let ((handlers (%handlers))
            (inner (%parameters)))
        (%set-parameters! parameters)
        (let ((chosen (choose object)))
          (if chosen
              (%throw (%continuation-here frames) (make-caught chosen)))
          (%set-parameters! inner)
          (%set-handlers! handlers)
          (raise-continuable object))))

    ;; Leaves for the guard, where the tests are evaluated, and comes back if none holds.
    (define (choose-there object choose frames)
      ((call-with-current-continuation
        (lambda (at-raise)
          (%throw (%continuation-here frames)
                  (make-caught
                   (lambda ()
                     (let ((chosen (choose object)))
                       (if chosen
                           (chosen)
                           (at-raise (lambda () (raise-continuable object))))))))))))

    (define-syntax guard
      (syntax-rules (else)
        ((_ (variable clause ... (else expression0 expression ...)) body0 body ...)
         (%guard-else (lambda () body0 body ...)
                      (lambda (variable)
                        (cond clause ... (else expression0 expression ...)))))
        ((_ (variable clause ... (#t expression0 expression ...)) body0 body ...)
         (%guard-else (lambda () body0 body ...)
                      (lambda (variable)
                        (cond clause ... (#t expression0 expression ...)))))
        ((_ (variable clause ...) body0 body ...)
         (%guard (lambda () body0 body ...)
                 (lambda (variable)
                   (choice clause ...))))))

    ;; A procedure that evaluates what the first clause whose test holds gives, or #f.
    (define-syntax choice
      (syntax-rules (else =>)
        ((_) #f)
        ((_ (else expression ...) clause ...)
         (cond (else expression ...) clause ...))
        ((_ (test => receiver) clause ...)
         (let ((value test))
           (if value
               (lambda () (receiver value))
               (choice clause ...))))
        ((_ (test) clause ...)
         (let ((value test))
           (if value
               (lambda () value)
               (choice clause ...))))
        ((_ (test expression0 expression ...) clause ...)
         (if test
             (lambda () expression0 expression ...)
             (choice clause ...)))
        ((_ clause ...)
         (cond clause ...))))

    ;; Parameters.  A parameter object is a procedure. It gives its cell when it is called with
    ;; the request object, and its value when it is called without arguments.  With any other
    ;; argument it changes its innermost binding (SRFI 39).

    (define-record-type parameter-cell
      (make-parameter-cell key value converter)
      parameter-cell?
      (key cell-key set-cell-key!)
      (value cell-value set-cell-value!)
      (converter cell-converter))

    (define request (list 'parameter-cell-request))

    (define (convert cell value)
      (let ((converter (cell-converter cell)))
        (if converter
            (converter value)
            value)))

    (define make-parameter
      (case-lambda
        ((value) (make-parameter-object (make-parameter-cell #f value #f)))
        ((value converter)
         (make-parameter-object (make-parameter-cell #f (converter value) converter)))))

    (define (make-parameter-object cell)
      (set-cell-key! cell cell)
      (let ((parameter
             (case-lambda
               (()
                (if (null? (%parameters))
                    (cell-value cell)
                    (%parameter-ref cell (cell-value cell))))
               ((argument)
                (if (eq? argument request)
                    cell
                    (let ((value (convert cell argument))
                          (entry (%parameter-entry cell)))
                      (if entry
                          (set-cdr! entry value)
                          (set-cell-value! cell value))))))))
        parameter))

    (define (make-port-parameter key check expected name)
      (let* ((converter
              (lambda (value)
                (if (check value)
                    value
                    (%type-error name 1 expected value))))
             (cell (make-parameter-cell key #f converter)))
        (let ((parameter
               (case-lambda
                 (() (%current-port key))
                 ((argument)
                  (if (eq? argument request)
                      cell
                      (let ((port (converter argument))
                            (entry (%parameter-entry key)))
                        (if entry
                            (set-cdr! entry port)
                            (%set-default-port! key port))))))))
          (%set-procedure-name! parameter name)
          parameter)))

    (define current-input-port
      (make-port-parameter port-key/input input-port? "input port" 'current-input-port))
    (define current-output-port
      (make-port-parameter port-key/output output-port? "output port" 'current-output-port))
    (define current-error-port
      (make-port-parameter port-key/error output-port? "output port" 'current-error-port))

    (define (parameter->cell parameter)
      (let ((cell (if (procedure? parameter) (parameter request) #f)))
        (if (parameter-cell? cell)
            cell
            (%type-error 'parameterize 1 "parameter" parameter))))

    ;; `bindings` is a list of pairs of parameter and unconverted value.
    (define (%parameterize bindings thunk)
      (let ((outer (%parameters)))
        (let loop ((bindings bindings) (inner outer))
          (if (pair? bindings)
              (let* ((cell (parameter->cell (caar bindings)))
                     (value (convert cell (cdar bindings))))
                (loop (cdr bindings) (cons (cons (cell-key cell) value) inner)))
              (begin
                (%set-parameters! inner)
                (let ((result (thunk)))
                  (%set-parameters! outer)
                  result))))))

    (define-syntax parameterize
      (syntax-rules ()
        ((_ () body0 body ...)
         (let () body0 body ...))
        ((_ ((parameter value) ...) body0 body ...)
         (%parameterize (list (cons parameter value) ...)
                        (lambda () body0 body ...)))))

    ;; Prompts and composable continuations.
    ;;
    ;; A prompt is a record that knows the continuation of its `call-with-prompt`. While its thunk
    ;; runs, it stands in all three registers: among the winders, among the handlers, and as a key
    ;; among the parameters. So a part of a register's list belongs to the part of the continuation
    ;; above the prompt. It can be put on top of another list. The handlers and parameters around
    ;; the prompt are also kept in it, for an abort by a handler that runs outside of the prompt's
    ;; own.

    (define-record-type prompt
      (make-prompt tag frames handlers parameters)
      prompt?
      (tag prompt-tag)
      (frames prompt-frames)
      (handlers prompt-handlers)
      (parameters prompt-parameters))

    ;; The values that an abort passes to the continuation of a prompt: a list.
    (define-record-type aborted
      (make-aborted values)
      aborted?
      (values aborted-values))

    (define (call-with-prompt tag thunk handler)
      (if (not (procedure? handler))
          (%type-error 'call-with-prompt 3 "procedure" handler))
      (let ((result
             (call-with-current-continuation
              (lambda (frames)
                (let* ((handlers (%handlers))
                       (parameters (%parameters))
                       (prompt (make-prompt tag frames handlers parameters)))
                  (%set-winders! (cons prompt (%winders)))
                  (%set-handlers! (cons prompt handlers))
                  (%set-parameters! (cons (cons prompt #f) parameters))
                  (thunk))))))
        (if (aborted? result)
            (%apply handler (aborted-values result))
            (begin
              (%set-winders! (cdr (%winders)))
              (%set-handlers! (cdr (%handlers)))
              (%set-parameters! (cdr (%parameters)))
              result))))

    ;; The list of winders that begins with the innermost prompt with the tag, or #f.
    (define (find-prompt tag)
      (let loop ((winders (%winders)))
        (and (pair? winders)
             (if (and (prompt? (car winders))
                      (eq? (prompt-tag (car winders)) tag))
                 winders
                 (loop (cdr winders))))))

    (define (prompt-available? tag)
      (pair? (find-prompt tag)))

    (define (place-of-prompt tag who)
      (or (find-prompt tag)
          (raise (%make-condition 'prompt "there is no prompt with this tag around the call"
                                  (list tag) who))))

    (define (abort-to-prompt tag . values)
      (let ((place (place-of-prompt tag 'abort-to-prompt)))
        (call-with-current-continuation
         (lambda (frames)
           (leave-to place (cons (composable-continuation frames place) values))))))

    (define (abort-current-continuation tag . values)
      (leave-to (place-of-prompt tag 'abort-current-continuation) values))

    (define (call-with-composable-continuation procedure tag)
      (let ((place (place-of-prompt tag 'call-with-composable-continuation)))
        (call-with-current-continuation
         (lambda (frames)
           (procedure (composable-continuation frames place))))))

    (define (leave-to place values)
      (let* ((prompt (car place))
             (own-handlers (memq prompt (%handlers)))
             (handlers (if own-handlers (cdr own-handlers) (prompt-handlers prompt)))
             (own-parameters (parameters-from prompt (%parameters)))
             (parameters (if own-parameters (cdr own-parameters) (prompt-parameters prompt))))
        (unwind (%winders) place)
        (%set-winders! (cdr place))
        (%set-handlers! handlers)
        (%set-parameters! parameters)
        (%throw (%continuation-here (prompt-frames prompt)) (make-aborted values))))

    (define (parameters-from prompt parameters)
      (and (pair? parameters)
           (if (eq? (caar parameters) prompt)
               parameters
               (parameters-from prompt (cdr parameters)))))

    (define (composable-continuation frames place)
      (let ((winders (%winders))
            (handlers (%handlers))
            (parameters (%parameters))
            (boundary (%continuation-here (prompt-frames (car place)))))
        (define prompt (car place))
        ;; Nothing of the dynamic state belongs to the part.
        (define plain?
          (and (eq? winders place)
               (pair? handlers)
               (eq? (car handlers) prompt)
               (pair? parameters)
               (eq? (caar parameters) prompt)))
        (define (reinstate value)
          (call-with-current-continuation
           (lambda (onto)
             (if plain?
                 (%throw (%graft-continuation frames boundary onto
                                              (list (cons place (%winders))
                                                    (cons parameters (%parameters)))
                                              prompt (%handlers))
                         value)
                 (reinstate-state onto value)))))
        (define (reinstate-state onto value)
          (let* ((outer-winders (%winders))
                 (outer-handlers (%handlers))
                 (outer-parameters (%parameters))
                 (new-handlers (rebase-handlers handlers prompt outer-handlers))
                 (parameters-and-changes
                  (rebase parameters (parameters-from prompt parameters) outer-parameters '()
                          (lambda (entry) entry)))
                 (winders-and-changes
                  (rebase winders place outer-winders (cdr parameters-and-changes)
                          (lambda (winder)
                            (if (vector? winder)
                                (rebase-winder winder prompt outer-handlers outer-parameters)
                                winder))))
                 (new-winders (car winders-and-changes)))
            (wind new-winders outer-winders)
            (%set-winders! new-winders)
            (%set-handlers! new-handlers)
            (%set-parameters! (car parameters-and-changes))
            (%throw (%graft-continuation frames boundary onto (cdr winders-and-changes)
                                         prompt outer-handlers)
                    value)))
        (case-lambda
          ((value) (reinstate value))
          (values (reinstate (%list->values values))))))

    ;; Puts copies of the pairs of `list` in front of `base` on top of `outer`. Gives a pair of the
    ;; new list and of `changes` with entries for every old pair and its copy in front. A list
    ;; without the base stays as it is.
    (define (rebase list base outer changes copy)
      (if base
          (let collect ((rest list) (pairs '()))
            (if (eq? rest base)
                (let build ((pairs pairs)
                            (new outer)
                            (changes (cons (cons base outer) changes)))
                  (if (null? pairs)
                      (cons new changes)
                      (let ((pair (cons (copy (caar pairs)) new)))
                        (build (cdr pairs) pair (cons (cons (car pairs) pair) changes)))))
                (collect (cdr rest) (cons rest pairs))))
          (cons list changes)))

    (define (rebase-handlers handlers prompt outer)
      (let ((base (memq prompt handlers)))
        (if base
            (put-back handlers base outer)
            handlers)))

    (define (rebase-winder winder prompt handlers parameters)
      (let ((own (vector-ref winder 3)))
        (vector (vector-ref winder 0)
                (vector-ref winder 1)
                (rebase-handlers (vector-ref winder 2) prompt handlers)
                (car (rebase own (parameters-from prompt own) parameters '()
                             (lambda (entry) entry))))))

    ;; Promises. The content of a promise is a list of its state, a pair. A state is one of these:
    ;;
    ;; (#t . value)     it is forced
    ;; (delay . thunk)  the thunk gives the value
    ;; (#f . thunk)     the thunk gives the next promise of the chain
    ;;
    ;; A state does not change, so that threads see one or the other. Forcing a chain shares one
    ;; content among its promises, which makes the chain garbage as it goes: constant space.

    ;; The content of a promise is not printed: its field begins with %.
    (define-record-type <promise>
      (new-promise %content)
      promise?
      (%content promise-content set-promise-content!))

    (define (make-promise object)
      (if (promise? object)
          object
          (new-promise (list (cons #t object)))))

    (define (%delay-force thunk)
      (new-promise (list (cons #f thunk))))

    (define (%delay thunk)
      (new-promise (list (cons 'delay thunk))))

    (define-syntax delay-force
      (syntax-rules ()
        ((_ expression) (%delay-force (lambda () expression)))))

    (define-syntax delay
      (syntax-rules ()
        ((_ expression) (%delay (lambda () expression)))))

    (define (force object)
      (if (promise? object)
          (let ((state (car (promise-content object))))
            (if (eq? (car state) #t)
                (cdr state)
                (force-promise object)))
          object))

    (define (force-promise promise)
      (let ((state (car (promise-content promise))))
        (if (eq? (car state) #t)
            (cdr state)
            (let ((result ((cdr state))))
              (if (not (or (car state) (promise? result)))
                  (%type-error 'delay-force 1 "promise" result))
              ;; The thunk, or another thread, may have forced the promise: then its first value
              ;; stays.
              (let* ((content (promise-content promise)) (now (car content)))
                (cond ((eq? (car now) #t) (cdr now))
                      ((car state)
                       (if (%set-car-if-eq! content now (cons #t result))
                           result
                           (force-promise promise)))
                      (else
                       (if (%set-car-if-eq! content now (car (promise-content result)))
                           (set-promise-content! result content))
                       (force-promise promise))))))))

    ;; Guardians, as in Chez Scheme. With an argument a guardian registers it; without one it gives
    ;; the next registered object that nothing else keeps alive, or #f.

    (define (make-guardian)
      (let ((state (%make-guardian)))
        (let ((guardian
               (case-lambda
                 (() (%guardian-next state #f))
                 ((object) (%guardian-register! state object)))))
          guardian)))

    ;; Leaving.

    ;; #f, or a procedure that is called with the exit code in place of leaving. It does not return.
    (define %exit-override (make-parameter #f))

    (define (leave code before)
      (let ((override (%exit-override)))
        (if override (override code))
        (before)
        (%exit code)))

    (define exit
      (case-lambda
        (() (leave #t finish))
        ((code) (leave code finish))))

    (define (finish)
      (%rewind '())
      (let ((hook (%take-exit-hook!)))
        (if hook (hook))))

    (define emergency-exit
      (case-lambda
        (() (leave #t void))
        ((code) (leave code void))))))
