// Package app is the program countd: it reads flags and environment, and wires
// the packages under pkg together. It has no logic of its own.
package app
