(import (scheme base) (scheme read) (scheme write))
(display (guard (e ((read-error? e) 'read-error)) (read (open-input-string "(1 2"))))
(newline)
(read (open-input-string "(1 . )"))
