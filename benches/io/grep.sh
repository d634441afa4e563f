LC_ALL=C grep -cE '([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+) (ERROR|WARN) "GET /([a-z]+)/sigma\?id=([0-9]+)' inputs/server.log
