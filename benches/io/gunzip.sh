gzip -dc inputs/server.log.gz | wc -l
