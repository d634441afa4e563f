;;; canny.el --- Canny Scheme: language server, debugger, tests, prompt -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages, lisp
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; (require 'canny)
;; (canny-setup)
;;
;; Eglot learns of `canny lsp', dape and dap-mode of `canny dap', whichever of them are there.
;; `canny-prompt' starts a prompt, `canny-run-file' and `canny-test' run programs and tests.

;;; Code:

(require 'compile)
(require 'subr-x)
(require 'url-util)

(declare-function dap-register-debug-provider "dap-mode" (language-id provide-configuration-fn))
(declare-function dap-register-debug-template "dap-mode" (configuration-name configuration-settings))
(declare-function eglot-current-server "eglot" ())
(declare-function jsonrpc-request "jsonrpc" (connection method params &rest rest))
(declare-function run-scheme "cmuscheme" (cmd))
(defvar dape-configs)
(defvar eglot-server-programs)
(defvar scheme-program-name)

(defgroup canny nil
  "Canny Scheme."
  :group 'languages
  :prefix "canny-")

(defcustom canny-command "canny"
  "The command: a name on the path, or a file."
  :type 'string)

(defcustom canny-arguments nil
  "Options of `canny lsp', of programs and of tests, such as -I and a directory."
  :type '(repeat string))

(defun canny--command ()
  "The command, as a file if its name begins with a tilde."
  (if (string-prefix-p "~" canny-command)
      (expand-file-name canny-command)
    canny-command))

;;; Running

(defconst canny--messages
  '((canny-message
     "^\\(?: +| \\)?\\([^: \n|]+\\):\\([0-9]+\\):\\([0-9]+\\): \\(?:error\\|\\(warning\\)\\)\\["
     1 2 3 (4))
    (canny-failure "^ +\\([^: \n|]+\\):\\([0-9]+\\): " 1 2))
  "How `compilation-mode' finds places in messages and reports of tests.")

(define-compilation-mode canny-report-mode "Canny"
  "What a program or tests of Canny print."
  (setq-local compilation-error-regexp-alist (mapcar #'car canny--messages))
  (setq-local compilation-error-regexp-alist-alist canny--messages))

(defun canny--line (&rest words)
  "The WORDS as a command line of Canny."
  (mapconcat #'shell-quote-argument (cons (canny--command) words) " "))

(defun canny--file ()
  "The file of this buffer, saved."
  (unless buffer-file-name
    (user-error "This buffer has no file"))
  (when (buffer-modified-p)
    (save-buffer))
  (file-local-name buffer-file-name))

;;;###autoload
(defun canny-run-file ()
  "Run the program of this buffer.
It reads what is typed into the buffer that shows its output."
  (interactive)
  (let ((line (apply #'canny--line "run" (append canny-arguments (list (canny--file))))))
    ;; For input the buffer has to be one of `comint-mode', whose messages are the same.
    (with-current-buffer (compilation-start line t)
      (setq-local compilation-error-regexp-alist (mapcar #'car canny--messages))
      (setq-local compilation-error-regexp-alist-alist canny--messages)
      (current-buffer))))

(defun canny--project ()
  "The directory of the project around this buffer, else its own."
  (or (locate-dominating-file default-directory "package.scm")
      (locate-dominating-file default-directory ".git")
      default-directory))

;;;###autoload
(defun canny-test (&optional file)
  "Run the tests of the project, or with a prefix argument those of this FILE."
  (interactive (list (and current-prefix-arg (canny--file))))
  (let ((default-directory (if file default-directory (canny--project))))
    (compilation-start (apply #'canny--line "test" (append canny-arguments (and file (list file))))
                       #'canny-report-mode)))

;;;###autoload
(defun canny-prompt ()
  "Start a prompt of Canny, and show it.
The commands of `scheme-mode' that send definitions then send them there."
  (interactive)
  (require 'cmuscheme)
  (let ((line (apply #'canny--line "repl" canny-arguments)))
    (setq scheme-program-name line)
    (run-scheme line)))

;;; The language server

(defun canny-lsp-command (&rest _)
  "The command line of the language server, for Eglot."
  (append (list (canny--command) "lsp") canny-arguments))

(defun canny-expand-macro ()
  "Show what the macro use at point becomes."
  (interactive)
  (let* ((server (or (and (fboundp 'eglot-current-server) (eglot-current-server))
                     (user-error "Eglot does not manage this buffer")))
         (line (1- (line-number-at-pos nil t)))
         (text (buffer-substring-no-properties (line-beginning-position) (point)))
         ;; The protocol counts code units of UTF-16.
         (column (/ (length (encode-coding-string text 'utf-16le)) 2))
         (uri (concat "file://" (url-hexify-string (file-local-name buffer-file-name)
                                                   url-path-allowed-chars)))
         (expansion (jsonrpc-request
                     server :workspace/executeCommand
                     (list :command "canny.expandMacro"
                           :arguments (vector uri (list :line line :character column))))))
    (unless (stringp expansion)
      (user-error "There is no macro use here"))
    (with-current-buffer (get-buffer-create "*Canny expansion*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert expansion)
        (scheme-mode)
        (goto-char (point-min)))
      (view-mode 1)
      (display-buffer (current-buffer)))))

;;; The debugger

(defun canny--processes ()
  "The processes of Canny, newest first: an alist from descriptions to numbers."
  (let ((name (file-name-nondirectory (canny--command)))
        (found nil))
    (dolist (pid (list-system-processes))
      (let* ((attributes (process-attributes pid))
             (words (split-string (or (alist-get 'args attributes) "")))
             (verb (cadr words)))
        (when (and words
                   (equal (file-name-nondirectory (car words)) name)
                   (not (member verb '("lsp" "dap" "test"))))
          (push (cons (format "%d %s" pid (string-join words " ")) pid) found))))
    (sort found (lambda (one other) (> (cdr one) (cdr other))))))

(defun canny-read-process ()
  "Ask for a process of Canny, and return its number."
  (interactive)
  (let* ((all (canny--processes))
         (answer (completing-read "Process: " all nil nil))
         (number (or (cdr (assoc answer all)) (string-to-number answer))))
    (if (> number 0)
        number
      (user-error "This is not the number of a process: %s" answer))))

(defun canny-read-recording ()
  "Ask for a recording of `canny record'."
  (interactive)
  (expand-file-name (read-file-name "Recording: " nil nil t nil)))

(defun canny--buffer-program ()
  "The program of this buffer."
  (interactive)
  (file-local-name (or buffer-file-name (user-error "This buffer has no file"))))

(defun canny--directory ()
  "The directory in which the program of this buffer runs."
  (file-local-name (expand-file-name (canny--project))))

(defun canny-dape-configurations ()
  "What dape has to know of Canny, for `dape-configs'."
  (let* ((common '(modes (scheme-mode)
                   ensure dape-ensure-command
                   command canny--command
                   command-args ("dap")
                   command-cwd dape-command-cwd
                   :type "canny"))
         (launch `(,@common :request "launch" :cwd canny--directory)))
    `((canny ,@launch :program canny--buffer-program :args [] :stopOnEntry nil :stopAll nil)
      (canny-all-tasks ,@launch :program canny--buffer-program :args [] :stopAll t)
      (canny-terminal ,@launch :program canny--buffer-program :console "integratedTerminal")
      (canny-recording ,@launch :program canny-read-recording)
      (canny-attach ,@common :request "attach" :pid canny-read-process))))

(defun canny--register-dape ()
  "Tell dape of Canny."
  (dolist (configuration (reverse (canny-dape-configurations)))
    (setq dape-configs (cons configuration
                             (assq-delete-all (car configuration) dape-configs)))))

(defun canny--dap-mode-populate (configuration)
  "Complete a CONFIGURATION of dap-mode."
  (let* ((result (copy-sequence configuration))
         (add (lambda (key value)
                (unless (plist-get result key)
                  (setq result (plist-put result key (funcall value)))))))
    (funcall add :dap-server-path (lambda () (list (canny--command) "dap")))
    (funcall add :cwd #'canny--directory)
    (if (equal (plist-get result :request) "attach")
        (funcall add :pid #'canny-read-process)
      (funcall add :program (if (plist-get result :recording)
                                #'canny-read-recording
                              #'canny--buffer-program)))
    result))

(defun canny--register-dap-mode ()
  "Tell dap-mode of Canny."
  (dap-register-debug-provider "canny" #'canny--dap-mode-populate)
  (pcase-dolist (`(,name . ,more)
                 '(("Canny: this file" :request "launch")
                   ("Canny: this file, all tasks stop" :request "launch" :stopAll t)
                   ("Canny: this file, from its first line" :request "launch" :stopOnEntry t)
                   ("Canny: a recording" :request "launch" :recording t)
                   ("Canny: a process" :request "attach")))
    (dap-register-debug-template name (append (list :type "canny" :name name) more))))

;;; Setting up

;;;###autoload
(defun canny-setup ()
  "Make Scheme files use Canny in Eglot, dape and dap-mode, where they are there."
  (add-to-list 'auto-mode-alist '("\\.s\\(?:ld\\|ls\\|ps\\)\\'" . scheme-mode))
  (with-eval-after-load 'eglot
    (add-to-list 'eglot-server-programs (cons 'scheme-mode #'canny-lsp-command)))
  (with-eval-after-load 'dape
    (canny--register-dape))
  (with-eval-after-load 'dap-mode
    (canny--register-dap-mode)))

(provide 'canny)
;;; canny.el ends here
