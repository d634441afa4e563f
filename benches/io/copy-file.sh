cp inputs/server.log outputs/server.log
wc -c < outputs/server.log
