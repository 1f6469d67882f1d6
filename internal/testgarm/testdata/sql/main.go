// Sql runs statements on a sqlite file: sql FILE STATEMENT... It stands in
// testdata so that only those build it who ask for it: sqlite is C, and takes
// minutes with other flags than garm's.
package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "github.com/mattn/go-sqlite3"
)

func main() {
	db, err := sql.Open("sqlite3", "file:"+os.Args[1]+"?mode=rw&_busy_timeout=10000")
	if err != nil {
		fail(err)
	}
	db.SetMaxOpenConns(1) // ATTACH and locks belong to a connection
	for _, statement := range os.Args[2:] {
		if err := run(db, statement); err != nil {
			fail(fmt.Errorf("%s: %w", statement, err))
		}
	}
}

// run prints the first column of each row.
func run(db *sql.DB, statement string) error {
	rows, err := db.Query(statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values := make([]any, len(columns))
		for n := range values {
			values[n] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		fmt.Println(values[0].(*sql.NullString).String)
	}
	return rows.Err()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
