;;; geiser-canny.el --- Canny Scheme for Geiser -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (geiser "0.10") (canny "0.1.0"))
;; Keywords: languages, lisp
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; (require 'geiser-canny)
;;
;; `M-x geiser' then knows Canny.  The library (canny geiser), which is a part of Canny, answers.

;;; Code:

(require 'canny)
(require 'comint)
(require 'geiser)
(require 'geiser-connection)
(require 'geiser-custom)
(require 'geiser-eval)
(require 'geiser-impl)
(require 'geiser-repl)
(require 'geiser-syntax)

(defconst geiser-canny--prompt-regexp "\\(?:\\[[0-9]+\\]\\)?> "
  "The prompt; it tells how many evaluations have failed and are kept.")

(defun geiser-canny--parameters ()
  "The command line of the prompt."
  (append '("repl") canny-arguments))

(defun geiser-canny--procedure (procedure &rest arguments)
  "The form that calls Geiser's PROCEDURE with ARGUMENTS, which are texts."
  (pcase procedure
    ((or 'eval 'compile)
     (let ((module (car arguments))
           (form (string-join (cdr arguments) " ")))
       ;; Libraries do not know Geiser's own procedures.
       (if (or (member module '("#f" "'()" nil)) (string-prefix-p "(geiser:" form))
           (format "(geiser:eval #f '%s)" form)
         (format "(geiser:eval '%s '%s)" module form))))
    ((or 'load-file 'compile-file)
     (format "(geiser:load-file %s)" (car arguments)))
    ('no-values "(geiser:no-values)")
    (_ (format "(geiser:%s %s)" procedure (string-join arguments " ")))))

(defun geiser-canny--module (&optional module)
  "The name of MODULE as a list, of the library of this buffer if it is nil."
  (cond ((null module)
         (save-excursion
           (goto-char (point-min))
           (if (re-search-forward "^(define-library[ \t\n]+" nil t)
               (condition-case nil (read (current-buffer)) (error :f))
             :f)))
        ((listp module) module)
        ((stringp module)
         (condition-case nil (car (geiser-syntax--read-from-string module)) (error :f)))
        (t :f)))

(defun geiser-canny--import-command (module)
  "The form that imports MODULE."
  (format "(import %s)" module))

(defun geiser-canny--enter-command (module)
  "The command that makes MODULE the place of evaluations."
  (if (stringp module)
      (format ",module %s" module)
    ",module ()"))

(defun geiser-canny--startup (_remote)
  "Import what answers Geiser."
  ;; The end of an answer is a prompt on a line of its own, which an import does not make.
  (geiser-eval--send/wait "(import (canny geiser)) (geiser:newline)"))

(defun geiser-canny--version (binary)
  "The version of the command BINARY."
  (cadr (split-string (car (process-lines binary "--version")))))

(defun geiser-canny--display-error (_module _key message)
  "Show the MESSAGE of an evaluation that failed."
  (when message
    (save-excursion (insert message))))

(define-geiser-implementation canny
  (binary canny--command)
  (arglist geiser-canny--parameters)
  (version-command geiser-canny--version)
  (minimum-version "0.1")
  (repl-startup geiser-canny--startup)
  (prompt-regexp geiser-canny--prompt-regexp)
  (debugger-prompt-regexp nil)
  (marshall-procedure geiser-canny--procedure)
  (find-module geiser-canny--module)
  (enter-command geiser-canny--enter-command)
  (import-command geiser-canny--import-command)
  (exit-command "(geiser:exit)")
  (display-error geiser-canny--display-error)
  (case-sensitive t)
  (unsupported-procedures '(callers callees)))

(add-to-list 'geiser-active-implementations 'canny)
(dolist (ending '("scm" "sld" "sls" "sps"))
  (add-to-list 'geiser-implementations-alist
               (list (list 'regexp (format "\\.%s\\'" ending)) 'canny) t))

(provide 'geiser-canny)
;;; geiser-canny.el ends here
