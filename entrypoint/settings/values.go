package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// check says what is wrong with a value of a kind; the value itself is not shown for kinds that may hold secrets.
func (k kind) check(value string) error {
	switch k {
	case toggle:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
	case span:
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30s or 5m", value)
		}
		if d < 0 {
			return fmt.Errorf("%q is negative", value)
		}
	case octal:
		if n, err := strconv.ParseUint(value, 8, 32); err != nil || n > 0o777 {
			return fmt.Errorf("%q is not an octal number from 0000 to 0777", value)
		}
	case path:
		if strings.ContainsRune(value, 0) {
			return errors.New("it holds a NUL byte")
		}
	}
	return nil
}

// The values below have passed check.

func isTrue(v string) bool {
	b, _ := strconv.ParseBool(v)
	return b
}

func duration(v string) time.Duration {
	d, _ := time.ParseDuration(v)
	return d
}

func umask(v string) int {
	n, _ := strconv.ParseUint(v, 8, 32)
	return int(n)
}
