package provision

import (
	"fmt"
	"strings"
)

// Reference renders the Markdown tables of all kinds and their fields, in the order of Kinds.
func Reference() string {
	var out strings.Builder
	for _, k := range Kinds {
		if k.Derived {
			continue
		}
		fmt.Fprintf(&out, "### %s\n\n%s: %s.%s\n\n| Key | Value | Meaning |\n| --- | --- | --- |\n", k.Name, k.headers(), k.Help, onlyAt(k.forge))
		for _, f := range k.Fields {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", f.keys(), cell(f.value()), cell(f.meaning(k)))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// headers are the tables that the kind stands in.
func (k *Kind) headers() string {
	if k.Single {
		return "`[" + k.Name + "]`"
	}
	if len(k.In) == 0 {
		return "`[[" + k.Name + "]]`"
	}
	var all []string
	for _, in := range k.In {
		all = append(all, "`[["+in+"."+k.Name+"]]`")
	}
	return strings.Join(all, ", ")
}

func onlyAt(forge string) string {
	switch forge {
	case gitHub:
		return " GitHub only."
	case gitea:
		return " Gitea only."
	}
	return ""
}

// keys are the forms of a field in files.
func (f Field) keys() string {
	switch {
	case f.Type == Secret:
		return fmt.Sprintf("`%s_file`, `%s_env`, `%s`", f.Name, f.Name, f.Name)
	case f.Type == File:
		return fmt.Sprintf("`%s`, `%s`", f.Name, f.Wire)
	}
	return "`" + f.Name + "`"
}

func (f Field) value() string {
	switch {
	case f.Type == Secret:
		return "path, variable, or in clear"
	case f.Type == File:
		return "path, or the content itself"
	case f.Choices != nil:
		return strings.Join(f.Choices, ", ")
	}
	return f.Type.String()
}

// meaning is the help, and what the table of kinds says beside it.
func (f Field) meaning(k *Kind) string {
	notes := []string{f.Help}
	_, adopted := k.field("id")
	switch {
	case f.RequiredNew && adopted:
		notes = append(notes, "required, unless id adopts one")
	case f.Required || f.RequiredNew:
		notes = append(notes, "required")
	}
	if f.Forge != "" {
		notes = append(notes, strings.Trim(onlyAt(f.Forge), " ."))
	}
	if f.Fixed != "" {
		notes = append(notes, "cannot be changed")
	}
	return strings.Join(notes, "; ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
