package main

import (
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/testgarm"
)

// Our checks and the real garm's agree. garm looks at the e-mail address, the user name and the password in this order,
// so with a weak password its answer tells what it thinks of the others, and no admin is made.
func TestPolicyAgreesWithGarm(t *testing.T) {
	t.Parallel()
	config := testgarm.Config(t, t.TempDir())
	testgarm.StartGarm(t, config)
	ask := func(user, email string) string {
		return firstRunReason(t, testgarm.BaseURL(t, config), user, email, "weak")
	}
	names := []string{"admin", "Admin", "a", "0", "garm-admin", "ad_min", "a.b", "a b", " admin", "admin ", "管理", "ünï", "a\n", "a\x00", "½", "Ⅷ", "٣", "🦊",
		"e\u0301", "ß", "a@localhost", "", strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("ü", 32), strings.Repeat("ü", 33)}
	for _, name := range names {
		reason := ask(name, "a@localhost")
		ours := initializer.Credentials{Username: name, Email: "a@localhost"}.Validate()
		if garm := reason == "password is too weak"; garm != (ours == nil) {
			t.Errorf("user name %q: garm says %q, we say %v", name, reason, ours)
		}
	}
	mails := []string{"a@localhost", "admin@example.com", "a@x_y.z", "a@b ", " a@b", "a", "@b", "a@", "a@@b", "a@127.0.0.1", "a@[127.0.0.1]", "a@b.", "a@-b", "a@b-",
		"A+tag@B.C", "ü@b.c", "a@ü.c", "a@b\n", "", "a'b@c", "a\"b@c", strings.Repeat("a", 64) + "@b", strings.Repeat("a", 252) + "@b", strings.Repeat("a", 253) + "@b",
		"a@" + strings.Repeat("b", 63), "a@" + strings.Repeat("b", 64)}
	for _, mail := range mails {
		reason := ask("admin", mail)
		ours := initializer.Credentials{Username: "admin", Email: mail}.Validate()
		if garm := reason == "password is too weak"; garm != (ours == nil) {
			t.Errorf("e-mail address %q: garm says %q, we say %v", mail, reason, ours)
		}
	}
	// A password over 72 bytes is a 500 without a reason; 72 are accepted.
	long := strings.Repeat("kX9#mQ2$", 9)
	if reason := firstRunReason(t, testgarm.BaseURL(t, config), "admin", "a@localhost", long+"x"); reason != "" {
		t.Errorf("73 bytes: garm says %q, not nothing", reason)
	}
	if reason := firstRunReason(t, testgarm.BaseURL(t, config), "admin", "a@localhost", long); reason != "" {
		t.Errorf("72 bytes: garm says %q", reason)
	}
	if _, status := testgarm.API(t, testgarm.BaseURL(t, config)).Login("admin", long); status != 200 {
		t.Errorf("72 bytes: the login answers %d", status)
	}
}
