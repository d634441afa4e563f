;;; Part of (canny telemetry): spans as messages, and the texts of the exporter `console`.

(define kind-numbers
  '((internal . 1) (server . 2) (client . 3) (producer . 4) (consumer . 5)))

(define status-numbers '((unset . 0) (ok . 1) (error . 2)))

(define (event->otlp event offset)
  (vector (+ offset (vector-ref event 0)) (vector-ref event 1) (vector-ref event 2)
          (vector-ref event 3)))

(define (spans->otlp spans)
  (let ((offset (wall-offset)))
    (map (lambda (span) (span->otlp span offset)) spans)))

(define (span->otlp span offset)
  (make-otlp-span (trace-id-of span) (id-of span) (span-state span) (span-parent-id span)
                  (span-flags span) (span-name span) (cdr (assq (span-kind span) kind-numbers))
                  (+ offset (span-start span)) (+ offset (span-end span))
                  (reverse (span-attributes span)) (span-dropped-attributes span)
                  (map (lambda (event) (event->otlp event offset))
                       (reverse (span-events span))) (span-dropped-events span)
                  (span-links span) (span-dropped-links span)
                  (cdr (assq (span-status span) status-numbers)) (span-message span)))

(define (show-words port . words)
  (for-each (lambda (word) (write-string word port)) words))

(define (shown-value value)
  (let ((port (open-output-string)))
    (write value port)
    (get-output-string port)))

(define (show-attributes attributes port)
  (for-each (lambda (attribute)
              (show-words port " " (text-of (car attribute)) "=" (shown-value (cdr attribute))))
            attributes))

(define (show-span span port)
  (show-words port "span " (shown-value (span-name span)) " "
              (symbol->string (span-kind span))
              " trace=" (%hex-encode (trace-id-of span) #f)
              " id=" (%hex-encode (id-of span) #f))
  (if (span-parent-id span)
      (show-words port " parent=" (%hex-encode (span-parent-id span) #f)))
  (show-words port " milliseconds="
              (number->string (/ (round (/ (- (span-end span) (span-start span)) 1000)) 1000.0)))
  (if (not (eq? 'unset (span-status span)))
      (show-words port " status=" (symbol->string (span-status span))))
  (show-attributes (reverse (span-attributes span)) port)
  (newline port)
  (for-each (lambda (event)
              (show-words port "  event " (shown-value (vector-ref event 1)))
              (show-attributes (vector-ref event 2) port)
              (newline port))
            (reverse (span-events span))))

(define (show-log log port)
  (show-words port "log " (log-severity-text log) " " (shown-value (log-body log)))
  (show-attributes (log-attributes log) port)
  (newline port))

(define (show-metric metric port)
  (let ((family (vector-ref metric 0)))
    (for-each (lambda (sample)
                (show-words port "metric " (car family) (car sample))
                (show-attributes (cadr sample) port)
                (show-words port " " (shown-value (caddr sample)) "\n"))
              (cadddr family))))
