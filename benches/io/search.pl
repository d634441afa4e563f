use strict;
use warnings;

open my $file, "<", "inputs/server.log" or die $!;
my $sum = 0;
while (<$file>) {
    $sum += $4 if m{(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=(\d+)};
}
print "$sum\n";
