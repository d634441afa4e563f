use strict;
use warnings;
use IO::Socket::INET;

sub transfer {
    my ($from, $to, $piece) = @_;
    for (my $sent = 0; $sent < length $piece;) {
        $sent += syswrite $to, $piece, length($piece) - $sent, $sent;
    }
    my $received = "";
    while (length $received < 65536) {
        sysread $from, $received, 65536 - length $received, length $received or die $!;
    }
    return $received;
}

my $listener = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => 0, Listen => 1) or die $!;
my $client = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $listener->sockport) or die $!;
my $server = $listener->accept;
my $piece = chr(7) x 65536;
my $sum = 0;
for (1 .. 16384) {
    $piece = transfer($server, $client, $piece);
    $piece = transfer($client, $server, $piece);
    $sum += length $piece;
}
print "$sum\n";
