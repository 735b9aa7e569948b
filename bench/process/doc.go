// Package process runs what is measured in processes of their own, and tells what a
// process has taken of the machine.
//
// A program starts itself again, with other flags, so that what it measures shares no
// heap and no garbage collector with the API server, with its peers or with itself.
// A child ends when its standard input does, which it does with the process that has
// started it, however that one ends.
package process
