;;; (srfi 116): immutable lists.
;;;
;;; An ipair is a record without setters; the end of an ilist is (). Most procedures take the
;;; elements of their ilists into lists and use (srfi 1); those that promise to share a tail walk
;;; the ipairs.
;;;
;;; To equal? two ipairs are different objects.  The procedures that compare elements by default use
;;; `same?`, which looks into ipairs.

(define-library (srfi 116)
  (export
   iq ipair ilist xipair ipair* make-ilist ilist-tabulate ilist-copy iiota ipair?
   proper-ilist? ilist? dotted-ilist? not-ipair? null-ilist? ilist= icar icdr icaar icadr
   icdar icddr icaaar icaadr icadar icaddr icdaar icdadr icddar icdddr icaaaar icaaadr
   icaadar icaaddr icadaar icadadr icaddar icadddr icdaaar icdaadr icdadar icdaddr icddaar
   icddadr icdddar icddddr ilist-ref ifirst isecond ithird ifourth ififth isixth iseventh
   ieighth ininth itenth icar+icdr itake idrop ilist-tail itake-right idrop-right isplit-at
   ilast last-ipair ilength iappend iconcatenate ireverse iappend-reverse izip iunzip1
   iunzip2 iunzip3 iunzip4 iunzip5 icount imap ifor-each ifold iunfold ipair-fold ireduce
   ifold-right iunfold-right ipair-fold-right ireduce-right iappend-map ipair-for-each
   ifilter-map imap-in-order ifilter ipartition iremove imember imemq imemv ifind ifind-tail
   iany ievery ilist-index itake-while idrop-while ispan ibreak idelete idelete-duplicates
   iassoc iassq iassv ialist-cons ialist-delete replace-icar replace-icdr pair->ipair
   ipair->pair list->ilist ilist->list tree->itree itree->tree gtree->itree gtree->tree
   iapply ipair-comparator ilist-comparator make-ilist-comparator
   make-improper-ilist-comparator make-ipair-comparator make-icar-comparator
   make-icdr-comparator)
  (import (canny primitives) (canny syntax) (canny machine control) (canny data lists)
          (canny machine arguments)
          (canny data comparators)
          (prefix (only (srfi 1)
                        list= count filter-map partition any every list-index span delete
                        delete-duplicates append-map fold fold-right reduce reduce-right find)
                  l:))
  (begin

    (define-record-type <ipair>
      (ipair icar icdr)
      ipair?
      (icar icar)
      (icdr icdr))

    (define (icaar object) (icar (icar object)))
    (define (icadr object) (icar (icdr object)))
    (define (icdar object) (icdr (icar object)))
    (define (icddr object) (icdr (icdr object)))
    (define (icaaar object) (icar (icaar object)))
    (define (icaadr object) (icar (icadr object)))
    (define (icadar object) (icar (icdar object)))
    (define (icaddr object) (icar (icddr object)))
    (define (icdaar object) (icdr (icaar object)))
    (define (icdadr object) (icdr (icadr object)))
    (define (icddar object) (icdr (icdar object)))
    (define (icdddr object) (icdr (icddr object)))
    (define (icaaaar object) (icar (icaaar object)))
    (define (icaaadr object) (icar (icaadr object)))
    (define (icaadar object) (icar (icadar object)))
    (define (icaaddr object) (icar (icaddr object)))
    (define (icadaar object) (icar (icdaar object)))
    (define (icadadr object) (icar (icdadr object)))
    (define (icaddar object) (icar (icddar object)))
    (define (icadddr object) (icar (icdddr object)))
    (define (icdaaar object) (icdr (icaaar object)))
    (define (icdaadr object) (icdr (icaadr object)))
    (define (icdadar object) (icdr (icadar object)))
    (define (icdaddr object) (icdr (icaddr object)))
    (define (icddaar object) (icdr (icdaar object)))
    (define (icddadr object) (icdr (icdadr object)))
    (define (icdddar object) (icdr (icddar object)))
    (define (icddddr object) (icdr (icdddr object)))

    ;; Conversion.

    ;; The elements of an ilist up to its end, whatever that is.
    (define (elements ilist)
      (let loop ((rest ilist) (reversed '()))
        (if (ipair? rest)
            (loop (icdr rest) (cons (icar rest) reversed))
            (reverse! reversed))))

    (define (end-of ilist)
      (if (ipair? ilist) (end-of (icdr ilist)) ilist))

    ;; The elements of a proper ilist, argument `position` of `who`.
    (define (proper-elements who position ilist)
      (let loop ((rest ilist) (reversed '()))
        (cond ((ipair? rest) (loop (icdr rest) (cons (icar rest) reversed)))
              ((null? rest) (reverse! reversed))
              (else (%type-error who position "ilist" ilist)))))

    (define (all-elements who position ilists)
      (%map1 (lambda (ilist) (proper-elements who position ilist)) ilists))

    (define (from-list list tail)
      (let loop ((rest (reverse list)) (result tail))
        (if (pair? rest)
            (loop (cdr rest) (ipair (car rest) result))
            result)))

    (define (to-ilist list)
      (from-list list '()))

    (define (pair->ipair pair)
      (ipair (car pair) (cdr pair)))

    (define (ipair->pair ipair)
      (cons (icar ipair) (icdr ipair)))

    (define (list->ilist list)
      (let loop ((rest list) (reversed '()))
        (if (pair? rest)
            (loop (cdr rest) (cons (car rest) reversed))
            (from-list (reverse! reversed) rest))))

    (define (ilist->list ilist)
      (append-reverse! (reverse! (elements ilist)) (end-of ilist)))

    (define (tree->itree tree)
      (if (pair? tree)
          (ipair (tree->itree (car tree)) (tree->itree (cdr tree)))
          tree))

    (define (itree->tree tree)
      (if (ipair? tree)
          (cons (itree->tree (icar tree)) (itree->tree (icdr tree)))
          tree))

    (define (gtree->itree tree)
      (cond ((pair? tree) (ipair (gtree->itree (car tree)) (gtree->itree (cdr tree))))
            ((ipair? tree) (ipair (gtree->itree (icar tree)) (gtree->itree (icdr tree))))
            (else tree)))

    (define (gtree->tree tree)
      (cond ((pair? tree) (cons (gtree->tree (car tree)) (gtree->tree (cdr tree))))
            ((ipair? tree) (cons (gtree->tree (icar tree)) (gtree->tree (icdr tree))))
            (else tree)))

    (define-syntax iq
      (syntax-rules ()
        ((_ . data) (tree->itree 'data))))

    ;; Constructors.

    (define (ilist . objects) (to-ilist objects))
    (define (xipair left right) (ipair right left))
    (define (ipair* object . objects) (list->ilist (%apply cons* (cons object objects))))

    (define make-ilist
      (case-lambda
        ((count) (make-ilist count #f))
        ((count fill) (to-ilist (make-list count fill)))))

    (define (ilist-tabulate count procedure)
      (check-index 'ilist-tabulate 1 count)
      (check-procedure 'ilist-tabulate 2 procedure)
      (let loop ((index (- count 1)) (result '()))
        (if (< index 0)
            result
            (loop (- index 1) (ipair (procedure index) result)))))

    (define (ilist-copy ilist)
      (from-list (elements ilist) (end-of ilist)))

    (define (iiota . arguments)
      (to-ilist (%apply iota arguments)))

    ;; Predicates.

    (define (proper-ilist? object) (null? (end-of object)))
    (define (dotted-ilist? object) (not (proper-ilist? object)))
    (define (not-ipair? object) (not (ipair? object)))

    (define ilist? proper-ilist?)

    (define (same? left right)
      (if (and (ipair? left) (ipair? right))
          (and (same? (icar left) (icar right)) (same? (icdr left) (icdr right)))
          (equal? left right)))

    (define (null-ilist? object)
      (cond ((ipair? object) #f)
            ((null? object) #t)
            (else (%type-error 'null-ilist? 1 "ilist" object))))

    (define (ilist= same? . ilists)
      (check-procedure 'ilist= 1 same?)
      (%apply l:list= (cons same? (all-elements 'ilist= 2 ilists))))

    ;; Selectors.

    (define (ilist-ref ilist index)
      (icar (tail-of 'ilist-ref ilist index)))

    (define (tail-of who ilist count)
      (check-index who 2 count)
      (let loop ((rest ilist) (left count))
        (cond ((= left 0) rest)
              ((ipair? rest) (loop (icdr rest) (- left 1)))
              (else (%range-error who 2 "the ilist is shorter" count)))))

    (define (ifirst ilist) (icar ilist))
    (define (isecond ilist) (icar (tail-of 'isecond ilist 1)))
    (define (ithird ilist) (icar (tail-of 'ithird ilist 2)))
    (define (ifourth ilist) (icar (tail-of 'ifourth ilist 3)))
    (define (ififth ilist) (icar (tail-of 'ififth ilist 4)))
    (define (isixth ilist) (icar (tail-of 'isixth ilist 5)))
    (define (iseventh ilist) (icar (tail-of 'iseventh ilist 6)))
    (define (ieighth ilist) (icar (tail-of 'ieighth ilist 7)))
    (define (ininth ilist) (icar (tail-of 'ininth ilist 8)))
    (define (itenth ilist) (icar (tail-of 'itenth ilist 9)))

    (define (icar+icdr ipair) (values (icar ipair) (icdr ipair)))

    (define (take-elements who ilist count)
      (check-index who 2 count)
      (let loop ((rest ilist) (left count) (reversed '()))
        (cond ((= left 0) (reverse! reversed))
              ((ipair? rest) (loop (icdr rest) (- left 1) (cons (icar rest) reversed)))
              (else (%range-error who 2 "the ilist is shorter" count)))))

    (define (itake ilist count) (to-ilist (take-elements 'itake ilist count)))
    (define (idrop ilist count) (tail-of 'idrop ilist count))
    (define (ilist-tail ilist count) (tail-of 'ilist-tail ilist count))

    (define (from-right who ilist count)
      (check-index who 2 count)
      (let ((size (length (elements ilist))))
        (if (> count size)
            (%range-error who 2 "the ilist is shorter" count))
        (- size count)))

    (define (itake-right ilist count)
      (tail-of 'itake-right ilist (from-right 'itake-right ilist count)))

    (define (idrop-right ilist count)
      (itake ilist (from-right 'idrop-right ilist count)))

    (define (isplit-at ilist count)
      (values (to-ilist (take-elements 'isplit-at ilist count)) (idrop ilist count)))

    (define (last-ipair ilist)
      (check-argument 'last-ipair 1 ipair? "ipair" ilist)
      (let loop ((ipair ilist))
        (if (ipair? (icdr ipair))
            (loop (icdr ipair))
            ipair)))

    (define (ilast ilist)
      (check-argument 'ilast 1 ipair? "ipair" ilist)
      (icar (last-ipair ilist)))

    ;; Miscellaneous.

    (define (ilength ilist) (length (proper-elements 'ilength 1 ilist)))

    (define (iappend . ilists)
      (concatenate-ilists 'iappend ilists))

    (define (iconcatenate ilists)
      (concatenate-ilists 'iconcatenate (proper-elements 'iconcatenate 1 ilists)))

    (define (concatenate-ilists who ilists)
      (if (null? ilists)
          '()
          (let loop ((reversed (cdr (reverse ilists))) (result (last ilists)))
            (if (null? reversed)
                result
                (loop (cdr reversed)
                      (from-list (proper-elements who 1 (car reversed)) result))))))

    (define (ireverse ilist)
      (to-ilist (reverse (proper-elements 'ireverse 1 ilist))))

    (define (iappend-reverse reversed tail)
      (let loop ((rest reversed) (result tail))
        (if (ipair? rest)
            (loop (icdr rest) (ipair (icar rest) result))
            result)))

    (define (izip ilist . ilists)
      (%apply imap (cons* (lambda objects (to-ilist objects)) ilist ilists)))

    (define (iunzip1 ilists) (imap ifirst ilists))
    (define (iunzip2 ilists) (values (imap ifirst ilists) (imap isecond ilists)))
    (define (iunzip3 ilists)
      (values (imap ifirst ilists) (imap isecond ilists) (imap ithird ilists)))
    (define (iunzip4 ilists)
      (values (imap ifirst ilists) (imap isecond ilists) (imap ithird ilists)
              (imap ifourth ilists)))
    (define (iunzip5 ilists)
      (values (imap ifirst ilists) (imap isecond ilists) (imap ithird ilists)
              (imap ifourth ilists) (imap ififth ilists)))

    ;; Defines a procedure that is (srfi 1)'s on the elements, its ilists being the arguments from
    ;; the second on. It makes an ilist of the result if `convert` does.
    (define-syntax define-over-elements
      (syntax-rules ()
        ((_ name procedure convert)
         (define name
           (case-lambda
             ((argument ilist)
              (check-procedure 'name 1 argument)
              (convert (procedure argument (proper-elements 'name 2 ilist))))
             ((argument . ilists)
              (check-procedure 'name 1 argument)
              (convert (%apply procedure (cons argument (all-elements 'name 2 ilists))))))))))

    (define-over-elements icount l:count values)
    (define-over-elements imap map to-ilist)
    (define-over-elements ifor-each for-each values)
    (define-over-elements ifilter-map l:filter-map to-ilist)
    (define-over-elements iany l:any values)
    (define-over-elements ievery l:every values)
    (define-over-elements ilist-index l:list-index values)

    (define imap-in-order imap)

    (define (iappend-map procedure . ilists)
      (iconcatenate (%apply imap (cons procedure ilists))))

    (define ifold
      (case-lambda
        ((kons knil ilist)
         (check-procedure 'ifold 1 kons)
         (l:fold kons knil (proper-elements 'ifold 3 ilist)))
        ((kons knil . ilists)
         (%apply l:fold (cons* kons knil (all-elements 'ifold 3 ilists))))))

    (define ifold-right
      (case-lambda
        ((kons knil ilist)
         (check-procedure 'ifold-right 1 kons)
         (l:fold-right kons knil (proper-elements 'ifold-right 3 ilist)))
        ((kons knil . ilists)
         (%apply l:fold-right (cons* kons knil (all-elements 'ifold-right 3 ilists))))))

    (define (ireduce combine identity ilist)
      (l:reduce combine identity (proper-elements 'ireduce 3 ilist)))

    (define (ireduce-right combine identity ilist)
      (l:reduce-right combine identity (proper-elements 'ireduce-right 3 ilist)))

    ;; The ipairs of an ilist, as a list.
    (define (ipairs ilist)
      (let loop ((rest ilist) (reversed '()))
        (if (ipair? rest)
            (loop (icdr rest) (cons rest reversed))
            (reverse! reversed))))

    (define (ipair-fold kons knil . ilists)
      (check-procedure 'ipair-fold 1 kons)
      (%apply l:fold (cons* kons knil (%map1 ipairs ilists))))

    (define (ipair-fold-right kons knil . ilists)
      (check-procedure 'ipair-fold-right 1 kons)
      (%apply l:fold-right (cons* kons knil (%map1 ipairs ilists))))

    (define (ipair-for-each procedure . ilists)
      (check-procedure 'ipair-for-each 1 procedure)
      (%apply for-each (cons procedure (%map1 ipairs ilists))))

    (define iunfold
      (case-lambda
        ((stop? mapper successor seed)
         (iunfold stop? mapper successor seed (lambda (seed) '())))
        ((stop? mapper successor seed tail-generator)
         (check-procedure 'iunfold 1 stop?)
         (let loop ((seed seed) (reversed '()))
           (if (stop? seed)
               (from-list (reverse reversed) (tail-generator seed))
               (loop (successor seed) (cons (mapper seed) reversed)))))))

    (define iunfold-right
      (case-lambda
        ((stop? mapper successor seed) (iunfold-right stop? mapper successor seed '()))
        ((stop? mapper successor seed tail)
         (check-procedure 'iunfold-right 1 stop?)
         (let loop ((seed seed) (result tail))
           (if (stop? seed)
               result
               (loop (successor seed) (ipair (mapper seed) result)))))))

    ;; Filtering and searching.

    (define (ipartition wanted? ilist)
      (check-procedure 'ipartition 1 wanted?)
      (let-values (((in out) (l:partition wanted? (proper-elements 'ipartition 2 ilist))))
        (values (to-ilist in) (to-ilist out))))

    (define (ifilter wanted? ilist)
      (check-procedure 'ifilter 1 wanted?)
      (let loop ((rest (reverse (proper-elements 'ifilter 2 ilist))) (result '()))
        (cond ((null? rest) result)
              ((wanted? (car rest)) (loop (cdr rest) (ipair (car rest) result)))
              (else (loop (cdr rest) result)))))

    (define (iremove unwanted? ilist)
      (check-procedure 'iremove 1 unwanted?)
      (ifilter (lambda (element) (not (unwanted? element))) ilist))

    (define (ifind wanted? ilist)
      (let ((tail (ifind-tail wanted? ilist)))
        (and tail (icar tail))))

    (define (ifind-tail wanted? ilist)
      (check-procedure 'ifind-tail 1 wanted?)
      (let loop ((rest ilist))
        (cond ((null-ilist? rest) #f)
              ((wanted? (icar rest)) rest)
              (else (loop (icdr rest))))))

    (define imember
      (case-lambda
        ((object ilist) (imember object ilist same?))
        ((object ilist same?)
         (ifind-tail (lambda (element) (same? object element)) ilist))))

    (define (imemq object ilist) (imember object ilist eq?))
    (define (imemv object ilist) (imember object ilist eqv?))

    (define (ispan wanted? ilist)
      (check-procedure 'ispan 1 wanted?)
      (let loop ((rest ilist) (reversed '()))
        (if (and (ipair? rest) (wanted? (icar rest)))
            (loop (icdr rest) (cons (icar rest) reversed))
            (values (to-ilist (reverse reversed)) rest))))

    (define (ibreak stop? ilist)
      (check-procedure 'ibreak 1 stop?)
      (ispan (lambda (element) (not (stop? element))) ilist))

    (define (itake-while wanted? ilist)
      (let-values (((head tail) (ispan wanted? ilist)))
        head))

    (define (idrop-while wanted? ilist)
      (let-values (((head tail) (ispan wanted? ilist)))
        tail))

    ;; Deletion and association lists.

    (define idelete
      (case-lambda
        ((object ilist) (idelete object ilist same?))
        ((object ilist same?)
         (iremove (lambda (element) (same? object element)) ilist))))

    (define idelete-duplicates
      (case-lambda
        ((ilist) (idelete-duplicates ilist same?))
        ((ilist same?)
         (to-ilist (l:delete-duplicates (proper-elements 'idelete-duplicates 1 ilist) same?)))))

    (define iassoc
      (case-lambda
        ((key ilist) (iassoc key ilist same?))
        ((key ilist same?) (ifind (lambda (entry) (same? key (icar entry))) ilist))))

    (define (iassq key ilist) (iassoc key ilist eq?))
    (define (iassv key ilist) (iassoc key ilist eqv?))

    (define (ialist-cons key value ilist)
      (ipair (ipair key value) ilist))

    (define ialist-delete
      (case-lambda
        ((key ilist) (ialist-delete key ilist same?))
        ((key ilist same?) (iremove (lambda (entry) (same? key (icar entry))) ilist))))

    (define (replace-icar old object) (ipair object (icdr old)))
    (define (replace-icdr old object) (ipair (icar old) object))

    (define (iapply procedure . arguments)
      (if (null? arguments)
          (procedure)
          (let ((reversed (reverse arguments)))
            (%apply procedure
                    (append-reverse (cdr reversed)
                                    (proper-elements 'iapply 2 (car reversed)))))))

    ;; Comparators.

    (define (make-ipair-comparator icar-comparator icdr-comparator)
      (check-comparator 'make-ipair-comparator 1 icar-comparator)
      (check-comparator 'make-ipair-comparator 2 icdr-comparator)
      (make-comparator
       (lambda (object)
         (and (ipair? object)
              (comparator-test-type icar-comparator (icar object))
              (comparator-test-type icdr-comparator (icdr object))))
       (lambda (left right)
         (and (=? icar-comparator (icar left) (icar right))
              (=? icdr-comparator (icdr left) (icdr right))))
       (and (comparator-ordered? icar-comparator)
            (comparator-ordered? icdr-comparator)
            (lambda (left right)
              (if (=? icar-comparator (icar left) (icar right))
                  (<? icdr-comparator (icdr left) (icdr right))
                  (<? icar-comparator (icar left) (icar right)))))
       (and (comparator-hashable? icar-comparator)
            (comparator-hashable? icdr-comparator)
            (lambda (ipair)
              (combine-hashes (comparator-hash icar-comparator (icar ipair))
                              (comparator-hash icdr-comparator (icdr ipair)))))))

    (define (make-ilist-comparator element-comparator)
      (make-list-comparator element-comparator proper-ilist? null? icar icdr))

    ;; () comes before ipairs, and those before all else.
    (define (rank object)
      (cond ((null? object) 0)
            ((ipair? object) 1)
            (else 2)))

    (define (make-improper-ilist-comparator comparator)
      (check-comparator 'make-improper-ilist-comparator 1 comparator)
      (define (same? left right)
        (let ((left-rank (rank left)))
          (and (= left-rank (rank right))
               (case left-rank
                 ((0) #t)
                 ((1) (and (same? (icar left) (icar right)) (same? (icdr left) (icdr right))))
                 (else (=? comparator left right))))))
      (define (less? left right)
        (let ((left-rank (rank left)) (right-rank (rank right)))
          (cond ((< left-rank right-rank) #t)
                ((> left-rank right-rank) #f)
                ((= left-rank 0) #f)
                ((= left-rank 2) (<? comparator left right))
                ((same? (icar left) (icar right)) (less? (icdr left) (icdr right)))
                (else (less? (icar left) (icar right))))))
      (define (hash-of object)
        (case (rank object)
          ((0) 0)
          ((1) (combine-hashes (hash-of (icar object)) (hash-of (icdr object))))
          (else (comparator-hash comparator object))))
      (make-comparator (lambda (object) #t)
                       same?
                       (and (comparator-ordered? comparator) less?)
                       (and (comparator-hashable? comparator) hash-of)))

    (define (make-part-comparator who comparator part)
      (check-comparator who 1 comparator)
      (make-comparator
       (lambda (object) (and (ipair? object) (comparator-test-type comparator (part object))))
       (lambda (left right) (=? comparator (part left) (part right)))
       (and (comparator-ordered? comparator)
            (lambda (left right) (<? comparator (part left) (part right))))
       (and (comparator-hashable? comparator)
            (lambda (object) (comparator-hash comparator (part object))))))

    (define (make-icar-comparator comparator)
      (make-part-comparator 'make-icar-comparator comparator icar))

    (define (make-icdr-comparator comparator)
      (make-part-comparator 'make-icdr-comparator comparator icdr))

    (define ipair-comparator (make-ipair-comparator default-comparator default-comparator))
    (define ilist-comparator (make-ilist-comparator default-comparator))))
