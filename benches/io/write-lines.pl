use strict;
use warnings;

open my $file, ">:encoding(UTF-8)", "outputs/lines.txt" or die $!;
for my $i (0 .. 999999) {
    print $file "line ", $i, "\n";
}
close $file;
print -s "outputs/lines.txt", "\n";
