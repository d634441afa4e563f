;;; (canny geiser): the queries of Geiser, the Scheme mode of Emacs.
;;;
;;; Emacs sends calls of `geiser:eval` with a library's name (or #f) and a form. The answer is an
;;; association list, written to the current output port as one datum. It has `(result "text of
;;; the value")`, `(output . "what was written")` and, after a failure, `(error (key . kind))`
;;; with the message at the end of the output. The other procedures are called in such forms;
;;; their values are what Geiser expects of them. A form never leaves the prompt in an error
;;; level.

(define-library (canny geiser)
  (export geiser:eval geiser:compile geiser:no-values geiser:newline geiser:exit
          geiser:load-file geiser:compile-file
          geiser:completions geiser:module-completions
          geiser:autodoc geiser:object-signature
          geiser:symbol-location geiser:symbol-documentation
          geiser:module-location geiser:module-exports geiser:module-path
          geiser:find-file geiser:add-to-load-path
          geiser:macroexpand geiser:version
          geiser:callers geiser:callees geiser:xref)
  (import (canny machine protocols) (canny primitives) (canny syntax) (canny machine control)
          (canny data lists) (canny machine evaluation))
  (begin

    ;; Evaluation

    (define (written object)
      (let ((port (open-output-string)))
        (write object port)
        (get-output-string port)))

    (define (answer result output failure)
      (write (cons (list 'result result)
                   (cons (cons 'output output)
                         (if failure
                             (list (list 'error (cons 'key failure)))
                             '()))))
      (newline))

    (define (environment-of module)
      (if (pair? module)
          (let ((made (%library-environment module)))
            (for-each (lambda (thunk) (thunk)) (cdr made))
            (car made))
          (interaction-environment)))

    (define (kind-of object)
      (if (error-object? object) (condition-kind object) 'uncaught-object))

    ;; Calls the thunk and writes the answer; `show` makes a text of what it returned.
    (define (answer-with thunk show)
      (let* ((port (open-output-string))
             (failure #f)
             (result
              (guard (object
                      (#t
                       (set! failure (kind-of object))
                       (fresh-line port)
                       (write-string (condition->string object) port)
                       (newline port)
                       ""))
                (parameterize ((current-output-port port)
                               (current-error-port port))
                  (show (thunk))))))
        (answer result (get-output-string port) failure)))

    (define (show-values result)
      (if (%values? result)
          (let loop ((values (%values->list result)) (text ""))
            (if (null? values)
                text
                (loop (cdr values)
                      (string-append text (if (string=? text "") "" " ")
                                     (written (car values))))))
          (written result)))

    (define (geiser:eval module form . rest)
      (answer-with (lambda () (eval form (environment-of module))) show-values))

    (define geiser:compile geiser:eval)

    (define (geiser:load-file path . rest)
      (answer-with (lambda () (load path) #t) written))

    (define geiser:compile-file geiser:load-file)

    (define (geiser:no-values . rest) #f)

    (define (geiser:newline . rest) (newline))

    (define (geiser:exit . rest) (exit))

    (define (geiser:version . rest) (%implementation-version))

    (define (geiser:macroexpand form . rest)
      (without-header (%expand form (interaction-environment))))

    ;; The first line shows the kind of the unit.
    (define (without-header text)
      (let ((port (open-input-string text)))
        (if (char=? (peek-char port) #\;)
            (read-line port))
        (let loop ((lines '()))
          (let ((line (read-line port)))
            (if (eof-object? line)
                (apply string-append (reverse lines))
                (loop (cons line (if (null? lines) '() (cons "\n" lines)))))))))

    ;; Completion

    (define (starting-with prefix names)
      (let ((length (string-length prefix)))
        (let loop ((names names) (found '()))
          (cond ((null? names) (reverse found))
                ((and (>= (string-length (car names)) length)
                      (string=? (substring (car names) 0 length) prefix))
                 (loop (cdr names) (cons (car names) found)))
                (else (loop (cdr names) found))))))

    (define (geiser:completions prefix . rest)
      (starting-with prefix (%bound-names)))

    (define (geiser:module-completions prefix . rest)
      (starting-with prefix (%library-names)))

    ;; Descriptions

    (define (value-of name)
      (guard (object (#t absent))
        (let ((information (%name-information name)))
          (if (and information (memq (list-ref information name-information/kind)
                                     '(variable primitive)))
              (eval name (interaction-environment))
              absent))))

    (define absent (list 'absent))

    ;; The parameters of one clause.
    (define (clause->signature clause)
      (let ((required (list-ref clause parameter-list/required))
            (optional (list-ref clause parameter-list/optional))
            (keywords (list-ref clause parameter-list/keywords))
            (rest (list-ref clause parameter-list/rest)))
        (list (cons "required" required)
              (cons "optional" (if rest (append optional (list rest '...)) optional))
              (cons "key" (map symbol->keyword keywords)))))

    (define (autodoc name)
      (let ((information (%name-information name)))
        (if (not information)
            (list name)
            (let* ((value (value-of name))
                   (library (list-ref information name-information/library))
                   (module (if library
                               (list (cons "module" (string->library library)))
                               '())))
              (cond ((procedure? value)
                     (cons name
                           (cons (cons "args"
                                       (map clause->signature (%procedure-parameters value)))
                                 module)))
                    ((eq? value absent)
                     (cons name (cons '("args" (("required" ...) ("optional") ("key"))) module)))
                    (else
                     (cons name (cons (cons "value" (written value)) module))))))))

    (define (string->library text)
      (read (open-input-string text)))

    (define (geiser:autodoc names . rest)
      (cond ((symbol? names) (geiser:autodoc (list names)))
            ((pair? names) (map autodoc (filter-symbols names)))
            (else '())))

    (define (filter-symbols objects)
      (let loop ((objects objects) (found '()))
        (cond ((not (pair? objects)) (reverse found))
              ((symbol? (car objects)) (loop (cdr objects) (cons (car objects) found)))
              (else (loop (cdr objects) found)))))

    (define (geiser:object-signature name object . rest)
      (if (procedure? object)
          (list (cons name
                      (list (cons "args"
                                  (map clause->signature (%procedure-parameters object))))))
          '()))

    (define (geiser:symbol-documentation name . rest)
      (let ((information (%name-information name)))
        (define (part position) (list-ref information position))
        (define (text before position otherwise)
          (if (part position) (string-append before (part position)) otherwise))
        (if information
            (list (cons "signature" (autodoc name))
                  (cons "docstring"
                        (string-append
                         "A " (symbol->string (part name-information/kind))
                         (text " from " name-information/library "")
                         (text ": " name-information/description "."))))
            '())))

    ;; Places

    (define (place name position)
      (if position
          (list (cons "name" name)
                (cons "file" (list-ref position definition-position/file))
                (cons "line" (list-ref position definition-position/line))
                (cons "column" (- (list-ref position definition-position/column) 1)))
          '()))

    (define (geiser:symbol-location name . rest)
      (let ((value (value-of name)))
        (place name (and (procedure? value) (%definition-position value)))))

    (define (library-file words)
      (let loop ((words words) (path ""))
        (let ((path (string-append path (displayed (car words)))))
          (if (null? (cdr words))
              (let ((name (string-append path ".sld")))
                (and (file-exists? name) name))
              (loop (cdr words) (string-append path "/"))))))

    (define (displayed object)
      (let ((port (open-output-string)))
        (display object port)
        (get-output-string port)))

    (define (geiser:module-location module . rest)
      (let ((file (and (pair? module) (library-file module))))
        (if file
            (list (cons "name" module) (cons "file" file) (cons "line" 1) (cons "column" 0))
            '())))

    (define (geiser:module-path module . rest)
      (and (pair? module) (library-file module)))

    (define (geiser:find-file name . rest)
      (and (string? name) (file-exists? name) name))

    (define (geiser:add-to-load-path directory . rest) #f)

    (define (geiser:module-exports module . rest)
      (let ((exports (%library-exports module)))
        (define (of-kinds kinds)
          (let loop ((exports (or exports '())) (found '()))
            (cond ((null? exports) (reverse found))
                  ((memq (cadar exports) kinds)
                   (loop (cdr exports) (cons (list (caar exports)) found)))
                  (else (loop (cdr exports) found)))))
        (list (list "modules")
              (cons "procs" (of-kinds '(primitive)))
              (cons "syntax" (of-kinds '(form macro)))
              (cons "vars" (of-kinds '(variable))))))

    ;; There is no table of callers.
    (define (geiser:callers . rest) '())
    (define (geiser:callees . rest) '())
    (define (geiser:xref . rest) '())))
