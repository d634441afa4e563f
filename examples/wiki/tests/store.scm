;;; (wiki store): accounts, revisions, conflicts, links, searching, files, and databases of others.

(import (canny base) (canny fs) (canny sqlite) (canny tasks) (canny test) (wiki store))

(define directory (make-temporary-directory))
(define (file name) (path-join directory name))
(define store (open-store (file "wiki.db")))

(define (save title text user . options)
  (receive (outcome page) (apply save-page! store title text user options) outcome))

(define ann (begin (test #f (any-users? store)) (add-user! store "Ann" "hash")))
(define bob (add-user! store "Bob" "hash"))

(test-group "accounts"
  (test '(#t #t #f) (list (any-users? store) (user-administrator? ann) (user-administrator? bob)))
  (test #f (add-user! store "ANN" "other"))
  (test "Ann" (user-name (find-user store "ann")))
  (test #f (find-user store "' or 1=1 --"))
  (test '("Ann" "Bob") (map user-name (all-users store)))
  ;; Sessions of an earlier password have ended.
  (test #t (let ((changed (set-password! store bob "new")))
             (and (equal? "new" (user-password changed))
                  (> (user-epoch changed) (user-epoch bob))))))

(test-group "revisions"
  (test 'saved (save "Tea" "one" ann #:comment "first"))
  (test 'saved (save "Tea" "two" bob #:base 1))
  (test 'unchanged (save "Tea" "two" bob #:base 2))
  (test 'conflict (save "tea" "three" ann #:base 1))
  (test 'conflict (save "TEA" "three" ann))
  (let ((tea (find-page store "tea")))
    (test '("Tea" 2 "two" "Bob")
          (list (page-title tea) (page-number tea) (page-text tea) (page-author tea)))
    (test '("one" "first")
          (let ((old (page-at store tea 1))) (list (page-text old) (page-comment old))))
    (test #f (page-at store tea 3))
    (test '(2 1) (map change-number (page-history store tea)))
    (test 'saved (receive (outcome page) (restore-page! store tea 1 ann) outcome))
    (test "one" (page-text (find-page store "Tea")))))

(test-group "of many who save the same revision one wins"
  (save "Race" "start" ann)
  (let ((outcomes (with-tasks
                    (map await
                         (map (lambda (n)
                                (spawn (lambda () (save "Race" (number->string n) ann #:base 1))))
                              (iota 12))))))
    (test '(1 11) (list (count (lambda (outcome) (eq? 'saved outcome)) outcomes)
                        (count (lambda (outcome) (eq? 'conflict outcome)) outcomes)))
    (test 2 (page-number (find-page store "Race")))))

(test-group "locked and deleted pages"
  (save "Rules" "be kind" ann)
  (set-page-locked! store (find-page store "Rules") #t)
  (test 'locked (save "Rules" "be rude" bob #:base 1))
  (test 'saved (save "Rules" "be very kind" ann #:base 1))
  (delete-page! store (find-page store "Rules"))
  (test #t (page-deleted? (find-page store "Rules")))
  (test #f (member "Rules" (all-pages store)))
  (test '() (search-pages store "kind"))
  (test 'saved (save "Rules" "be kind again" ann))
  (test '(3 2 1) (map change-number (page-history store (find-page store "Rules")))))

(test-group "links"
  (save "Garden" "See [[tea]], [[Roses]] and [[Roses|them]]." ann)
  (save "Yard" "[[roses]] [[Garden]]" ann)
  (test '("Garden") (backlinks store "TEA"))
  (test '("Yard") (backlinks store "Garden"))
  (test '(("Roses" "Garden" "Yard")) (wanted-pages store))
  (test '("Roses") (missing-titles store '("Tea" "Roses" "garden")))
  (save "Roses" "red" ann)
  (test '() (wanted-pages store))
  (save "Yard" "nothing" ann #:base 1)
  (test '("Garden") (backlinks store "Roses")))

(define (found text) (map found-title (search-pages store text)))

(test-group "searching"
  (save "Kitchen" "The *kettle* is in the cupboard. Crème brûlée." ann)
  (test '("Kitchen") (found "kettle"))
  (test '("Kitchen") (found "CREME brul"))
  (test '("Kitchen") (found "kitchen cup"))
  (test '() (found "kettle teapot"))
  (test '("The " ("kettle") " is in the cupboard. Crème brûlée.\n")
        (found-parts (car (search-pages store "kettle"))))
  ;; Texts that mean something to SQLite mean nothing here.
  (for-each (lambda (text) (test text #t (list? (search-pages store text))))
            '("" " " "\"" "\"\"" "*" "a*" "NEAR(a b)" "title:kettle" "-kettle" "kettle OR" "AND" "("
              "^a" "'" "a\x0;b"
              "{a b}" ":" "kettle\" OR title:\"tea" "日本 語" "it's" "☕")))

(test-group "changes"
  (test '("Kitchen" 1) (let ((newest (car (recent-changes store 1))))
                         (list (change-title newest) (change-number newest))))
  (let* ((all (recent-changes store 100)) (third (list-ref all 2)))
    (test (map change-id (list-tail all 3))
          (map change-id (recent-changes store 100 #:before (change-id third))))))

(test-group "pictures"
  (test '(#t #f) (list (add-picture! store "a.png" "image/png" (bytevector 1 2) ann)
                       (add-picture! store "a.png" "image/png" (bytevector 3) ann)))
  (test '("image/png" #u8(1 2))
        (receive (type bytes number) (picture-bytes store "a.png") (list type bytes)))
  (test '(("a.png" 2))
        (map (lambda (one) (list (picture-name one) (picture-size one))) (all-pictures store)))
  (delete-picture! store "a.png")
  (test #f (receive (type bytes number) (picture-bytes store "a.png") type)))

(test-group "settings"
  (test "x" (setting store 'wiki "x"))
  (set-setting! store 'wiki "Ours")
  (test "Ours" (setting store 'wiki "x")))

(test-group "the file"
  (test #t (store-healthy? store))
  (let ((secret (setting store 'secret)))
    (close-store! store)
    (test #f (store-healthy? store))
    (let ((again (open-store (file "wiki.db"))))
      (test (list secret "Ours") (list (setting again 'secret) (setting again 'wiki)))
      (test "one" (page-text (find-page again "Tea")))
      (close-store! again)))
  ;; One that a version before pictures has made.
  (call-with-database (file "wiki.db")
    (lambda (db)
      (execute-script db "drop table pictures; pragma user_version = 1")))
  (let ((again (open-store (file "wiki.db"))))
    (test '("one" ()) (list (page-text (find-page again "Tea")) (all-pictures again)))
    (close-store! again))
  (call-with-database (file "wiki.db")
    (lambda (db) (execute-script db "pragma user_version = 999")))
  (test-error error-object? (open-store (file "wiki.db")))
  (call-with-database (file "other.db") (lambda (db) (execute-script db "create table t (a)")))
  (test-error error-object? (open-store (file "other.db"))))

(delete-tree directory)
(test-finish)
