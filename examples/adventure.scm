#!/usr/bin/env canny
;;; The lighthouse: a small text adventure.
;;;
;;;     canny examples/adventure.scm
;;;
;;; Type `help` for the commands.  The game is data: rooms with exits, things with places, and a
;;; table of effects when a thing is used somewhere.

(import (scheme base)
        (scheme char)
        (scheme write))

;;; Text.

(define (say . parts)
  (for-each display parts)
  (newline))

(define (split-words line)
  (let loop ((chars (string->list (string-downcase line))) (word '()) (words '()))
    (define (words-so-far)
      (if (null? word)
          words
          (cons (string->symbol (list->string (reverse word))) words)))
    (cond ((null? chars) (reverse (words-so-far)))
          ((char-alphabetic? (car chars)) (loop (cdr chars) (cons (car chars) word) words))
          (else (loop (cdr chars) '() (words-so-far))))))

;;; The world.

(define-record-type room
  (make-room name title text exits)
  room?
  (name room-name)
  (title room-title)
  (text room-text)
  (exits room-exits set-room-exits!))

(define rooms
  (list
   (make-room 'beach "The beach"
              "Wet sand, and a storm coming in. The lighthouse stands dark to the north."
              '((north . door)))
   (make-room 'door "At the door"
              "An iron door in a white wall. The beach is south, a shed stands to the east."
              '((south . beach) (east . shed)))
   (make-room 'shed "The shed"
              "Nets, barrels, the smell of tar. The way out is west."
              '((west . door)))
   (make-room 'hall "The hall"
              "A round room. Stairs lead up; the door is south."
              '((south . door) (up . lamp)))
   (make-room 'lamp "The lamp room"
              "Glass on all sides, and in the middle the great lamp, cold. Stairs lead down."
              '((down . hall)))))

(define (find-room name)
  (let loop ((rest rooms))
    (if (eq? (room-name (car rest)) name)
        (car rest)
        (loop (cdr rest)))))

(define-record-type thing
  (make-thing name text place)
  thing?
  (name thing-name)
  (text thing-text)
  ;; The name of a room, `player` for what is carried, or `nowhere`.
  (place thing-place set-thing-place!))

(define things
  (list (make-thing 'key "a rusty key" 'shed)
        (make-thing 'can "a can of oil" 'shed)
        (make-thing 'matches "a box of matches" 'beach)))

(define (find-thing name)
  (let loop ((rest things))
    (cond ((null? rest) #f)
          ((eq? (thing-name (car rest)) name) (car rest))
          (else (loop (cdr rest))))))

(define (things-at place)
  (let loop ((rest things) (found '()))
    (cond ((null? rest) (reverse found))
          ((eq? (thing-place (car rest)) place) (loop (cdr rest) (cons (car rest) found)))
          (else (loop (cdr rest) found)))))

;;; The state of the game.

(define here (find-room 'beach))
(define lamp-filled? #f)
(define turns 0)

(define (carried? name)
  (let ((thing (find-thing name)))
    (and thing (eq? (thing-place thing) 'player))))

(define (in? room-wanted)
  (eq? (room-name here) room-wanted))

;;; Commands.  A command takes the rest of the words and the continuation that ends the game.

(define (look words quit)
  (say (room-title here))
  (say (room-text here))
  (for-each (lambda (thing) (say "There is " (thing-text thing) " here."))
            (things-at (room-name here))))

(define (go direction)
  (let ((exit (assq direction (room-exits here))))
    (if exit
        (begin
          (set! here (find-room (cdr exit)))
          (look '() #f))
        (say "You cannot go " direction "."))))

(define (take words quit)
  (let ((thing (and (pair? words) (find-thing (car words)))))
    (cond ((not thing) (say "Take what?"))
          ((eq? (thing-place thing) 'player) (say "You have it already."))
          ((eq? (thing-place thing) (room-name here))
           (set-thing-place! thing 'player)
           (say "Taken: " (thing-text thing) "."))
          (else (say "It is not here.")))))

(define (drop words quit)
  (if (and (pair? words) (carried? (car words)))
      (begin
        (set-thing-place! (find-thing (car words)) (room-name here))
        (say "Dropped."))
      (say "You do not have that.")))

(define (inventory words quit)
  (let ((things (things-at 'player)))
    (if (null? things)
        (say "You carry nothing.")
        (for-each (lambda (thing) (say "You carry " (thing-text thing) ".")) things))))

(define (use words quit)
  (cond ((null? words) (say "Use what?"))
        ((not (carried? (car words))) (say "You do not have that."))
        ((and (eq? (car words) 'key) (in? 'door))
         (set-room-exits! here (cons '(north . hall) (room-exits here)))
         (set-thing-place! (find-thing 'key) 'nowhere)
         (say "The lock gives way, and the key breaks in it. The door opens to the north."))
        ((and (eq? (car words) 'can) (in? 'lamp))
         (set! lamp-filled? #t)
         (set-thing-place! (find-thing 'can) 'nowhere)
         (say "The lamp drinks all of the oil."))
        ((and (eq? (car words) 'matches) (in? 'lamp))
         (if lamp-filled?
             (begin
               (say "The flame runs round the wick. Far out, a ship turns away from the rocks.")
               (quit 'won))
             (say "The wick is dry. The match goes out.")))
        (else (say "Nothing happens."))))

(define (help words quit)
  (say "Commands: look, north, south, east, west, up, down, take THING, drop THING,")
  (say "use THING, inventory, help, quit."))

(define (walker direction)
  (lambda (words quit) (go direction)))

(define commands
  (list (cons 'look look) (cons 'take take) (cons 'get take) (cons 'drop drop)
        (cons 'use use) (cons 'inventory inventory) (cons 'i inventory) (cons 'help help)
        (cons 'quit (lambda (words quit) (quit 'left)))
        (cons 'north (walker 'north)) (cons 'n (walker 'north))
        (cons 'south (walker 'south)) (cons 's (walker 'south))
        (cons 'east (walker 'east)) (cons 'e (walker 'east))
        (cons 'west (walker 'west)) (cons 'w (walker 'west))
        (cons 'up (walker 'up)) (cons 'u (walker 'up))
        (cons 'down (walker 'down)) (cons 'd (walker 'down))))

(define (obey words quit)
  (let ((command (assq (car words) commands)))
    (if command
        (begin
          (set! turns (+ turns 1))
          ((cdr command) (cdr words) quit))
        (say "I do not know how to " (car words) "."))))

;;; The game ends when a command calls its continuation, or when the input ends.

(define (play)
  (call-with-current-continuation
   (lambda (quit)
     (look '() quit)
     (let loop ()
       (display "> ")
       (flush-output-port)
       (let ((line (read-line)))
         (if (eof-object? line)
             'left
             (let ((words (split-words line)))
               (newline)
               (unless (null? words)
                 (obey words quit))
               (loop))))))))

(let ((ending (play)))
  (newline)
  (if (eq? ending 'won)
      (say "You lit the lamp in " turns " turns.")
      (say "The lighthouse stays dark.")))
