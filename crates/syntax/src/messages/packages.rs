//! Codes of packages.
//! A row says what a user can do about it; the words of one message stand where it is made.

use super::rows;

rows! { Packages:
"no-project" []
"There is no project here"
"A project is a directory with a `package.scm`. `canny new NAME` makes one. The commands of packages work in \
 it and in the directories below it."
"" => "";

"bad-manifest" []
"A manifest is not as it should be"
"`package.scm` is one datum, `(package FIELD …)`. The guide of packages lists the fields and what a \
 dependency looks like; Akku's files have a shape of their own. The message points at what is wrong."
"" => "";

"bad-version" []
"This is not a version"
"A version is numbers with dots between, and perhaps a word behind a dash: `1.2.3`, `1.0-beta.1`. Ranges of \
 versions are `^1.2`, `~1.2.3`, `>=1 <2`, `1.x` or `*`, with `||` between choices."
"" => "";

"bad-lock" []
"The lockfile is damaged"
"`package.lock` is written by Canny and not meant to be changed by hand. Take it from the version control, \
 or remove it and run `canny lock`."
"" => "";

"stale-lock" []
"The lockfile does not belong to the manifest"
"`package.scm` asks for other packages than `package.lock` was made for, or there are dependencies and no \
 lockfile, or the copies in `vendor` are older than the lockfile. `canny lock`, or `canny vendor` in the \
 last case, puts it right."
"" => "";

"missing-package" []
"A locked package is not on this machine"
"The lockfile names a package whose files are not there: they were never fetched on this machine, or were \
 removed. `canny lock` fetches what is locked; `canny vendor` keeps copies in the project."
"" => "";

"changed-package" []
"A package is not what was locked"
"The content of a package has another checksum than the lockfile says. Somebody changed the files, or the \
 archive or the tag means something else now. If that is intended, `canny update NAME` takes the new \
 content; else find out who changed it."
"" => "";

"package-conflict" []
"Packages do not fit together"
"Two packages ask for different sources or versions of a third, or have the same library. The message names \
 the packages and what they ask for. An entry of the project's own `package.scm` wins over what other \
 packages ask for."
"" => "";

"no-such-package" []
"There is no such package"
"No dependency has this name, or no index has a version that is asked for. Indexes are files of Snow or \
 Akku, named by `(indexes \"PATH\")` in `package.scm`."
"" => "";

"unreachable-package" []
"A package cannot be had"
"Its directory or archive is not there or cannot be read, or `git` or `curl`, which fetch from elsewhere, \
 fail. The message has what they said. With `--offline` nothing is fetched."
"" => "";

"bad-archive" []
"An archive cannot be unpacked"
"Packages come as tar archives, plain or compressed by gzip. The archive is damaged or something else, or \
 has what a package must not have: paths or links that lead out of it, devices, too many files or bytes."
"" => "";

"unusable-package" []
"Canny cannot use this package"
"It has no library in the form of R7RS. Libraries of R6RS, `(library …)`, cannot be used, nor those that \
 need compiled C."
"" => "";

"project-busy" []
"Another run is changing the project"
"Two commands that change `package.scm`, `package.lock` or `vendor` do not work in one project at the same \
 time. Try again when the other one is done."
"" => "";

"unwritable-project" []
"A file cannot be written"
"The system refuses to write a file of the project, or in the directory of packages. The previous content is \
 unchanged."
"" => "";
}
