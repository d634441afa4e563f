use strict;
use warnings;
use File::Copy;

copy("inputs/server.log", "outputs/server.log") or die $!;
print -s "outputs/server.log", "\n";
