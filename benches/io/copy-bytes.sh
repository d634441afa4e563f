cat inputs/server.log | cat > outputs/server.log
wc -c < outputs/server.log
