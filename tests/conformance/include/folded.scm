;;; Included with folded case by the tests of 4.1.7.
(DEFINE FOLDED-VALUE (QUOTE SHOUT))
