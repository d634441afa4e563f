;;; (wiki welcome): the pages that a new wiki begins with.

(define-library (wiki welcome)
  (export first-page-title welcome-pages)
  (import (canny base))
  (begin

    (define first-page-title "Home")

    (define welcome-pages
      '(("Home" . "A *commonplace book* is where people keep what they want to find again: \
                   recipes, plans, addresses, how the heating works, what the doctor said.

This page is the first one that everybody sees. **Change it**: what it says now is only a beginning.

# Where to go from here

- [[A first page]] shows what pages can look like.
- Put a name between double brackets, as in `[[Garden]]`, and it is a link. When nobody has \
written that page yet, following the link is how to begin it.
- Nothing that was saved is ever lost: each page has its *History*.

> Memory is the mother of all wisdom.

")
        ("A first page" . "# Lists

What has to be done before winter:

- [x] clean the gutters
- [ ] have the chimney swept
- [ ] bring the plants in
  - the lemon tree first

# Tables

| Tea | Water | Minutes |
|---|---|---|
| Green | 75 °C | 2 |
| Oolong | 90 °C | 3 |
| Black | 95 °C | 4 |

# Words

Some are *slanted*, some are **strong**, some are ~~gone~~, and `some are code`. Links lead to \
[[Home]], to pages [[nobody has written]], or [elsewhere](https://example.org/).
")))))
