;;; (canny machine conditions): the conditions of SRFIs 35 and 36.
;;;
;;; A condition is a list of simple parts, each a type and an association list of its fields. The
;;; conditions of the machine, those of `error` among them, count as conditions too: they are
;;; `&error` with a message. Those of files, of closed ports and of the reader also have the types
;;; of SRFI 36. The end of the message says what went wrong with a file.

(define-library (canny machine conditions)
  (export make-condition-type condition-type? make-condition condition? condition-has-type?
          condition-ref make-compound-condition extract-condition
          define-condition-type condition
          &condition &message message-condition? condition-message
          &serious serious-condition? &error error?
          &i/o-error i/o-error? &i/o-port-error i/o-port-error? i/o-error-port
          &i/o-read-error i/o-read-error? &i/o-write-error i/o-write-error?
          &i/o-closed-error i/o-closed-error?
          &i/o-filename-error i/o-filename-error? i/o-error-filename
          &i/o-malformed-filename-error i/o-malformed-filename-error?
          &i/o-file-protection-error i/o-file-protection-error?
          &i/o-file-is-read-only-error i/o-file-is-read-only-error?
          &i/o-file-already-exists-error i/o-file-already-exists-error?
          &i/o-no-such-file-error i/o-no-such-file-error?
          &read-error (rename srfi-36:read-error? read-error?)
          read-error-line read-error-column read-error-position read-error-span
          %condition-predicate %condition-accessor %make-condition-of)
  (import (canny syntax) (canny primitives) (only (canny data lists) for-each map)
          (only (srfi 1) append-map any every filter))
  (begin

    (define-record-type condition-type
      (new-type name parent fields all-fields)
      condition-type?
      (name type-name)
      (parent type-parent)
      (fields type-fields)
      (all-fields type-all-fields))

    (define-record-type condition-object
      (new-condition parts)
      condition-object?
      (parts condition-parts))

    (define-syntax part-type (syntax-rules () ((_ part) (car part))))
    (define-syntax part-fields (syntax-rules () ((_ part) (cdr part))))

    (define (check-type who position object)
      (if (not (condition-type? object))
          (%type-error who position "condition type" object)))

    (define (make-condition-type name parent fields)
      (if (not (symbol? name))
          (%type-error 'make-condition-type 1 "symbol" name))
      (check-type 'make-condition-type 2 parent)
      (if (not (and (list? fields) (every symbol? fields)))
          (%type-error 'make-condition-type 3 "list of symbols" fields))
      (for-each (lambda (field)
                  (if (memq field (type-all-fields parent))
                      (%range-error 'make-condition-type 3 "fields that the parent has not" field)))
                fields)
      (new-type name parent fields (append (type-all-fields parent) fields)))

    (define (subtype? type ancestor)
      (or (eq? type ancestor)
          (and (type-parent type)
               (subtype? (type-parent type) ancestor))))

    ;; Conditions.

    (define (make-condition type . plist)
      (check-type 'make-condition 1 type)
      (let ((alist (plist->alist plist)))
        (for-each (lambda (field)
                    (if (not (assq field alist))
                        (%range-error 'make-condition 2 "a value for each field of the type"
                                      field)))
                  (type-all-fields type))
        (for-each (lambda (entry)
                    (if (not (memq (car entry) (type-all-fields type)))
                        (%range-error 'make-condition 2 "a field of the type" (car entry))))
                  alist)
        (new-condition (list (cons type alist)))))

    (define (plist->alist plist)
      (let loop ((rest plist) (alist '()))
        (cond ((null? rest) (reverse alist))
              ((and (symbol? (car rest)) (pair? (cdr rest)))
               (loop (cddr rest) (cons (cons (car rest) (cadr rest)) alist)))
              (else (%type-error 'make-condition 2 "field name and value in turn" plist)))))

    (define (condition? object)
      (or (condition-object? object)
          (error-object? object)))

    (define (parts who position object)
      (cond ((condition-object? object) (condition-parts object))
            ((error-object? object) (machine-parts object))
            (else (%type-error who position "condition" object))))

    (define (condition-has-type? condition type)
      (check-type 'condition-has-type? 2 type)
      (has-type? (parts 'condition-has-type? 1 condition) type))

    (define (has-type? parts type)
      (any (lambda (part) (subtype? (part-type part) type)) parts))

    (define (condition-ref condition field)
      (let loop ((rest (parts 'condition-ref 1 condition)))
        (cond ((null? rest)
               (%range-error 'condition-ref 2 "a field of the condition" field))
              ((assq field (part-fields (car rest))) => cdr)
              (else (loop (cdr rest))))))

    (define (make-compound-condition condition . conditions)
      (new-condition
       (append-map (lambda (condition) (parts 'make-compound-condition 1 condition))
                   (cons condition conditions))))

    (define (extract-condition condition type)
      (check-type 'extract-condition 2 type)
      (let loop ((rest (parts 'extract-condition 1 condition)))
        (cond ((null? rest)
               (%range-error 'extract-condition 1 "a condition of the type" condition))
              ((subtype? (part-type (car rest)) type)
               (new-condition
                (list (cons type
                            (filter (lambda (entry) (memq (car entry) (type-all-fields type)))
                                    (part-fields (car rest)))))))
              (else (loop (cdr rest))))))

    (define (%condition-predicate type)
      (lambda (object)
        (and (condition? object)
             (has-type? (parts 'condition-predicate 1 object) type))))

    (define (%condition-accessor type field name)
      (lambda (object)
        (let loop ((rest (parts name 1 object)))
          (cond ((null? rest)
                 (%type-error name 1 "condition of the type with the field" object))
                ((subtype? (part-type (car rest)) type)
                 (cdr (assq field (part-fields (car rest)))))
                (else (loop (cdr rest)))))))

    (define-syntax define-condition-type
      (syntax-rules ()
        ((_ type parent predicate (field accessor) ...)
         (begin
           (define type (make-condition-type 'type parent '(field ...)))
           (define predicate (%condition-predicate type))
           (define accessor (%condition-accessor type 'field 'accessor))
           ...))))

    (define-syntax condition
      (syntax-rules ()
        ((_ (type (field expression) ...) ...)
         (%make-condition-of (list (list type (cons 'field expression) ...) ...)))))

    ;; `bindings` is a list of type and fields.  A field that one misses and that belongs to a type
    ;; shared with another has the value of the first binding of it.
    (define (%make-condition-of bindings)
      (define (complete binding)
        (let ((type (car binding)) (fields (cdr binding)))
          (check-type 'condition 1 type)
          (for-each (lambda (entry)
                      (if (not (memq (car entry) (type-all-fields type)))
                          (%range-error 'condition 1 "a field of the type" (car entry))))
                    fields)
          (cons type
                (map (lambda (field)
                       (or (assq field fields)
                           (inherited field (field-owner type field))))
                     (type-all-fields type)))))
      (define (field-owner type field)
        (if (memq field (type-fields type))
            type
            (field-owner (type-parent type) field)))
      (define (inherited field owner)
        (let loop ((rest bindings))
          (cond ((null? rest)
                 (%range-error 'condition 1 "a value for each field of the type" field))
                ((and (subtype? (caar rest) owner) (assq field (cdar rest))))
                (else (loop (cdr rest))))))
      (new-condition (map complete bindings)))

    ;; The types.

    (define &condition (new-type '&condition #f '() '()))
    (define-condition-type &message &condition message-condition?
      (message condition-message))
    (define-condition-type &serious &condition serious-condition?)
    (define-condition-type &error &serious error?)

    (define-condition-type &i/o-error &error i/o-error?)
    (define-condition-type &i/o-port-error &i/o-error i/o-port-error?
      (port i/o-error-port))
    (define-condition-type &i/o-read-error &i/o-port-error i/o-read-error?)
    (define-condition-type &i/o-write-error &i/o-port-error i/o-write-error?)
    (define-condition-type &i/o-closed-error &i/o-port-error i/o-closed-error?)
    (define-condition-type &i/o-filename-error &i/o-error i/o-filename-error?
      (filename i/o-error-filename))
    (define-condition-type &i/o-malformed-filename-error &i/o-filename-error
      i/o-malformed-filename-error?)
    (define-condition-type &i/o-file-protection-error &i/o-filename-error
      i/o-file-protection-error?)
    (define-condition-type &i/o-file-is-read-only-error &i/o-file-protection-error
      i/o-file-is-read-only-error?)
    (define-condition-type &i/o-file-already-exists-error &i/o-filename-error
      i/o-file-already-exists-error?)
    (define-condition-type &i/o-no-such-file-error &i/o-filename-error
      i/o-no-such-file-error?)
    (define-condition-type &read-error &error srfi-36:read-error?
      (line read-error-line)
      (column read-error-column)
      (position read-error-position)
      (span read-error-span))

    ;; The conditions of the machine.

    (define (machine-parts object)
      (let* ((message (error-object-message object))
             (irritants (error-object-irritants object))
             (about (list (list &message (cons 'message message)))))
        (define (with type . fields)
          (cons (cons type fields) about))
        (cond ((file-error? object)
               (if (and (pair? irritants) (port? (car irritants)))
                   (with (if (output-port? (car irritants)) &i/o-write-error &i/o-read-error)
                         (cons 'port (car irritants)))
                   (with (file-error-type message)
                         (cons 'filename (if (pair? irritants) (car irritants) #f)))))
              ((read-error? object)
               (let ((position (message-position message)))
                 (with &read-error
                       (cons 'line (car position))
                       (cons 'column (cdr position))
                       (cons 'position #f)
                       (cons 'span #f))))
              ((and (pair? irritants)
                    (port? (car irritants))
                    (string-suffix? "the port is closed" message))
               (with &i/o-closed-error (cons 'port (car irritants))))
              (else (with &error)))))

    (define (file-error-type message)
      (let loop ((rest (list (cons "No such file or directory" &i/o-no-such-file-error)
                             (cons "File exists" &i/o-file-already-exists-error)
                             (cons "Permission denied" &i/o-file-protection-error)
                             (cons "Operation not permitted" &i/o-file-protection-error)
                             (cons "Read-only file system" &i/o-file-is-read-only-error)
                             (cons "Invalid argument" &i/o-malformed-filename-error)
                             (cons "File name too long" &i/o-malformed-filename-error))))
        (cond ((null? rest) &i/o-filename-error)
              ((string-suffix? (caar rest) message) (cdar rest))
              (else (loop (cdr rest))))))

    ;; Line and column from a message that starts with `name:line:column:`.  The first column is 0.
    (define (message-position message)
      (let* ((parts (string-split message ":"))
             (numbers (let loop ((rest parts))
                        (if (or (null? rest) (null? (cdr rest)))
                            '(#f . #f)
                            (let ((line (string->number (car rest)))
                                  (column (string->number (cadr rest))))
                              (if (and (exact-integer? line) (exact-integer? column))
                                  (cons line (- column 1))
                                  (loop (cdr rest))))))))
        numbers))))
