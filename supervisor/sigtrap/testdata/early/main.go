// early is a program with heavy imports that takes its signals by package sigtrap.
package main

import (
	"fmt"

	_ "github.com/cloudbase/garm/client"

	"garm-entrypoint/supervisor/sigtrap"
)

func main() {
	fmt.Println("main")
	fmt.Println(<-sigtrap.Signals.Stops)
}
