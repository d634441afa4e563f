(import (scheme base) (scheme write))
(guard (e ((string? e) (display "a string")))
  (raise 'a-symbol))
