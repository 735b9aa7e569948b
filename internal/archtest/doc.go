// Package archtest holds countd to its architecture. It has tests only: who may
// import whom and who may not reach what, each with the reason; and what no
// package may do, such as keep state in package variables.
//
// A package that does not exist yet is checked from the day it appears; one that
// appears under pkg without a row in the table of TestImports fails it.
package archtest
