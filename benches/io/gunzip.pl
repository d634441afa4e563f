use strict;
use warnings;
use IO::Uncompress::Gunzip qw($GunzipError);

my $file = IO::Uncompress::Gunzip->new("inputs/server.log.gz") or die $GunzipError;
my $count = 0;
$count++ while defined $file->getline;
print "$count\n";
