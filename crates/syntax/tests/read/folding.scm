ABC #!fold-case ABC #\A #\SPACE |ABC| "ABC" #T #!no-fold-case ABC
