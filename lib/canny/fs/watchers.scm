;;; Part of (canny fs): changes of files and directories, as the system reports them.

(define-record-type change
  (make-change path kind directory? move)
  change?
  (path change-path)
  (kind change-kind)
  (directory? change-directory?)
  (move change-move))

(define-record-type watcher
  (make-watcher handle paths recursive? pending open?)
  watcher?
  (handle watcher-handle)
  (paths watcher-paths)
  (recursive? watcher-recursive?)
  (pending watcher-pending set-watcher-pending!)
  (open? watcher-open? set-watcher-open!))

(define (check-watcher who object)
  (if (not (watcher? object))
      (%type-error who 1 "watcher" object))
  (if (not (watcher-open? object))
      (%range-error who 1 "the watcher is closed" object)))

;; Watches a file or directory; with `#:recursive #t` the directories below it as well, those
;; that come later included.
(define* (open-watcher path #:key (recursive #f))
  (check-string 'open-watcher 1 path)
  (let ((watcher (make-watcher (%watch-open) (make-hash-table) recursive '() #t)))
    (guard (object (#t (close-watcher watcher) (raise object)))
      (add-watch watcher path))
    (if (and recursive (directory? path))
        (watch-below watcher path #f))
    watcher))

(define (add-watch watcher path)
  (hash-table-set! (watcher-paths watcher)
                   (%open-watcher (watcher-handle watcher) path)
                   path))

;; Watches the directories below one. The contents of a directory that came later are reported
;; as new, since the system may not have reported them.
(define (watch-below watcher path new?)
  (for-each
   (lambda (entry)
     (let* ((path (join2 path (car entry)))
            (directory? (eq? (entry-type path (cdr entry)) 'directory)))
       (if new?
           (set-watcher-pending! watcher
                                 (append (watcher-pending watcher)
                                         (list (make-change path 'created directory? #f)))))
       (if directory?
           ;; It may be gone already.
           (quietly (lambda ()
                      (add-watch watcher path)
                      (watch-below watcher path new?))))))
   (guard (object ((file-error? object) '()))
     (%directory-list path))))

(define bits->kind
  '((#x100 . created) (#x2 . modified) (#x8 . written) (#x4 . attributes)
    (#x40 . moved-from) (#x80 . moved-to) (#x200 . deleted) (#x400 . deleted)
    (#x800 . moved-from) (#x2000 . deleted) (#x4000 . overflow)))

;; Puts an event of the system's among those to be reported.
(define (take-event! watcher number bits move name)
  (let* ((paths (watcher-paths watcher))
         (base (hash-table-ref/default paths number #f))
         (directory? (not (= 0 (bitwise-and bits #x40000000))))
         (kind (let loop ((rest bits->kind))
                 (cond ((null? rest) #f)
                       ((= 0 (bitwise-and bits (caar rest))) (loop (cdr rest)))
                       (else (cdar rest))))))
    (if (not (= 0 (bitwise-and bits #x8000)))
        (hash-table-delete! paths number))
    (if (and kind (or base (eq? kind 'overflow)))
        (let ((path (cond ((not base) #f)
                          ((string-null? name) base)
                          (else (join2 base name)))))
          (set-watcher-pending!
           watcher
           (append (watcher-pending watcher)
                   (list (make-change path kind directory? (and (> move 0) move)))))
          (if (and directory? (watcher-recursive? watcher) (memq kind '(created moved-to)))
              (quietly (lambda ()
                         (add-watch watcher path)
                         (watch-below watcher path #t))))))))

;; Waits for the next change, at most `#:timeout` seconds, and returns it; `#f` when the time is
;; over.
(define* (watcher-next watcher #:key (timeout #f))
  (check-watcher 'watcher-next watcher)
  (let ((end (and timeout
                  (+ (%clock-nanoseconds clock/monotonic)
                     (seconds->nanoseconds 'watcher-next timeout)))))
    (let loop ()
      (if (pair? (watcher-pending watcher))
          (let ((change (car (watcher-pending watcher))))
            (set-watcher-pending! watcher (cdr (watcher-pending watcher)))
            change)
          (let ((events (%watch-read (watcher-handle watcher)
                                     (and end
                                          (max 0 (/ (- end (%clock-nanoseconds clock/monotonic))
                                                    1000000000))))))
            (if (not events)
                #f
                (begin
                  (for-each (lambda (event)
                              (%apply take-event! (cons watcher event)))
                            events)
                  (loop))))))))

(define (seconds->nanoseconds who seconds)
  (if (not (and (real? seconds) (>= seconds 0) (< seconds 1e9)))
      (%type-error who 2 "number of seconds" seconds))
  (exact (floor (* seconds 1000000000))))

;; Closes a watcher; a second time does nothing.
(define (close-watcher watcher)
  (if (not (watcher? watcher))
      (%type-error 'close-watcher 1 "watcher" watcher))
  (set-watcher-open! watcher #f)
  (%watch-close (watcher-handle watcher)))

;; Calls a procedure with each change of a file or directory, until it returns a false value.
;; With `#:timeout` it ends, too, when nothing changed for so many seconds.
(define* (for-each-change procedure path #:key (recursive #f) (timeout #f))
  (check-procedure 'for-each-change 1 procedure)
  (let ((watcher (open-watcher path #:recursive recursive)))
    (dynamic-wind
     void
     (lambda ()
       (let loop ()
         (let ((change (watcher-next watcher #:timeout timeout)))
           (if (and change (procedure change))
               (loop)))))
     (lambda () (close-watcher watcher)))))
