use strict;
use warnings;

open my $file, "<", "inputs/server.log" or die $!;
my $text = do { local $/; <$file> };
my $sum = 0;
while ($text =~ m{(\d+\.\d+\.\d+\.\d+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=(\d+)}g) {
    $sum += $4;
}
print "$sum\n";
