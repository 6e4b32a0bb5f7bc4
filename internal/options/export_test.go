package options

// Fields are the options of the table.
func Fields() (list []string) {
	for field := range table {
		list = append(list, field)
	}
	return list
}
