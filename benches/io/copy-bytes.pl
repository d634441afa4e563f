use strict;
use warnings;

open my $input, "<:raw", "inputs/server.log" or die $!;
open my $output, ">:raw", "outputs/server.log" or die $!;
while (read $input, my $piece, 65536) {
    print $output $piece;
}
close $output;
print -s "outputs/server.log", "\n";
