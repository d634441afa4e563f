use strict;
use warnings;
use IO::Compress::Gzip qw(gzip $GzipError);

gzip "inputs/records.json" => "outputs/records.json.gz", -Level => 6 or die $GzipError;
print "done\n";
