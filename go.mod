module github.com/countd/countd

go 1.26.0
