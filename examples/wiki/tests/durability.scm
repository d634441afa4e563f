;;; Changes that were answered by 303 are there after the wiki was killed while many wrote.
;;;
;;; Killing a process leaves the system's buffers alone: this tests that an answer comes after the
;;; transaction. That a transaction is on the disk is asked of SQLite by `synchronous = full`.

(import (canny base) (canny fs) (canny sqlite) (canny tasks) (canny channels) (canny test)
        (canny web client) (rename (wiki store) (page-text revision-text))
        (wiki-tests program) (wiki-tests visitor))

(define writers 6)
(define acknowledged-min 60)
(define password "correct horse")

(define (title writer round)
  (string-append "W" (number->string round) "-" (number->string writer)))

(define (text-of number) (string-append "This is number " (number->string number) ".\n"))

;; Saves one revision after the other, and tells of each that was acknowledged, until the wiki does
;; not answer any more.
(define (write-on wiki cookies-of writer round acknowledged)
  (let* ((page (string-append "/wiki/" (title writer round) "/edit"))
         (form (visit cookies-of page)))
    (guard (e ((error-object? e) #f))
      (let loop ((number 1))
        (let ((response (submit cookies-of form page
                                `(("text" . ,(text-of number))
                                  ("base" . ,(number->string (- number 1)))
                                  ("action" . "save"))
                                #:follow? #f)))
          (if (= 303 (page-status response))
              (begin
                (channel-send! acknowledged (cons writer number))
                (loop (+ number 1)))
              (channel-send! acknowledged
                             (cons writer (list 'refused (page-status response))))))))))

;; The newest acknowledged number of each writer, an association list.
(define (burst wiki visitor round)
  (let* ((acknowledged (make-channel 100000))
         (tasks (map (lambda (writer)
                       (spawn (lambda () (write-on wiki visitor writer round acknowledged))))
                     (iota writers))))
    (let loop ((count 0) (newest '()))
      (if (< count acknowledged-min)
          (let ((message (channel-receive acknowledged)))
            (loop (+ count 1) (cons message newest)))
          (begin
            (kill-wiki! wiki)
            (for-each await tasks)
            (channel-close! acknowledged)
            (let rest ((newest newest))
              (let ((message (channel-receive acknowledged)))
                (if (eof-object? message) newest (rest (cons message newest))))))))))

(define (check-all database round messages)
  (test-group (string-append "round " (number->string round))
    (test '() (filter (lambda (message) (pair? (cdr message))) messages))
    (test "ok" (call-with-database database
                 (lambda (db) (query-value db "pragma integrity_check"))))
    (let ((store (open-store database)))
      (test '()
            (remove (lambda (message)
                      (let ((page (find-page store (title (car message) round))))
                        (and page
                             (let ((revision (page-at store page (cdr message))))
                               (and revision
                                    (string=? (text-of (cdr message)) (revision-text revision)))))))
                    messages))
      (close-store! store))))

(call-with-temporary-directory
  (lambda (directory)
    (let ((database (path-join directory "wiki.db")))
      (let loop ((round 1))
        (if (<= round 3)
            (let* ((wiki (start-wiki database))
                   (visitor (make-visitor (wiki-url wiki))))
              (if (= round 1)
                  (submit visitor "/setup" "/setup"
                          `(("wiki" . "Ours") ("name" . "Ann") ("password" . ,password)))
                  (submit visitor "/sign-in" "/sign-in"
                          `(("name" . "Ann") ("password" . ,password))))
              (check-all database round (burst wiki visitor round))
              (loop (+ round 1))))))))

(test-finish)
