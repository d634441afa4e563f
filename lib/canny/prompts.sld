;;; (canny prompts): delimited continuations.
;;;
;;; `(canny machine control)` has prompts and composable continuations. Here are the operators that
;;; papers use, all of them over one protocol, so that they can be mixed. An abort hands a receiver
;;; to the prompt, whose handler calls it with the continuation, outside of the prompt. The four
;;; pairs of operators differ in where there is a prompt again:
;;;
;;;                     around the receiver's body    around a call of the continuation
;;;   shift   reset     yes                           yes
;;;   control prompt    yes                           no
;;;   shift0  reset0    no                            yes
;;;   control0 prompt0  no                            no

(define-library (canny prompts)
  (export make-prompt-tag default-prompt-tag prompt-tag? prompt-available?
          call-with-prompt abort-to-prompt call-with-composable-continuation
          call-with-continuation-prompt abort-current-continuation
          reset shift reset0 shift0 prompt control prompt0 control0
          reset-at shift-at reset0-at shift0-at prompt-at control-at prompt0-at control0-at)
  (import (canny primitives) (canny syntax)
          (rename (canny machine control)
                  (call-with-composable-continuation %call-with-composable-continuation)))
  (begin

    (define-record-type <prompt-tag>
      (new-prompt-tag name)
      prompt-tag?
      (name prompt-tag-name))

    (define make-prompt-tag
      (case-lambda
        (() (new-prompt-tag #f))
        ((name) (new-prompt-tag name))))

    (define the-default-prompt-tag (make-prompt-tag 'default))

    (define (default-prompt-tag) the-default-prompt-tag)

    (define call-with-composable-continuation
      (case-lambda
        ((procedure) (%call-with-composable-continuation procedure the-default-prompt-tag))
        ((procedure tag) (%call-with-composable-continuation procedure tag))))

    ;; As in Racket: the handler gets what `abort-current-continuation` is given and no
    ;; continuation. Without one, a thunk is expected, which is called under the prompt again.
    (define call-with-continuation-prompt
      (case-lambda
        ((thunk) (call-with-continuation-prompt thunk the-default-prompt-tag #f))
        ((thunk tag) (call-with-continuation-prompt thunk tag #f))
        ((thunk tag handler)
         (call-with-prompt tag thunk
           (or handler
               (lambda (thunk) (call-with-continuation-prompt thunk tag #f)))))))

    (define (call-receiver continuation receiver)
      (receiver continuation))

    (define (%call-with-receiver-prompt tag thunk)
      (call-with-prompt tag thunk call-receiver))

    ;; The continuation with a prompt around each call of it.
    (define (delimited continuation tag)
      (case-lambda
        ((value)
         (call-with-prompt tag (lambda () (continuation value)) call-receiver))
        (values
         (call-with-prompt tag (lambda () (%apply continuation values)) call-receiver))))

    (define (%shift tag receiver)
      (abort-to-prompt tag
                       (lambda (continuation)
                         (call-with-prompt tag
                           (lambda () (receiver (delimited continuation tag)))
                           call-receiver))))

    (define (%shift0 tag receiver)
      (abort-to-prompt tag
                       (lambda (continuation)
                         (receiver (delimited continuation tag)))))

    (define (%control tag receiver)
      (abort-to-prompt tag
                       (lambda (continuation)
                         (call-with-prompt tag
                           (lambda () (receiver continuation))
                           call-receiver))))

    (define (%control0 tag receiver)
      (abort-to-prompt tag receiver))

    (define-syntax define-operators
      (syntax-rules ()
        ((_ (delimit delimit-at capture capture-at procedure) ...)
         (begin
           (define-syntax delimit-at
             (syntax-rules ()
               ((_ tag body0 body (... ...))
                (%call-with-receiver-prompt tag (lambda () body0 body (... ...))))))
           ...
           (define-syntax delimit
             (syntax-rules ()
               ((_ body0 body (... ...))
                (%call-with-receiver-prompt (default-prompt-tag)
                                            (lambda () body0 body (... ...))))))
           ...
           (define-syntax capture-at
             (syntax-rules ()
               ((_ tag name body0 body (... ...))
                (procedure tag (lambda (name) body0 body (... ...))))))
           ...
           (define-syntax capture
             (syntax-rules ()
               ((_ name body0 body (... ...))
                (procedure (default-prompt-tag) (lambda (name) body0 body (... ...))))))
           ...))))

    (define-operators
      (reset reset-at shift shift-at %shift)
      (reset0 reset0-at shift0 shift0-at %shift0)
      (prompt prompt-at control control-at %control)
      (prompt0 prompt0-at control0 control0-at %control0))))
