"""What stands in quotes, substitutions, comments and here-documents is text, however it looks."""

import pytest

from popkit_retention.core.policy.commandline import quoting, shell

QUOTED = [
    (r"a 'b\' c", ["a", "b\\", "c"]),
    (r"a 'b\'\'c d", ["a", "b\\'c", "d"]),
    (r"a \"b c\"", ["a", '"b', 'c"']),
    (r"a \\ b", ["a", "\\", "b"]),
    (r"a \$x \`b\` \#c \;", ["a", "$x", "`b`", "#c", ";"]),
    (r"a b\&\&c \( \> \|", ["a", "b&&c", "(", ">", "|"]),
    ("a b\\\nc", ["a", "bc"]),
    ("a b\\ c\\\n d", ["a", "b c", "d"]),
    ("a b\\", ["a", "b"]),
    ('a "b\nc" d', ["a", "b\nc", "d"]),
    ('a "b\\\nc" d', ["a", "bc", "d"]),
    (r'a "b \\" c', ["a", "b \\", "c"]),
    (r'a "b\\\" c" d', ["a", 'b\\" c', "d"]),
    (r'a "\$x" "\`" "\a" "\\\\" "\"\""', ["a", "$x", "`", "\\a", "\\\\", '""']),
    (r'a "\\$x" "\\`b`"', ["a", "\\$x", "\\`b`"]),
    ('a "it\'s" b', ["a", "it's", "b"]),
    ("a 'b;c|d&e>f<g(h)' i", ["a", "b;c|d&e>f<g(h)", "i"]),
    ('a "b;c|d&e>f<g(h)" i', ["a", "b;c|d&e>f<g(h)", "i"]),
    ("a b\"c\"d'e'f", ["a", "bcdef"]),
    ("a \"\" '' $''", ["a", "", "", ""]),
    # Where a backslash counts in single quotes.
    ("a $'b' c", ["a", "b", "c"]),
    (r"a $'b\\c' $'d\\' $'e\\\'f' g", ["a", "b\\c", "d\\", "e\\'f", "g"]),
    (r"a $'it\'s' d", ["a", "it's", "d"]),
    (r"a $'b\'\'c' d", ["a", "b''c", "d"]),
    (r"""a $'\"\?\d\.'""", ["a", '"?\\d\\.']),
    (r"a $'b''c'$'\n'd", ["a", "bc\nd"]),
    (r"a $'#b' $'c;d' e", ["a", "#b", "c;d", "e"]),
    (r"""a "$'b'" c""", ["a", "$'b'", "c"]),
    # A substitution is one word, with all that stands in it.
    ("a $(b $'c\\')' d) e", ["a", "$(b $'c\\')' d)", "e"]),
    ("a $(b 'c)' \"d)\" \\) e) f", ["a", "$(b 'c)' \"d)\" \\) e)", "f"]),
    ("a $(b (c) d) e", ["a", "$(b (c) d)", "e"]),
    ("a $(b; (c; d) | e) f", ["a", "$(b; (c; d) | e)", "f"]),
    ("a $(b <(c) >(d)) e", ["a", "$(b <(c) >(d))", "e"]),
    ("a $(b `c )` d) e", ["a", "$(b `c )` d)", "e"]),
    ("a $(b ${c:-)} d) e", ["a", "$(b ${c:-)} d)", "e"]),
    ("a $(b } c) d", ["a", "$(b } c)", "d"]),
    ("a `b \\`c\\` d` e", ["a", "`b \\`c\\` d`", "e"]),
    ("a b$(c d)e f", ["a", "b$(c d)e", "f"]),
    ("a <(b 'c)') d", ["a", "<(b 'c)')", "d"]),
    ("a >(b (c) d) e", ["a", ">(b (c) d)", "e"]),
    # So is it in double quotes, whose own quotes it may hold.
    ('a "b $(c "d e" f) g" h', ["a", 'b $(c "d e" f) g', "h"]),
    ('a "b `c "d e" f` g" h', ["a", 'b `c "d e" f` g', "h"]),
    ('a "b ${c:-"d e"} f" g', ["a", 'b ${c:-"d e"} f', "g"]),
    ('a "b $(c \')"\' d) e" f', ["a", "b $(c ')\"' d) e", "f"]),
    ('a "b ${c:-\'} d" e', ["a", "b ${c:-'} d", "e"]),
    ('a "b ${c#d} # e" f', ["a", "b ${c#d} # e", "f"]),
    ('a "b (c" "d)" e', ["a", "b (c", "d)", "e"]),
    ('a "b << c" d', ["a", "b << c", "d"]),
    ('a "b } c" d', ["a", "b } c", "d"]),
    ('a "$(b # c "\n)" d', ["a", '$(b # c "\n)', "d"]),
    ('a "$(b <<E\nc) "\nE\n) d" e', ["a", '$(b <<E\nc) "\nE\n) d', "e"]),
    # And a variable with what is done to it.
    ("a ${b} ${#c} ${d#e} ${f//\\}/g} h", ["a", "${b}", "${#c}", "${d#e}", "${f//\\}/g}", "h"]),
    ("a ${b:-'c } d'} e", ["a", "${b:-'c } d'}", "e"]),
    ("a ${b:-${c:-d e}} f", ["a", "${b:-${c:-d e}}", "f"]),
    ("a ${b:-(c} d", ["a", "${b:-(c}", "d"]),
    ("a ${b:-<<c} d", ["a", "${b:-<<c}", "d"]),
    ("a ${b:-$(c })} d", ["a", "${b:-$(c })}", "d"]),
    ("a ${b/;/&} c", ["a", "${b/;/&}", "c"]),
    # Arithmetic.
    ("a $((1 + (2 << 3))) b", ["a", "$((1 + (2 << 3)))", "b"]),
    ("a $(((1 + 2) * (3 + 4))) $(((1))) b", ["a", "$(((1 + 2) * (3 + 4)))", "$(((1)))", "b"]),
    ("a $(b $((1 + (2)))) c", ["a", "$(b $((1 + (2))))", "c"]),
    ("a $(b $((1 + (2) * 3))) c", ["a", "$(b $((1 + (2) * 3)))", "c"]),
    ("a $((1)) $((2)) b", ["a", "$((1))", "$((2))", "b"]),
    ('a "$((1 << 2)) b" c', ["a", "$((1 << 2)) b", "c"]),
    ("a $(b $((1 << 2)) c) d", ["a", "$(b $((1 << 2)) c)", "d"]),
    ("a $((b) | c) d", ["a", "$((b) | c)", "d"]),
    ("((1 << 2 && 3 > 4))", ["((1 << 2 && 3 > 4))"]),
    ("((a + (b << 1)))", ["((a + (b << 1)))"]),
    # Braces and brackets that belong to a word.
    ("a {b} }c {d,e}", ["a", "{b}", "}c", "{d,e}"]),
]


@pytest.mark.parametrize(("line", "words"), QUOTED)
def test_quoted_text_is_part_of_its_word(line, words):
    assert [command.words for command in shell.parse(line)] == [words]


@pytest.mark.parametrize(
    ("letter", "character"),
    [
        ("n", "\n"),
        ("t", "\t"),
        ("r", "\r"),
        ("a", "\x07"),
        ("b", "\x08"),
        ("f", "\x0c"),
        ("v", "\x0b"),
        ("e", "\x1b"),
        ("E", "\x1b"),
        ("'", "'"),
        ('"', '"'),
        ("?", "?"),
        ("\\", "\\"),
        (".", "\\."),
    ],
)
def test_an_escape_stands_for_its_character(letter, character):
    [command] = shell.parse(f"a $'x\\{letter}y\\{letter}' z")
    assert command.words == ["a", f"x{character}y{character}", "z"]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a # b", [["a"]]),
        ("# a\nb", [["b"]]),
        ("a\t# b", [["a"]]),
        ("a\r# b", [["a"]]),
        ("a;# b", [["a"]]),
        ("a&# b", [["a"]]),
        ("a|# b\nc", [["a"], ["c"]]),
        ("(# a\nb)# c", [["b"]]),
        ("a # b 'c\nd 'e'", [["a"], ["d", "e"]]),
        ("a # b \\\nc", [["a"], ["c"]]),
        ("a # $(b `c\nd", [["a"], ["d"]]),
        ("a # <<b\nc", [["a"], ["c"]]),
        ("a#b 'c'", [["a#b", "c"]]),
        ("a#'b c'#'d'", [["a#b c#d"]]),
        ("a 'b'#c", [["a", "b#c"]]),
        ("a {#b", [["a", "{#b"]]),
        ("a $#", [["a", "$#"]]),
        ("a \\#b # c", [["a", "#b"]]),
        ("a $(b #)\n) c", [["a", "$(b #)\n)", "c"]]),
        ("a $(b# c) d", [["a", "$(b# c)", "d"]]),
        ("a `b # c\n` d", [["a", "`b # c\n`", "d"]]),
    ],
)
def test_a_comment_begins_a_word_and_ends_with_its_line(line, commands):
    assert [command.words for command in shell.parse(line)] == commands


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        # Where the delimiter ends, and the body.
        ("a <<E b\n1\nE\nc", [("a b", ["1\n"]), ("c", [])]),
        ("a << E\n1\nE", [("a", ["1\n"])]),
        ("a <<\tE\n1\nE", [("a", ["1\n"])]),
        ("a <<E \\\nb\n1\nE\nc", [("a b", ["1\n"]), ("c", [])]),
        ("a <<E;b\n1\nE", [("a", ["1\n"]), ("b", [])]),
        ("a <<E|b\n1\nE", [("a", ["1\n"]), ("b", [])]),
        ("a <<E&b\n1\nE", [("a", ["1\n"]), ("b", [])]),
        ("a <<E>b\n1\nE", [("a", ["1\n", "b"])]),
        ("a <<E<b\n1\nE", [("a", ["1\n", "b"])]),
        ("(a <<E)\n1\nE\nb", [("a", ["1\n"]), ("b", [])]),
        ("a <<'E F' b\n1\nE F\nc", [("a b", ["1\n"]), ("c", [])]),
        ('a <<"E" b\n1\nE\nc', [("a b", ["1\n"]), ("c", [])]),
        ("a <<\\E b\n1\nE\nc", [("a b", ["1\n"]), ("c", [])]),
        # It ends with a line that is its delimiter and no more.
        ("a <<E\nE1\n1E\n E\nE \nE\nb", [("a", ["E1\n1E\n E\nE \n"]), ("b", [])]),
        ("a <<E\n\tE\nE\nb", [("a", ["\tE\n"]), ("b", [])]),
        ("a <<-E\n\t1\n\t\tE\nb", [("a", ["\t1\n"]), ("b", [])]),
        ("a <<-E\n E\nE\nb", [("a", [" E\n"]), ("b", [])]),
        ("a <<- 'E'\n1\n\tE\nb", [("a", ["1\n"]), ("b", [])]),
        ("a <<E\r\n1\r\nE\r\nb", [("a", ["1\r\n"]), ("b", [])]),
        ("a <<E\nE\nb", [("a", [""]), ("b", [])]),
        ("a <<E\n\n\nE\nb", [("a", ["\n\n"]), ("b", [])]),
        ("a <<''\n1\n\nb", [("a", ["1\n"]), ("b", [])]),
        ("a <<E\n1", [("a", ["1"])]),
        ("a <<E", [("a", [""])]),
        ("a <<E\n1\nE", [("a", ["1\n"])]),
        # Several stand one below the other.
        ("a <<E <<F; b <<G\n1\nE\n2\nF\n3\nG\nc", [("a", ["1\n", "2\n"]), ("b", ["3\n"]), ("c", [])]),
        ("a <<E\n1\nE\nb <<E\n2\nE", [("a", ["1\n"]), ("b", ["2\n"])]),
        # What stands in them is text, and what looks like one is none.
        ("a <<E\n'\"$(`#\nE\nb 'c'", [("a", ["'\"$(`#\n"]), ("b c", [])]),
        ("a '<<E'\nb", [("a <<E", []), ("b", [])]),
        ("a <<<E\nb", [("a", ["E"]), ("b", [])]),
        ("a <<<'b c' d", [("a d", ["b c"])]),
        ("a $((1<<2))\nb", [("a $((1<<2))", []), ("b", [])]),
        ("a \\<<E\nb", [("a <", ["E"]), ("b", [])]),
        ("a $(b <<E\n)\nE\n) c", [("a $(b <<E\n)\nE\n) c", [])]),
        ("a 3<<E\n1\nE\nb", [("a 3", ["1\n"]), ("b", [])]),
    ],
)
def test_a_here_document_ends_where_the_shell_ends_it(line, commands):
    told = [(" ".join(command.words), [target for _, target in command.redirects]) for command in shell.parse(line)]
    assert told == commands


@pytest.mark.parametrize(
    "line",
    ['a "b $(c"', 'a "b `c"', 'a "${b"', "a `b $(c`", "a $(b 'c)", 'a $(b "c)', "a <<'E\n1", 'a <<"E\n1', "a $(b (c)", "a >(b", "a $'b\\'"],
)
def test_a_line_whose_quoting_never_ends_has_no_commands(line):
    assert shell.parse(line) == []


@pytest.mark.parametrize("line", ["a <<E\n1\nE\nb", "a $((1)) # b", "a \"b\" 'c' $(d) ${e} `f` \\g $'h' <(i) ((j)) (k)"])
def test_what_is_held_takes_the_place_of_its_number(line):
    held: list[str] = []
    text = quoting.Scanner(line, held).scan()
    assert text is not None
    assert text.count("\0") == 2 * len(held)
    assert not set("\"'`\\#").intersection(text)


@pytest.mark.parametrize("piece", ['"$(', "$(", "${x:-", '`"', "<("])
def test_what_is_nested_deeper_than_anybody_nests_is_not_read(piece):
    ends = {'"$(': ')"', "$(": ")", "${x:-": "}", '`"': '"`', "<(": ")"}[piece]
    brackets = len(ends)
    fits = 51 // brackets
    assert len(shell.parse("a " + piece * fits + "b" + ends * fits)) == 1
    assert shell.parse("a " + piece * (fits + 1) + "b" + ends * (fits + 1)) == []
