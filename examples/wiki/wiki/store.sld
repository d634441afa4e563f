;;; (wiki store): accounts, pages with all of their revisions, links, pictures and settings, in one
;;; file of SQLite.
;;;
;;; A store is a pool of connections: readers see the last committed state, one writer changes it.
;;; Each change is one transaction, which is on the disk when the procedure returns. Nothing here
;;; knows of requests or of HTML.
;;;
;;; A page is what its newest revision says. Revisions are never changed and never deleted; a
;;; deleted page is one that is marked so, and writing it again brings it back with its history.

(define-library (wiki store)
  (export open-store close-store! store-healthy?
          setting set-setting!
          user? user-id user-name user-password user-administrator? user-epoch user-created
          any-users? find-user user-by-id all-users add-user! set-password!
          page? page-id page-title page-number page-text page-author page-written page-comment
          page-locked? page-deleted?
          find-page page-at save-page! page-history restore-page!
          set-page-locked! delete-page!
          change-id change-title change-number change-author change-written change-comment
          change-size recent-changes
          all-pages missing-titles backlinks wanted-pages
          search-pages found-title found-parts
          picture-name picture-type picture-size picture-author picture-written add-picture!
          picture-bytes all-pictures
          delete-picture!)
  (import (canny base) (canny sqlite) (canny text) (canny json) (canny base64) (canny crypto)
          (canny sync) (wiki titles) (wiki markup))
  (begin

    ;;; Opening

    ;; Each migration brings a database from one version of the schema to the next. `user_version`
    ;; says how many have run. A migration that was published is never changed.
    (define migrations
      '#("create table settings (key text primary key, value text not null) without rowid;

          create table users (
            id integer primary key,
            name text not null unique collate nocase,
            password text not null,
            administrator integer not null default 0,
            -- Sessions of another epoch have ended.
            epoch integer not null default 1,
            created integer not null default (unixepoch()));

          create table pages (
            id integer primary key,
            key text not null unique,
            title text not null,
            -- The number of the newest revision.
            newest integer not null,
            locked integer not null default 0,
            deleted integer not null default 0);

          create table revisions (
            id integer primary key autoincrement,
            page integer not null references pages,
            number integer not null,
            title text not null,
            text text not null,
            comment text not null,
            author integer not null references users,
            written integer not null default (unixepoch()),
            unique (page, number));

          -- What the newest revisions link to.
          create table links (
            page integer not null references pages,
            key text not null,
            title text not null,
            primary key (page, key)) without rowid;
          create index links_by_key on links (key);

          create virtual table words using fts5 (
            title, body, tokenize = 'unicode61 remove_diacritics 2');"

         "create table pictures (
            id integer primary key autoincrement,
            name text not null unique,
            type text not null,
            bytes blob not null,
            author integer not null references users,
            written integer not null default (unixepoch()));"))

    ;; `Cmnp`: by this number the file tells whose it is.
    (define application 1131245168)

    (define-record-type store
      (make-store pool lock settings)
      store?
      (pool store-pool)
      ;; Held while settings are read or written.
      (lock store-lock)
      ;; Those that were read since one was written, by symbols.
      (settings store-settings set-store-settings!))

    (define-syntax reading
      (syntax-rules ()
        ((_ store (db) body ...)
         (call-with-reader (store-pool store) (lambda (db) body ...)))))

    (define-syntax writing
      (syntax-rules ()
        ((_ store (db) body ...)
         (call-with-writer (store-pool store)
           (lambda (db) (with-transaction db body ...))))))

    ;; The store in a file, which is made if it is not there. A database of another program, or of a
    ;; newer version of this one, is an error.
    (define (open-store path)
      (let ((store (make-store (make-database-pool path) (make-mutex #:name 'settings) '())))
        (writing store (db) (migrate-schema! db path))
        (for-each (lambda (key)
                    (if (not (setting store key))
                        (set-setting! store key (hex-encode (random-bytes 32)))))
                  '(secret identity))
        store))

    (define (close-store! store)
      (close-database-pool (store-pool store)))

    (define (migrate-schema! db path)
      (let ((version (query-value db "pragma user_version"))
            (own? (= application (query-value db "pragma application_id"))))
        (cond ((and (not own?) (< 0 (query-value db "select count(*) from sqlite_schema")))
               (error "the file is a database of another program" path))
              ((> version (vector-length migrations))
               (error "the database was made by a newer version of this program" path)))
        (let loop ((next version))
          (if (< next (vector-length migrations))
              (begin
                (execute-script db (vector-ref migrations next))
                (loop (+ next 1)))))
        (execute-script db (string-append "pragma application_id = "
                                          (number->string application)
                                          "; pragma user_version = "
                                          (number->string (vector-length migrations))))))

    ;; Whether the database answers.
    (define (store-healthy? store)
      (guard (e (#t #f))
        (reading store (db) (= 1 (query-value db "select 1")))))

    ;;; Settings: texts by symbols

    ;; Each page asks for settings, which hardly ever change. So they are kept in memory: a query would
    ;; wait for one of the connections.
    (define* (setting store key #:optional (default #f))
      (let ((known (assq key (store-settings store))))
        (or (if known (cdr known) (read-setting store key))
            default)))

    (define (read-setting store key)
      (with-mutex (store-lock store)
        (let ((value (reading store (db)
                       (query-value db "select value from settings where key = ?"
                                    (symbol->string key)))))
          (set-store-settings! store (cons (cons key value) (store-settings store)))
          value)))

    (define (set-setting! store key value)
      (with-mutex (store-lock store)
        (writing store (db)
          (execute db "insert into settings values (?, ?) on conflict do update set value = \
                       excluded.value"
                   (symbol->string key) value))
        (set-store-settings! store '())))

    ;;; Accounts

    (define-record-type user
      (make-user id name password administrator epoch created)
      user?
      (id user-id)
      (name user-name)
      ;; A hash.
      (password user-password)
      (administrator user-administrator)
      (epoch user-epoch)
      (created user-created))

    (define user-columns "select id, name, password, administrator, epoch, created from users ")

    (define (user-administrator? user) (= 1 (user-administrator user)))

    (define (row->user row) (and row (apply make-user (vector->list row))))

    (define (any-users? store)
      (reading store (db) (= 1 (query-value db "select exists (select * from users)"))))

    (define (find-user store name)
      (reading store (db)
        (row->user (query-row db (string-append user-columns "where name = ?") name))))

    (define (user-by-id store id)
      (reading store (db)
        (row->user (query-row db (string-append user-columns "where id = ?") id))))

    (define (all-users store)
      (reading store (db)
        (map row->user (query db (string-append user-columns "order by name")))))

    ;; Makes an account, and gives it; `#f` if somebody has that name. The first account
    ;; administers.
    (define (add-user! store name password)
      (guard (e ((unique-violation? e) #f))
        (writing store (db)
          (row->user
           (query-row db
                      "insert into users (name, password, administrator)
                       values (?, ?, not exists (select * from users))
                       returning id, name, password, administrator, epoch, created"
                      name password)))))

    ;; A new password ends all sessions.
    (define (set-password! store user password)
      (writing store (db)
        (execute db "update users set password = ?, epoch = epoch + 1 where id = ?"
                 password (user-id user)))
      (user-by-id store (user-id user)))

    ;;; Pages

    (define-record-type page
      (make-page id title locked deleted number text author written comment)
      page?
      (id page-id)
      (title page-title)
      (locked page-locked)
      (deleted page-deleted)
      (number page-number)
      (text page-text)
      (author page-author)
      (written page-written)
      (comment page-comment))

    (define (page-locked? page) (= 1 (page-locked page)))
    (define (page-deleted? page) (= 1 (page-deleted page)))

    (define page-columns
      "select pages.id, revisions.title, locked, deleted, number, text, users.name, written, comment
       from pages join revisions on revisions.page = pages.id join users on users.id = author ")

    (define (row->page row) (and row (apply make-page (vector->list row))))

    ;; The page with a title as its newest revision has it, deleted ones too; or `#f`.
    (define (find-page store title)
      (reading store (db) (page-by-key db (title-key title))))

    (define (page-by-key db key)
      (row->page
       (query-row db (string-append page-columns "where key = ? and number = newest") key)))

    ;; A page as it was in one of its revisions, or `#f`.
    (define (page-at store page number)
      (reading store (db)
        (row->page (query-row db (string-append page-columns "where pages.id = ? and number = ?")
                              (page-id page) number))))

    ;; Writes a new revision of a page. `base` is the number of the revision that was edited, 0 for
    ;; a page that was not there. Two values: `saved`, `unchanged`, `locked` or `conflict`, and the
    ;; page as it is now.
    (define* (save-page! store title text user #:key (base 0) (comment ""))
      (let* ((title (clean-title title))
             (key (title-key title))
             (document (parse-markup text))
             (links (map (lambda (title) (cons (title-key title) title))
                         (document-links document)))
             (words (document-text document)))
        (define (outcome db)
          (let* ((page (page-by-key db key))
                 (number (cond ((not page) 0)
                               ((page-deleted? page) base)
                               (else (page-number page)))))
            (cond ((and page (page-locked? page) (not (user-administrator? user))) 'locked)
                  ((not (= number base)) 'conflict)
                  ((and page (not (page-deleted? page)) (string=? text (page-text page))
                        (string=? title (page-title page)))
                   'unchanged)
                  (else
                   (write-revision! db page key title text comment user links words)
                   'saved))))
        (writing store (db)
          (let ((outcome (outcome db)))
            (values outcome (page-by-key db key))))))

    (define (write-revision! db page key title text comment user links words)
      (let* ((number (if page (+ 1 (page-number page)) 1))
             (id (if page
                     (page-id page)
                     (query-value db "insert into pages (key, title, newest) values (?, ?, 1) \
                                      returning id"
                                  key title))))
        (execute db "update pages set title = ?, newest = ?, deleted = 0 where id = ?" title number
                 id)
        (execute db "insert into revisions (page, number, title, text, comment, author)
                     values (?, ?, ?, ?, ?, ?)"
                 id number title text comment (user-id user))
        (execute db "delete from links where page = ?" id)
        (for-each (lambda (link)
                    (execute db "insert into links values (?, ?, ?)" id (car link) (cdr link)))
                  links)
        (execute db "delete from words where rowid = ?" id)
        (execute db "insert into words (rowid, title, body) values (?, ?, ?)" id title words)))

    ;; Makes the text of an earlier revision the newest one. Values as those of `save-page!`.
    (define (restore-page! store page number user)
      (let ((old (page-at store page number)))
        (save-page! store (page-title page) (page-text old) user
                    #:base (page-number page)
                    #:comment (string-append "Restored revision " (number->string number)))))

    (define (set-page-locked! store page locked?)
      (writing store (db)
        (execute db "update pages set locked = ? where id = ?" locked? (page-id page))))

    ;; Takes a page away from lists and searches. Its revisions stay.
    (define (delete-page! store page)
      (writing store (db)
        (execute db "update pages set deleted = 1 where id = ?" (page-id page))
        (execute db "delete from links where page = ?" (page-id page))
        (execute db "delete from words where rowid = ?" (page-id page))))

    ;;; Changes

    (define-record-type change
      (make-change id title number author written comment size)
      change?
      (id change-id)
      (title change-title)
      (number change-number)
      (author change-author)
      (written change-written)
      (comment change-comment)
      (size change-size))

    (define change-columns
      "select revisions.id, pages.title, number, users.name, written, comment, length(text)
       from revisions join pages on pages.id = page join users on users.id = author ")

    (define (rows->changes rows)
      (map (lambda (row) (apply make-change (vector->list row))) rows))

    ;; The newest revisions of a page, at most so many, older than one if its number is given.
    (define* (page-history store page #:key (limit 1000) (before #f))
      (reading store (db)
        (rows->changes
         (query db (string-append change-columns
                                  "where page = ? and number < ? order by number desc limit ?")
                (page-id page) (or before 9000000000000000) limit))))

    ;; The newest changes of pages that are there, at most so many, older than a change if its
    ;; number is given.
    (define* (recent-changes store limit #:key (before #f))
      (reading store (db)
        (rows->changes
         (query db (string-append change-columns
                                  "where deleted = 0 and revisions.id < ? order by revisions.id \
                                   desc limit ?")
                (or before 9000000000000000) limit))))

    ;;; Lists

    (define (titles rows)
      (map (lambda (row) (vector-ref row 0)) rows))

    (define (all-pages store)
      (reading store (db)
        (titles (query db "select title from pages where deleted = 0 order by key"))))

    ;; Those of some titles that no page has.
    (define (missing-titles store candidates)
      (reading store (db)
        (let ((there (titles
                      (query db "select key from pages
                                 where deleted = 0 and key in (select value from json_each(?))"
                             (json->string (list->vector (map title-key candidates)))))))
          (remove (lambda (title) (member (title-key title) there)) candidates))))

    ;; The titles of the pages that link to one.
    (define (backlinks store title)
      (reading store (db)
        (titles (query db "select pages.title from links join pages on pages.id = links.page
                           where links.key = ? order by pages.key"
                       (title-key title)))))

    ;; Titles that pages link to and that are not there, with the titles of these pages: ((TITLE
    ;; PAGE ...) ...), those that are wanted most first.
    (define (wanted-pages store)
      (let ((rows (reading store (db)
                    (query db "select links.key, links.title, source.title from links
                                 join pages as source on source.id = links.page
                                 left join pages as target on target.key = links.key
                               where target.id is null or target.deleted
                               order by links.key, source.key limit 2000"))))
        (let loop ((rows rows) (key #f) (found '()))
          (cond ((null? rows)
                 (list-sort (lambda (a b) (> (length a) (length b)))
                            (map (lambda (entry) (cons (car entry) (reverse (cdr entry))))
                                 (reverse found))))
                ((equal? key (vector-ref (car rows) 0))
                 (loop (cdr rows) key
                       (cons (cons* (caar found) (vector-ref (car rows) 2) (cdar found))
                             (cdr found))))
                (else
                 (loop (cdr rows) (vector-ref (car rows) 0)
                       (cons (list (vector-ref (car rows) 1) (vector-ref (car rows) 2))
                             found)))))))

    ;;; Searching

    (define-record-type found
      (make-found title parts)
      found?
      (title found-title)
      ;; Texts, and lists of one text that was searched for.
      (parts found-parts))

    (define search-words-max 16)

    ;; The query for a user's text: each word as the beginning of one, all of which a page must
    ;; have. Quotation marks are the only thing that means something in a quoted word, and words
    ;; have none.
    (define (search-query text)
      (let ((words (string-words (string-filter (lambda (char) (char<=? #\space char)) text))))
        (string-join (map (lambda (word)
                            (string-append "\"" (string-join (string-split word #\") "") "\"*"))
                          (take words (min search-words-max (length words)))))))

    ;; Pages with all words of a text, the best first.
    (define* (search-pages store text #:optional (limit 50))
      (let ((query-text (search-query text)))
        (if (string-null? query-text)
            '()
            (reading store (db)
              (map (lambda (row)
                     (make-found (vector-ref row 0) (marked-parts (vector-ref row 1))))
                   (query db "select pages.title, snippet(words, 1, char(2), char(3), '…', 28)
                              from words join pages on pages.id = words.rowid
                              where words match ? order by bm25(words, 8.0, 1.0) limit ?"
                          query-text limit))))))

    (define open-mark #\x2)
    (define close-mark #\x3)

    (define (marked-parts text)
      (let ((parts (string-split text open-mark)))
        (cons (car parts)
              (append-map (lambda (part)
                            (let ((halves (string-split part close-mark)))
                              (cons (list (car halves)) (cdr halves))))
                          (cdr parts)))))

    ;;; Pictures

    (define-record-type picture
      (make-picture name type size author written)
      picture?
      (name picture-name)
      (type picture-type)
      (size picture-size)
      (author picture-author)
      (written picture-written))

    (define picture-columns
      "select pictures.name, type, length(bytes), users.name, written
       from pictures join users on users.id = author ")

    (define (row->picture row) (apply make-picture (vector->list row)))

    ;; Keeps a picture by a name, and gives whether nobody had that name.
    (define (add-picture! store name type bytes user)
      (guard (e ((unique-violation? e) #f))
        (writing store (db)
          (execute db "insert into pictures (name, type, bytes, author) values (?, ?, ?, ?)"
                   name type bytes (user-id user)))
        #t))

    ;; The type and the bytes of a picture, and a number that no other one ever has; or `#f` three
    ;; times.
    (define (picture-bytes store name)
      (reading store (db)
        (let ((row (query-row db "select type, bytes, id from pictures where name = ?" name)))
          (if row
              (values (vector-ref row 0) (vector-ref row 1) (vector-ref row 2))
              (values #f #f #f)))))

    (define (all-pictures store)
      (reading store (db)
        (map row->picture (query db (string-append picture-columns "order by pictures.name")))))

    (define (delete-picture! store name)
      (writing store (db) (execute db "delete from pictures where name = ?" name)))))
