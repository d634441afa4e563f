// The same with Go's goroutines: go build ping-pong.go; ping-pong [TIMES]
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	times := 500000
	if len(os.Args) > 1 {
		times, _ = strconv.Atoi(os.Args[1])
	}
	ping, pong := make(chan int), make(chan int)
	began := time.Now()
	go func() {
		for i := 0; i < times; i++ {
			pong <- 1 + <-ping
		}
	}()
	number := 0
	for i := 0; i < times; i++ {
		ping <- number
		number = <-pong
	}
	if number != times {
		panic(number)
	}
	fmt.Println(time.Since(began).Nanoseconds() / int64(2*times))
}
