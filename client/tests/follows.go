// Prints GOMAXPROCS at its start, works until it is smaller, prints that, makes the file that its
// argument names, works until it is as large as before, and prints that.
package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {
	begin, first := time.Now(), runtime.GOMAXPROCS(0)
	within := func() bool { return time.Since(begin) < 50*time.Second }
	fmt.Println(first)
	for runtime.GOMAXPROCS(0) >= first && within() {
	}
	fmt.Println(runtime.GOMAXPROCS(0))
	os.WriteFile(os.Args[1], nil, 0o600)
	for runtime.GOMAXPROCS(0) < first && within() {
	}
	fmt.Println(runtime.GOMAXPROCS(0))
}
