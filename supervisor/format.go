package supervisor

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strings"
)

// What a file that the kernel refused looks like. Only read to explain an error, so a file that cannot be read yields
// nothing.

// elf is the start of a 64-bit little-endian ELF file (elf(5)). Other classes and byte orders are another architecture
// to us anyway.
type elf struct {
	Ident     [16]byte
	Type      uint16
	Machine   uint16
	Version   uint32
	Entry     uint64
	Phoff     uint64
	Shoff     uint64
	Flags     uint32
	Ehsize    uint16
	Phentsize uint16
	Phnum     uint16
}

// elfSegment is an entry of its program header table.
type elfSegment struct {
	Type, Flags                                uint32
	Offset, Vaddr, Paddr, Filesz, Memsz, Align uint64
}

const (
	elfMagic      = "\x7fELF"
	elfInterp     = 3 // PT_INTERP
	maxScriptLine = 256
)

// whyNoFormat explains ENOEXEC.
func whyNoFormat(path string) string {
	head := readHead(path)
	switch {
	case len(head) == 0:
		return "it is empty or cannot be read"
	case bytes.HasPrefix(head, []byte(elfMagic)):
		return "it is built for another architecture, or damaged"
	case bytes.IndexByte(head, 0) < 0:
		return "it looks like a script without a #! line"
	}
	return "it is not a program of a format that this kernel knows"
}

// interpreter returns " X" for the interpreter X which a script's first line or a dynamically linked program names,
// else "".
func interpreter(path string) string {
	head := readHead(path)
	if script, ok := strings.CutPrefix(string(head), "#!"); ok {
		line, _, _ := strings.Cut(script, "\n")
		if name, found := strings.CutSuffix(line, "\r"); found {
			return " " + strings.TrimSpace(name) + " followed by a carriage return (the script has DOS line ends)"
		}
		if fields := strings.Fields(line); len(fields) > 0 {
			return " " + fields[0]
		}
		return ""
	}
	if bytes.HasPrefix(head, []byte(elfMagic)) {
		return elfInterpreter(path)
	}
	return ""
}

func readHead(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, maxScriptLine)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}

// elfInterpreter returns " X" for the dynamic linker X of a program, such as /lib64/ld-linux-x86-64.so.2 in an image
// with musl.
func elfInterpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var header elf
	if binary.Read(f, binary.LittleEndian, &header) != nil {
		return ""
	}
	for i := range int64(header.Phnum) {
		var segment elfSegment
		at := io.NewSectionReader(f, int64(header.Phoff)+i*int64(header.Phentsize), int64(binary.Size(segment)))
		if binary.Read(at, binary.LittleEndian, &segment) != nil {
			return ""
		}
		if segment.Type == elfInterp && segment.Filesz < maxScriptLine {
			name := make([]byte, segment.Filesz)
			if _, err := f.ReadAt(name, int64(segment.Offset)); err != nil {
				return ""
			}
			return " " + string(bytes.TrimRight(name, "\x00"))
		}
	}
	return ""
}
