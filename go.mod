module github.com/nextbatch/nextbatch

go 1.26
