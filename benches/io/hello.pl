print "Hello, world!\n";
