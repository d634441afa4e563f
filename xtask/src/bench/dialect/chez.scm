;;; Names that R7RS programs need beyond Chez Scheme's own. `@EXCEPT@` is replaced by the names that
;;; the program defines itself.
(import (rename (except (chezscheme) @EXCEPT@) (define-record-type chez-define-record-type)))
