use strict;
use warnings;

open my $file, "<", "inputs/server.log" or die $!;
my $count = 0;
while (<$file>) {
    $count++ if m{(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=(\d+)};
}
print "$count\n";
