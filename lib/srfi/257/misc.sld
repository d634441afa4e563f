;;; (srfi 257 misc): more list patterns, and matchers with the patterns of syntax-rules and
;;; SRFI 241.

(define-library (srfi 257 misc)
  (export ~etc+ ~etc= ~etc** sr-match cm-match)
  (import (canny primitives) (except (canny syntax) match) (canny machine control) (srfi 257))
  (begin

    (define-match-pattern ~etc+ ()
      ((_ pattern) (~and (~pair?) (~etc pattern))))

    (define-match-pattern ~etc= ()
      ((_ length-pattern pattern)
       (~and (~list?) (~prop length => length-pattern) (~etc pattern))))

    (define-match-pattern ~etc** ()
      ((_ least most pattern)
       (~and (~list?) (~prop length => (~test between? (least most))) (~etc pattern))))

    (define (between? count least most)
      (<= least count most))

    (define-syntax sr-match
      (syntax-rules ()
        ((_ expression literals (pattern . body) ...)
         (let ((object expression))
           (match object
             ((~rules literals pattern) . body) ...
             (_ (no-match 'sr-match object)))))))

    (define (no-match who object)
      (error "no pattern takes the object" who object))

    ;; A pattern of syntax-rules.
    (define-syntax ~rules
      (syntax-rules ::: (... _)
        ((_1 (k . operands) literals _) (k _ . operands))
        ((_1 (k . operands) literals ()) (k '() . operands))
        ((_1 (k . operands) literals (pattern ...))
         (k (~etc (~rules literals pattern)) . operands))
        ((_1 (k . operands) literals (pattern ... . rest))
         (k (~append/t rest (~etc (~rules literals pattern)) (~rules literals rest)) . operands))
        ((_1 (k . operands) literals (first . rest))
         (k (~cons (~rules literals first) (~rules literals rest)) . operands))
        ((_1 (k . operands) literals #(pattern :::))
         (k (~list->vector (~rules literals (pattern :::))) . operands))
        ((_1 (k . operands) literals atom)
         (k (~if-id-member atom literals 'atom atom) . operands))))

    ;; The matcher of SRFI 241, without its quasiquote. `again` is the match itself, for the
    ;; patterns that match what it returns for a part.
    (define-syntax cm-match
      (syntax-rules ()
        ((_ expression rule ...)
         (let again ((object expression))
           (cm-rules again object (rule ...) ())))))

    (define-syntax cm-rules
      (syntax-rules (guard)
        ((_ again object () (done ...))
         (match object
           done ...
           (_ (no-match 'cm-match object))))
        ((_ again object ((pattern (guard condition ...) . body) . rules) (done ...))
         (cm-rules again object rules
                   (done ...
                         ((~quoted again pattern)
                          (=> next)
                          (if (and condition ...) (let () . body) (next))))))
        ((_ again object ((pattern . body) . rules) (done ...))
         (cm-rules again object rules
                   (done ... ((~quoted again pattern) (let () . body)))))))

    (define-syntax ~quoted
      (syntax-rules ::: (... -> unquote)
        ((_1 (k . operands) again ()) (k '() . operands))
        ((_1 (k . operands) again (unquote (procedure -> pattern :::)))
         (k (~prop procedure => pattern :::) . operands))
        ((_1 (k . operands) again (unquote (pattern :::)))
         (k (~prop again => pattern :::) . operands))
        ((_1 (k . operands) again (unquote pattern)) (k pattern . operands))
        ((_1 (k . operands) again (pattern ...))
         (k (~etc (~quoted again pattern)) . operands))
        ((_1 (k . operands) again (pattern ... . rest))
         (k (~append/t rest (~etc (~quoted again pattern)) (~quoted again rest)) . operands))
        ((_1 (k . operands) again (first . rest))
         (k (~cons (~quoted again first) (~quoted again rest)) . operands))
        ((_1 (k . operands) again #(pattern :::))
         (k (~list->vector (~quoted again (pattern :::))) . operands))
        ((_1 (k . operands) again atom) (k 'atom . operands))))))
