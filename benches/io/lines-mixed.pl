use strict;
use warnings;

open my $file, "<:encoding(UTF-8)", "inputs/mixed.txt" or die $!;
my $sum = 0;
while (my $line = <$file>) {
    chomp $line;
    $sum += length $line;
}
print "$sum\n";
