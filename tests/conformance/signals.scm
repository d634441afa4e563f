;; (canny signals): signals as supplies, and the end of a program.

(import (scheme base) (canny signals) (canny supplies) (canny tasks) (canny test)
        (only (canny base) condition-kind))

(define (kind-of-error thunk)
  (guard (e ((error-object? e) (condition-kind e)))
    (thunk)
    'none))

(define-syntax failure
  (syntax-rules () ((_ expression) (kind-of-error (lambda () expression)))))

;; Sends each signal when the one before has come.
(define (received names . sent)
  (let ((seen '()))
    (react
     (whenever (name (apply signals names))
       (set! seen (cons name seen))
       (set! sent (cdr sent))
       (if (null? sent)
           (done)
           (raise-signal (car sent))))
     (raise-signal (car sent)))
    (reverse seen)))

(test-group "signals"
  (test '(sigusr1) (received '(sigusr1) 'sigusr1))
  (test '(sigusr1 sigterm sigusr1)
        (received '(sigusr1 sigterm) 'sigusr1 'sigterm 'sigusr1))
  (test '(sighup) (received '(hup) 'hup))
  (test '(sigint) (received '(sigint) 'sigint))
  (test '(sigwinch) (received '(sigwinch) 'sigwinch))
  ;; Two taps get it both.
  (let* ((a (supply->future (supply-take (signals 'sigusr2) 1)))
         (b (supply->future (supply-take (signals 'sigusr2 'sigusr1) 1))))
    (raise-signal 'sigusr2)
    (test '(sigusr2 sigusr2) (list (await a) (await b))))
  (test 'range (failure (supply->list (signals 'sigkill))))
  (test 'range (failure (supply->list (signals 'no-signal))))
  (test 'type (failure (signals "sigterm")))
  (test 'type (failure (on-shutdown 5)))
  (test 'type (failure (on-shutdown (lambda () #f) #:deadline 'soon))))

(test-finish)
