;;; checks.el --- Checks of canny.el, without a screen -*- lexical-binding: t -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; CANNY=…/canny emacs --batch -L editors/emacs -L …/dape -l editors/emacs/test/checks.el \
;;   -f ert-run-tests-batch-and-exit
;;
;; Further packages on the load path are checked too: eglot, dap-mode with what it needs, geiser.
;; What is not there is skipped.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'canny)

(setq canny-command (or (getenv "CANNY") "canny"))
(canny-setup)

(defconst checks--files
  '(("package.scm" . "(package (name \"checks\") (version \"0.1.0\"))\n")
    ("program.scm" . "(import (scheme base) (scheme write))
(define (work x)
  (let ((y (* 2 x)))
    y))
(display (work 4))
(newline)
")
    ("macro.scm" . "(import (scheme base))
(define-syntax twice
  (syntax-rules ()
    ((_ x) (* 2 x))))
(define four (twice 2))
")
    ("wrong.scm" . "(import (scheme base))\n(no-such-name 1)\n")
    ("service.scm" . "(import (scheme base) (scheme write) (canny tasks))
(define (work n)
  (sleep 0.05)
  (+ n 1))
(display \"ready\")
(newline)
(flush-output-port)
(let loop ((n 0)) (loop (work n)))
")
    ("shop.sld" . "(define-library (shop)
  (export price)
  (import (scheme base))
  (begin
    (define (price n) (* secret n))
    (define secret 3)))
")
    ("tests/numbers.scm" . "(import (scheme base) (canny test))
(test-group \"numbers\"
  (test \"sum\" 3 (+ 1 2))
  (test \"product\" 5 (* 2 2)))
")
    ("tests/broken.scm" . "(import (scheme base) (canny test))\n(test 1 (lambda))\n")))

(defmacro checks--in-project (file &rest body)
  "Visit FILE of a new project, and evaluate BODY there."
  (declare (indent 1))
  `(let* ((directory (file-name-as-directory (file-truename (make-temp-file "canny-emacs-" t))))
          (default-directory directory)
          (enable-local-variables nil)
          (create-lockfiles nil)
          (make-backup-files nil)
          (confirm-kill-processes nil))
     (unwind-protect
         (progn
           (pcase-dolist (`(,name . ,text) checks--files)
             (make-directory (file-name-directory (expand-file-name name)) t)
             (write-region text nil name nil 'silent))
           (switch-to-buffer (find-file-noselect ,file))
           ,@body)
       (dolist (buffer (buffer-list))
         (when (and (buffer-file-name buffer)
                    (string-prefix-p directory (buffer-file-name buffer)))
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (let ((kill-buffer-query-functions nil)) (kill-buffer buffer))))
       (delete-directory directory t))))

(defmacro checks--wait (form)
  "Wait until FORM is not nil, and return its value."
  `(let ((found nil) (end (time-add nil 30)))
     (while (and (not (setq found ,form)) (time-less-p nil end))
       (accept-process-output nil 0.02))
     (or found (ert-fail '(it-did-not-come ,form)))))

(defun checks--go-to-line (line)
  "Go to LINE."
  (goto-char (point-min))
  (forward-line (1- line)))

;;; Programs, tests and the prompt

(ert-deftest canny-checks-run ()
  (checks--in-project "program.scm"
    (with-current-buffer (canny-run-file)
      (checks--wait (not (get-buffer-process (current-buffer))))
      (should (string-match-p "^8$" (buffer-string))))))

(ert-deftest canny-checks-tests ()
  (checks--in-project "program.scm"
    (with-current-buffer (canny-test)
      (checks--wait (not (get-buffer-process (current-buffer))))
      (let ((places nil) (compilation-auto-jump-to-first-error nil))
        (compilation--ensure-parse (point-max))
        (goto-char (point-min))
        (while (ignore-errors (compilation-next-error 1) t)
          (let* ((message (get-text-property (point) 'compilation-message))
                 (location (compilation--message->loc message)))
            (push (list (caar (compilation--loc->file-struct location))
                        (compilation--loc->line location))
                  places)))
        (should (equal (sort places (lambda (one other) (string< (car one) (car other))))
                       '(("tests/broken.scm" 2) ("tests/numbers.scm" 4))))))))

(ert-deftest canny-checks-prompt ()
  (checks--in-project "program.scm"
    (let ((buffer (progn (canny-prompt) (get-buffer "*scheme*"))))
      (with-current-buffer buffer
        (checks--wait (string-match-p "^> \\'" (buffer-string)))
        (goto-char (point-max))
        (insert "(* 6 7)")
        (comint-send-input)
        (checks--wait (string-match-p "42\n> \\'" (buffer-string)))
        (goto-char (point-max))
        (insert "(car '())")
        (comint-send-input)
        (checks--wait (string-match-p "\n\\[1\\]> \\'" (buffer-string)))
        (should-not (string-match-p "\e" (buffer-string))))
      (let ((kill-buffer-query-functions nil)) (kill-buffer buffer)))))

;;; The language server

(ert-deftest canny-checks-eglot ()
  (skip-unless (require 'eglot nil t))
  (checks--in-project "wrong.scm"
    (let ((eglot-sync-connect 10))
      (apply #'eglot--connect (eglot--guess-contact))
      (eglot--maybe-activate-editing-mode)
      (flymake-start)
      (checks--wait (cl-find-if (lambda (one)
                                  (string-match-p "no-such-name" (flymake-diagnostic-text one)))
                                (flymake-diagnostics)))
      (find-file "macro.scm")
      (eglot--maybe-activate-editing-mode)
      (checks--go-to-line 5)
      (search-forward "(tw")
      (checks--wait (ignore-errors (canny-expand-macro) t))
      (with-current-buffer "*Canny expansion*"
        (should (string-match-p "(\\* 2 2)" (buffer-string))))
      (let ((place (car (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot)))))
        (should (equal (xref-location-line (xref-item-location place)) 2)))
      (eglot-shutdown (eglot-current-server)))))

;;; dape

(defun checks--dape (key)
  "Start a session with the configuration of the name KEY."
  (dape (dape--config-eval key nil)))

(defmacro checks--with-dape (&rest body)
  "Evaluate BODY; leave no session behind."
  `(unwind-protect (progn ,@body)
     (dape-breakpoint-remove-all)
     (dape-quit)
     (checks--wait (not (dape--live-connection 'parent t)))))

(defun checks--dape-stop ()
  "Wait for a stop, and return the line and the connection."
  (let ((connection (checks--wait (dape--live-connection 'stopped t))))
    (checks--wait (dape--current-stack-frame connection))
    (list (plist-get (dape--current-stack-frame connection) :line) connection)))

(ert-deftest canny-checks-dape-launch ()
  (skip-unless (require 'dape nil t))
  (checks--in-project "program.scm"
    (checks--with-dape
     (checks--go-to-line 4)
     (dape-breakpoint-toggle)
     (checks--dape 'canny)
     (pcase-let ((`(,line ,connection) (checks--dape-stop))
                 (answer nil))
       (should (equal line 4))
       (dape--with-request-bind (body _problem)
           (dape--evaluate-expression
            connection (plist-get (dape--current-stack-frame connection) :id) "(* x y)" "repl")
         (setq answer (plist-get body :result)))
       (checks--wait answer)
       (should (equal answer "32"))
       (dape-step-out connection)
       (checks--wait (equal (plist-get (dape--current-stack-frame connection) :line) 5))
       (dape-continue connection)
       (checks--wait (not (dape--live-connection 'parent t)))))))

(ert-deftest canny-checks-dape-attach ()
  (skip-unless (require 'dape nil t))
  (checks--in-project "service.scm"
    (let* ((output "")
           (service (make-process :name "service" :command (list canny-command "run" "service.scm")
                                  :connection-type 'pipe
                                  :filter (lambda (_ text) (setq output (concat output text))))))
      (checks--wait (string-match-p "ready" output))
      (checks--with-dape
       (checks--go-to-line 4)
       (dape-breakpoint-toggle)
       (cl-letf (((symbol-function 'completing-read)
                  (lambda (_prompt all &rest _)
                    (car (rassoc (process-id service) all)))))
         (checks--dape 'canny-attach))
       (pcase-let ((`(,line ,connection) (checks--dape-stop)))
         (should (equal line 4))
         (dape-disconnect-quit connection)
         (checks--wait (not (dape--live-connection 'parent t)))))
      (should (process-live-p service))
      (delete-process service))))

;;; dap-mode

(ert-deftest canny-checks-dap-mode ()
  (skip-unless (and (require 'dap-mode nil t) (require 'dap-ui nil t)))
  (checks--in-project "program.scm"
    (let* ((dap-auto-configure-features nil)
           (dap-breakpoints-file (expand-file-name "breakpoints"))
           (lsp-session-file (expand-file-name "lsp-session"))
           (session nil) (line nil) (is-over nil)
           (dap-session-created-hook (list (lambda (one) (setq session one))))
           (dap-terminated-hook (list (lambda (_) (setq is-over t))))
           (dap-stack-frame-changed-hook
            (list (lambda (one)
                    (let ((frame (dap--debug-session-active-frame one)))
                      (when frame (setq line (gethash "line" frame))))))))
      (cl-letf (((symbol-function 'lsp-workspace-root) (lambda (&rest _) default-directory))
                ((symbol-function 'dap-ui-mode) #'ignore)
                ((symbol-function 'dap-ui-sessions) #'ignore)
                ((symbol-function 'dap-ui-locals) #'ignore))
        (checks--go-to-line 4)
        (dap-breakpoint-toggle)
        (dap-debug (copy-tree (cdr (assoc "Canny: this file" dap-debug-template-configurations))))
        (checks--wait (and session (equal line 4)))
        (let* ((frame (dap--debug-session-active-frame session))
               (answer (dap-request session "evaluate" :expression "(* x y)" :context "repl"
                                    :frameId (gethash "id" frame))))
          (should (equal (gethash "result" answer) "32")))
        (dap-continue session (dap--debug-session-thread-id session))
        (checks--wait is-over)))))

;;; Geiser

(ert-deftest canny-checks-geiser ()
  (skip-unless (require 'geiser-canny nil t))
  (checks--in-project "shop.sld"
    (let ((geiser-repl-query-on-exit-p nil)
          (geiser-repl-query-on-kill-p nil)
          (geiser-repl-history-filename (expand-file-name "history"))
          (source (current-buffer)))
      (should (memq 'canny geiser-active-implementations))
      (save-window-excursion (geiser 'canny))
      (set-buffer source)
      (geiser-impl--set-buffer-implementation 'canny)
      (cl-flet ((ask (code) (geiser-eval--send/wait code))
                (result (retort) (cadr (assq 'result retort))))
        (should (equal (result (ask '(:eval (:scm "(* 6 7)") :f))) "42"))
        ;; Names of a library that it does not export.
        (should (equal (result (ask '(:eval (:scm "(price secret)")))) "9"))
        ;; Symbols and numbers of the reader of older versions are no others' symbols and numbers.
        (write-region "(define (made-here x)\n  (* 2 x))\n" nil "made.scm" nil 'silent)
        (ask '(:eval (:ge load-file "made.scm")))
        (let ((place (geiser-eval--send/result '(:eval (:ge symbol-location (quote made-here))))))
          (should (equal (file-name-nondirectory (cdr (assoc "file" place))) "made.scm"))
          (should (equal (format "%s" (cdr (assoc "line" place))) "1")))
        (let ((failure (ask '(:eval (:scm "(car 1)") :f))))
          (should (eq (geiser-eval--error-key (geiser-eval--retort-error failure)) 'type))
          (should (string-match-p "not a pair" (geiser-eval--retort-output failure))))
        (should (member "vector-fill!"
                        (geiser-eval--send/result '(:eval (:ge completions "vector-f")))))
        (let ((signature (car (geiser-eval--send/result '(:eval (:ge autodoc (quote (car))))))))
          (should (equal (format "%s" (cdr (assoc "module" signature))) "(canny base)")))
        (should (equal (result (ask '(:eval (:scm "(+ 1 1)") :f))) "2")))
      (let ((kill-buffer-query-functions nil))
        (dolist (buffer (copy-sequence geiser-repl--repls))
          (kill-buffer buffer))))))

;;; checks.el ends here
