// Prints GOMAXPROCS at its start, works until it is another number, and prints that.
package main

import (
	"fmt"
	"runtime"
	"time"
)

func main() {
	first := runtime.GOMAXPROCS(0)
	fmt.Println(first)
	for begin := time.Now(); runtime.GOMAXPROCS(0) == first && time.Since(begin) < 50*time.Second; {
	}
	fmt.Println(runtime.GOMAXPROCS(0))
}
