;;; expect: 100000085
;;; A copy of a file of 100 MB, piece by piece.
(import (scheme base) (scheme file) (scheme write) (only (canny fs) file-size))
(define (copy input output)
  (let ((piece (make-bytevector 65536)))
    (let loop ()
      (let ((count (read-bytevector! piece input)))
        (if (not (eof-object? count))
            (begin
              (write-bytevector piece output 0 count)
              (loop)))))))
(define output (open-binary-output-file "outputs/server.log"))
(copy (open-binary-input-file "inputs/server.log") output)
(close-port output)
(display (file-size "outputs/server.log"))
(newline)
