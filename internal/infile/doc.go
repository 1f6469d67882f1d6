// Package infile reads the files that users name: regular ones, of a bounded size, without ever blocking. What we write
// ourselves is durable's business.
package infile
