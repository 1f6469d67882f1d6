// early is a program with heavy imports that takes its signals by package sigtrap.
package main

import (
	"fmt"
	"time"

	_ "github.com/cloudbase/garm/client"

	"garm-entrypoint/supervisor/sigtrap"
)

func main() {
	fmt.Println("main")
	sigtrap.Signals.Wait(time.Time{})
	next, _ := sigtrap.Signals.Next()
	fmt.Println(next.Signal)
}
