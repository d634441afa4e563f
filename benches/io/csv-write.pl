use strict;
use warnings;

sub field {
    my ($text) = @_;
    return $text unless $text =~ /[",\r\n]/;
    return '"' . $text =~ s/"/""/gr . '"';
}

open my $file, ">:encoding(UTF-8)", "outputs/rows.csv" or die $!;
for my $i (0 .. 999999) {
    my @row = ($i, "name", $i % 2 == 0 ? "plain text" : "one, two", $i * 3, "end");
    print $file join(",", map { field($_) } @row), "\n";
}
close $file;
print -s "outputs/rows.csv", "\n";
