(package
 (name commonplace)
 (version "0.1.0")
 (description "A small wiki for a household or a team.")
 (license "MIT OR Apache-2.0")
 (libraries ".")
 (depends))
