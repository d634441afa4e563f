use strict;
use warnings;

open my $file, "<:encoding(UTF-8)", "inputs/mixed.txt" or die $!;
my $text = do { local $/; <$file> };
print length($text), "\n";
