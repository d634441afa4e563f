;;; (srfi 86): mu and nu, and alet and alet*, which bind in many ways.
;;;
;;; `walk` goes through the binding specifications.  Its operands:
;;;
;;; - par or seq: whether names are bound after all specifications or each after its own;
;;; - the frame: () for an unnamed form, (name) for a named one, and for the specifications of a
;;;   recursive group (tag frame bound specifications), what to continue with after it;
;;; - what is bound: a list of pairs of name and variable. In par the variable has the value; in seq
;;;   the name has it, and the variable is to be a parameter of a procedure, since a name may be
;;;   bound several times, of which the last counts;
;;; - the specifications that are left, and the body.
;;;
;;; `opt`, `cat` and `key` continue as specifications that start with a string.

(define-library (srfi 86)
  (export mu nu alet alet*
          %find-passing %find-key %check-none-left %not-accepted)
  (import (canny syntax) (canny primitives) (only (canny data lists) member)
          (only (canny machine control) error call-with-current-continuation))
  (begin

    (define-syntax mu
      (syntax-rules ()
        ((_ expression ...)
         (lambda (procedure) (procedure expression ...)))))

    (define-syntax nu
      (syntax-rules ()
        ((_ expression ...)
         (lambda (procedure) (apply procedure expression ...)))))

    (define-syntax alet
      (syntax-rules ()
        ((_ (specification ...) body0 body ...)
         (walk par () () (specification ...) (body0 body ...)))
        ((_ name (specification ...) body0 body ...)
         (walk par (name) () (specification ...) (body0 body ...)))))

    (define-syntax alet*
      (syntax-rules ()
        ((_ (specification ...) body0 body ...)
         (walk seq () () (specification ...) (body0 body ...)))
        ((_ name (specification ...) body0 body ...)
         (walk seq (name) () (specification ...) (body0 body ...)))))

    ;; Binds names to variables that hold their values, and continues.
    (define-syntax deliver
      (syntax-rules (par seq)
        ((_ par frame (bound ...) (pair ...) rest body)
         (walk par frame (bound ... pair ...) rest body))
        ((_ seq frame bound () rest body)
         (walk seq frame bound rest body))
        ((_ seq frame (bound ...) ((name variable) . pairs) rest body)
         (let ((name variable))
           (deliver seq frame (bound ... (name new)) pairs rest body)))))

    (define-syntax walk
      (syntax-rules (par seq and opt cat key rec values)
        ;; The end.
        ((_ par () ((name variable) ...) () body)
         (let ((name variable) ...) . body))
        ((_ seq () bound () body)
         (let () . body))
        ((_ par (tag) ((name variable) ...) () body)
         ((letrec ((tag (lambda (name ...) . body))) tag) variable ...))
        ((_ seq (tag) ((name variable) ...) () body)
         ((letrec ((tag (lambda (variable ...)
                          (let* ((name variable) ...)
                            (let () . body)))))
            tag)
          name ...))
        ((_ par (tag frame (bound ...) rest) ((name variable) ...) () body)
         ((letrec ((loop (lambda (variable ...)
                           (walk par frame (bound ... (name variable) ... (tag loop)) rest body))))
            loop)
          variable ...))
        ((_ seq (tag frame (bound ...) rest) ((name variable) ...) () body)
         ((letrec ((tag (lambda (variable ...)
                          (let* ((name variable) ...)
                            (walk seq frame (bound ... (name variable) ... (tag loop)) rest
                                  body)))))
            tag)
          name ...))
        ;; An environment in between, and a recursive thunk.
        ((_ mode frame bound ((() form ...) . rest) body)
         (let () form ... (walk mode frame bound rest body)))
        ((_ mode frame bound ((() . tag) . rest) body)
         (walk mode (tag frame bound rest) () () body))
        ;; and
        ((_ mode frame bound ((and) . rest) body)
         (walk mode frame bound rest body))
        ((_ mode frame bound ((and (name expression) . items) . rest) body)
         (let ((value expression))
           (if value
               (deliver mode frame bound ((name value)) ((and . items) . rest) body)
               #f)))
        ((_ mode frame bound ((and (name expression test) . items) . rest) body)
         (let ((value expression))
           (if (let ((name value)) test)
               (deliver mode frame bound ((name value)) ((and . items) . rest) body)
               #f)))
        ;; opt
        ((_ mode frame bound ((opt list . items) . rest) body)
         (let ((elements list))
           (walk mode frame bound (("opt" elements . items) . rest) body)))
        ((_ mode frame bound (("opt" elements) . rest) body)
         (begin
           (%check-none-left elements)
           (walk mode frame bound rest body)))
        ((_ mode frame bound (("opt" elements (name default . tests) . items) . rest) body)
         (let ((value (if (null? elements) default (accepted name (car elements) . tests)))
               (left (if (null? elements) elements (cdr elements))))
           (deliver mode frame bound ((name value)) (("opt" left . items) . rest) body)))
        ((_ mode frame bound (("opt" elements . name) . rest) body)
         (deliver mode frame bound ((name elements)) rest body))
        ;; cat
        ((_ mode frame bound ((cat list . items) . rest) body)
         (let ((elements list))
           (walk mode frame bound (("cat" elements . items) . rest) body)))
        ((_ mode frame bound (("cat" elements) . rest) body)
         (begin
           (%check-none-left elements)
           (walk mode frame bound rest body)))
        ((_ mode frame bound (("cat" elements (name default . tests) . items) . rest) body)
         (receive (value left) (catch-element elements name default . tests)
           (deliver mode frame bound ((name value)) (("cat" left . items) . rest) body)))
        ((_ mode frame bound (("cat" elements . name) . rest) body)
         (deliver mode frame bound ((name elements)) rest body))
        ;; key
        ((_ mode frame bound ((key list . items) . rest) body)
         (let ((elements list))
           (collect-keys mode frame bound elements items () () rest body)))
        ((_ mode frame bound (("key" elements keys option ()) . rest) body)
         (begin
           (%check-none-left elements)
           (walk mode frame bound rest body)))
        ((_ mode frame bound
            (("key" elements keys option ((name keyword default . tests) . items)) . rest) body)
         (receive (found? object left) (%find-key elements keyword keys option)
           (let ((value (if found? (accepted name object . tests) default)))
             (deliver mode frame bound ((name value)) (("key" left keys option items) . rest)
                      body))))
        ((_ mode frame bound (("key" elements keys option name) . rest) body)
         (deliver mode frame bound ((name elements)) rest body))
        ;; rec
        ((_ mode frame bound ((rec (name expression) ...) . rest) body)
         (bind-recursive mode frame bound () ((name expression) ...) rest body))
        ;; values
        ((_ mode frame bound (((values . formals) expression) . rest) body)
         (bind-formals "values" mode frame bound formals () expression rest body))
        ((_ mode frame bound (((values . formals) . expressions) . rest) body)
         (bind-each mode frame bound formals expressions rest body))
        ((_ mode frame bound ((values name ... expression) . rest) body)
         (bind-formals "values" mode frame bound (name ...) () expression rest body))
        ;; mu, nu and single values
        ((_ mode frame bound (((name) expression) . rest) body)
         (walk mode frame bound ((name expression) . rest) body))
        ((_ mode frame bound (((name . formals) expression) . rest) body)
         (bind-formals "mu" mode frame bound (name . formals) () expression rest body))
        ((_ mode frame bound (((name . formals) expression ...) . rest) body)
         (bind-each mode frame bound (name . formals) (expression ...) rest body))
        ((_ mode frame bound ((name expression) . rest) body)
         (let ((value expression))
           (deliver mode frame bound ((name value)) rest body)))
        ((_ mode frame bound ((name) . rest) body)
         (call-with-current-continuation
          (lambda (escape)
            (deliver mode frame bound ((name escape)) rest body))))
        ((_ mode frame bound ((name ... expression) . rest) body)
         (bind-formals "mu" mode frame bound (name ...) () expression rest body))
        ;; A group, an improper list.
        ((_ mode frame bound ((specification . more) . rest) body)
         (split-group mode frame bound (specification) more rest body))
        ;; A variable for all values.
        ((_ mode frame bound (name expression . rest) body)
         (expression (lambda values-list
                       (deliver mode frame bound ((name values-list)) rest body))))))

    (define-syntax split-group
      (syntax-rules ()
        ((_ mode frame bound (done ...) (specification . more) rest body)
         (split-group mode frame bound (done ... specification) more rest body))
        ((_ mode frame bound specifications tag rest body)
         (walk mode (tag frame bound rest) () specifications body))))

    ;; Several names with an expression each; the last may have all that are left.
    (define-syntax bind-each
      (syntax-rules ()
        ((_ mode frame bound formals expressions rest body)
         (pair-up mode frame bound () formals expressions rest body))))

    (define-syntax pair-up
      (syntax-rules ()
        ((_ mode frame bound (done ...) () () rest body)
         (walk mode frame bound (done ... . rest) body))
        ((_ mode frame bound (done ...) (name . formals) (expression . expressions) rest body)
         (pair-up mode frame bound (done ... (name expression)) formals expressions rest body))
        ((_ mode frame bound (done ...) name expressions rest body)
         (walk mode frame bound (done ... (name (list . expressions)) . rest) body))))

    ;; Several names for the values of one expression; each gets a variable.
    (define-syntax bind-formals
      (syntax-rules ()
        ((_ kind mode frame bound (name . formals) (pair ...) expression rest body)
         (bind-formals kind mode frame bound formals (pair ... (name new)) expression rest body))
        ((_ "values" mode frame bound () ((name variable) ...) expression rest body)
         (receive (variable ...) expression
           (deliver mode frame bound ((name variable) ...) rest body)))
        ((_ "values" mode frame bound last ((name variable) ...) expression rest body)
         (receive (variable ... . others) expression
           (deliver mode frame bound ((name variable) ... (last others)) rest body)))
        ((_ "mu" mode frame bound () ((name variable) ...) expression rest body)
         (expression (lambda (variable ...)
                       (deliver mode frame bound ((name variable) ...) rest body))))
        ((_ "mu" mode frame bound last ((name variable) ...) expression rest body)
         (expression (lambda (variable ... . others)
                       (deliver mode frame bound ((name variable) ... (last others)) rest
                                body))))))

    (define-syntax bind-recursive
      (syntax-rules ()
        ((_ mode frame bound (done ...) ((name expression) . items) rest body)
         (bind-recursive mode frame bound (done ... (name expression new)) items rest body))
        ((_ mode frame bound ((name expression variable) ...) () rest body)
         ((let* ((name #f) ...)
            (set! name expression)
            ...
            (lambda (procedure) (procedure name ...)))
          (lambda (variable ...)
            (deliver mode frame bound ((name variable) ...) rest body))))))

    ;; Gives each item its keyword, and finds the option.
    (define-syntax collect-keys
      (syntax-rules ()
        ((_ mode frame bound elements (((name keyword) default . tests) . items) (done ...)
            (keys ...) rest body)
         (collect-keys mode frame bound elements items
                       (done ... (name keyword default . tests)) (keys ... keyword) rest body))
        ((_ mode frame bound elements ((name default . tests) . items) (done ...) (keys ...)
            rest body)
         (collect-keys mode frame bound elements items
                       (done ... (name 'name default . tests)) (keys ... 'name) rest body))
        ((_ mode frame bound elements (#t . last) (done ...) (keys ...) rest body)
         (walk mode frame bound
               (("key" elements (list keys ...) 'element (done ... . last)) . rest) body))
        ((_ mode frame bound elements (#f . last) (done ...) (keys ...) rest body)
         (walk mode frame bound
               (("key" elements (list keys ...) 'stop (done ... . last)) . rest) body))
        ((_ mode frame bound elements last (done ...) (keys ...) rest body)
         (walk mode frame bound
               (("key" elements (list keys ...) 'pair (done ... . last)) . rest) body))))

    ;; An element that was given, after its test and with its substitute.
    (define-syntax accepted
      (syntax-rules ()
        ((_ name object)
         object)
        ((_ name object test)
         (let ((name object))
           (if test name (%not-accepted 'name name))))
        ((_ name object test true)
         (let ((name object))
           (if test true (%not-accepted 'name name))))
        ((_ name object test true false)
         (let ((name object))
           (if test true false)))))

    ;; The value for a name of `cat`, and the elements that are left.
    (define-syntax catch-element
      (syntax-rules ()
        ((_ elements name default)
         (if (null? elements)
             (values default elements)
             (values (car elements) (cdr elements))))
        ((_ elements name default test)
         (catch-element elements name default test name))
        ((_ elements name default test true)
         (let ((passing (%find-passing elements (lambda (name) test))))
           (if passing
               (values (let ((name (car passing))) true) (cdr passing))
               (values default elements))))
        ((_ elements name default test true false)
         (if (null? elements)
             (values default elements)
             (values (let ((name (car elements)))
                       (if test true false))
                     (cdr elements))))))

    ;; The first element that passes and the other elements, or #f.
    (define (%find-passing elements passes?)
      (let loop ((rest elements) (before '()))
        (cond ((null? rest) #f)
              ((passes? (car rest)) (cons (car rest) (append-reverse before (cdr rest))))
              (else (loop (cdr rest) (cons (car rest) before))))))

    ;; Whether a keyword is there, its object, and the elements without the two. The option
    ;; decides about a word that is no keyword: skip it and its neighbour (pair), skip it alone
    ;; (element), or stop (stop).
    (define (%find-key elements keyword keys option)
      (let loop ((rest elements) (before '()))
        (cond ((or (null? rest) (null? (cdr rest)))
               (values #f #f elements))
              ((equal? (car rest) keyword)
               (values #t (cadr rest) (append-reverse before (cddr rest))))
              ((or (eq? option 'pair) (member (car rest) keys))
               (loop (cddr rest) (cons* (cadr rest) (car rest) before)))
              ((eq? option 'element)
               (loop (cdr rest) (cons (car rest) before)))
              (else (values #f #f elements)))))

    (define (%check-none-left elements)
      (if (pair? elements)
          (error "alet: too many arguments" elements)))

    (define (%not-accepted name object)
      (error "alet: an argument does not pass its test" name object))))
