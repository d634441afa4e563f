;;; The quotation mark is an abbreviation of a keyword that has to be imported.
(import (scheme write) (only (scheme base) define))
(define empty '())
(display (match empty (() 'none)))
