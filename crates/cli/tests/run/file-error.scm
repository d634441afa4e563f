(import (scheme base) (scheme file) (scheme write))
(display (guard (e ((file-error? e) 'file-error)) (open-input-file "missing.txt")))
(newline)
(open-input-file "missing.txt")
