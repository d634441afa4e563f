;;; (canny data lists): the procedures of (scheme base) that walk lists and call a procedure.
;;;
;;; `map` collects its results in a list of its own and never changes a pair that it has made. So a
;;; continuation captured in the procedure can be entered again, and earlier results stay.

(define-library (canny data lists)
  (export map for-each member assoc
          %map1 %cars+cdrs %any-null?)
  (import (canny primitives) (canny syntax))
  (begin

    (define (%map1 procedure list)
      (let loop ((rest list) (results '()))
        (if (pair? rest)
            (loop (cdr rest) (cons (procedure (car rest)) results))
            (reverse results))))

    ;; Whether the walk is over: some list has ended. An object that is neither pair nor () is an
    ;; error of the procedure `who`.
    (define (%any-null? who lists)
      (let loop ((lists lists) (position 2))
        (cond ((null? lists) #f)
              ((pair? (car lists)) (loop (cdr lists) (+ position 1)))
              ((null? (car lists)) #t)
              (else (%type-error who position "list" (car lists))))))

    ;; The first elements and the tails of lists that are all pairs.
    (define (%cars+cdrs lists)
      (let loop ((lists lists) (cars '()) (cdrs '()))
        (if (null? lists)
            (values (reverse! cars) (reverse! cdrs))
            (loop (cdr lists) (cons (caar lists) cars) (cons (cdar lists) cdrs)))))

    (define (check-end who position rest)
      (if (not (null? rest))
          (%type-error who position "list" rest)))

    (define (check-ends who rest1 rest2)
      (if (not (pair? rest1))
          (check-end who 2 rest1)
          (check-end who 3 rest2)))

    (define (check-three-ends who rest1 rest2 rest3)
      (if (and (pair? rest1) (pair? rest2))
          (check-end who 4 rest3)
          (check-ends who rest1 rest2)))

    (define map
      (case-lambda
        ((procedure list)
         (let loop ((rest list) (results '()))
           (if (pair? rest)
               (loop (cdr rest) (cons (procedure (car rest)) results))
               (begin
                 (check-end 'map 2 rest)
                 (reverse results)))))
        ((procedure list1 list2)
         (let loop ((rest1 list1) (rest2 list2) (results '()))
           (if (and (pair? rest1) (pair? rest2))
               (loop (cdr rest1)
                     (cdr rest2)
                     (cons (procedure (car rest1) (car rest2)) results))
               (begin
                 (check-ends 'map rest1 rest2)
                 (reverse results)))))
        ((procedure list1 list2 list3)
         (let loop ((rest1 list1) (rest2 list2) (rest3 list3) (results '()))
           (if (and (pair? rest1) (pair? rest2) (pair? rest3))
               (loop (cdr rest1)
                     (cdr rest2)
                     (cdr rest3)
                     (cons (procedure (car rest1) (car rest2) (car rest3)) results))
               (begin
                 (check-three-ends 'map rest1 rest2 rest3)
                 (reverse results)))))
        ((procedure . lists)
         (if (null? lists)
             (%type-error 'map 2 "list" '()))
         (let loop ((lists lists) (results '()))
           (if (%any-null? 'map lists)
               (reverse results)
               (let-values (((cars cdrs) (%cars+cdrs lists)))
                 (loop cdrs (cons (%apply procedure cars) results))))))))

    (define for-each
      (case-lambda
        ((procedure list)
         (let loop ((rest list))
           (if (pair? rest)
               (begin
                 (procedure (car rest))
                 (loop (cdr rest)))
               (check-end 'for-each 2 rest))))
        ((procedure list1 list2)
         (let loop ((rest1 list1) (rest2 list2))
           (if (and (pair? rest1) (pair? rest2))
               (begin
                 (procedure (car rest1) (car rest2))
                 (loop (cdr rest1) (cdr rest2)))
               (check-ends 'for-each rest1 rest2))))
        ((procedure list1 list2 list3)
         (let loop ((rest1 list1) (rest2 list2) (rest3 list3))
           (if (and (pair? rest1) (pair? rest2) (pair? rest3))
               (begin
                 (procedure (car rest1) (car rest2) (car rest3))
                 (loop (cdr rest1) (cdr rest2) (cdr rest3)))
               (check-three-ends 'for-each rest1 rest2 rest3))))
        ((procedure . lists)
         (if (null? lists)
             (%type-error 'for-each 2 "list" '()))
         (let loop ((lists lists))
           (if (not (%any-null? 'for-each lists))
               (let-values (((cars cdrs) (%cars+cdrs lists)))
                 (%apply procedure cars)
                 (loop cdrs)))))))

    (define member
      (case-lambda
        ((object list) (%member object list))
        ((object list same?)
         (let loop ((rest list))
           (if (pair? rest)
               (if (same? object (car rest))
                   rest
                   (loop (cdr rest)))
               (begin
                 (check-end 'member 2 rest)
                 #f))))))

    (define (not-an-association alist)
      (%type-error 'assoc 2 "association list" alist))

    (define assoc
      (case-lambda
        ((key alist) (%assoc key alist))
        ((key alist same?)
         (let loop ((rest alist))
           (if (pair? rest)
               (let ((entry (car rest)))
                 (if (not (pair? entry))
                     (not-an-association alist))
                 (if (same? key (car entry))
                     entry
                     (loop (cdr rest))))
               (begin
                 (check-end 'assoc 2 rest)
                 #f))))))))
