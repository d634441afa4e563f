use strict;
use warnings;

# Perl comes without a reader of CSV: fields by a regular expression; no field has a line end.
open my $file, "<:encoding(UTF-8)", "inputs/rows.csv" or die $!;
my $sum = 0;
while (my $line = <$file>) {
    chomp $line;
    my @row;
    while ($line =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g) {
        my ($quoted, $plain, $end) = ($1, $2, $3);
        push @row, defined $quoted ? $quoted =~ s/""/"/gr : $plain;
        last if $end eq "";
    }
    $sum += length $row[7];
}
print "$sum\n";
