"""A command line becomes the commands that the shell would run."""

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from popkit_retention.core.policy.commandline import brackets, shell
from tests.work import steps

WORDS = [
    ("ls", [["ls"]]),
    ("  ls   -la  ", [["ls", "-la"]]),
    ("a && b || c; d", [["a"], ["b"], ["c"], ["d"]]),
    ("a;b&&c|d", [["a"], ["b"], ["c"], ["d"]]),
    ("a\nb\n\nc", [["a"], ["b"], ["c"]]),
    ("""a 'b c' "d e" f'g'"h" ''""", [["a", "b c", "d e", "fgh", ""]]),
    (r"a\ b c\"d \'", [["a b", 'c"d', "'"]]),
    (r'"a\"b" "c\d" "\$x" "\\"', [['a"b', "c\\d", "$x", "\\"]]),
    (r"""grep 'a\|b' "c\|d" f""", [["grep", "a\\|b", "c\\|d", "f"]]),
    (r"a $'b\n\'c' d", [["a", "b\n'c", "d"]]),
    ("a \\\n  b", [["a", "b"]]),
    ("a $(b 'c )' \"d\") e", [["a", "$(b 'c )' \"d\")", "e"]]),
    ("a `b c` e", [["a", "`b c`", "e"]]),
    ('a "$(b "c")" e', [["a", '$(b "c")', "e"]]),
    ("a ${b:-'c d'} ${e}", [["a", "${b:-'c d'}", "${e}"]]),
    ("diff <(a b) >(c)", [["diff", "<(a b)", ">(c)"]]),
    ("a $((1 << 2)) b", [["a", "$((1 << 2))", "b"]]),
    ("a # it's a comment\nb#c", [["a"], ["b#c"]]),
    ("a $(b # c\n) d", [["a", "$(b # c\n)", "d"]]),
    ("a\x00b c; >", [["ab", "c"]]),
    ("# only a comment", []),
    ("(a; b) && (c)", [["a"], ["b"], ["c"]]),
    ("{ a; b; }", [["a"], ["b"]]),
    ("! a", [["a"]]),
    ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
    ("for x in 1 2 '3 4'; do a \"$x\"; done", [["a", "1"], ["a", "2"], ["a", "3 4"]]),
    ("for x in 1 2 '3 4'; do a $x; done", [["a", "$x"]]),
    ("for x in 1 2; do x=$x.txt; a $x; done", [["a", "$x"]]),
    ("for x in 1 2; do x+=a; a $x; done", [["a", "$x"]]),
    ("for x in 1 2; do read x; a $x; done", [["read", "x"], ["a", "$x"]]),
    ("for x in 1 2; do xy=a; a $x; done", [["a", "1"], ["a", "2"]]),
    ('for x in 1 2\ndo\na "${x}y $xy"\nb\ndone; c $x', [["a", "1y $xy"], ["b"], ["a", "2y $xy"], ["b"], ["c", "$x"]]),
    ("for x in a b; do for y in 1 2; do c $x$y; done; done", [["c", "a1"], ["c", "a2"], ["c", "b1"], ["c", "b2"]]),
    ("for x in $y; do a $x; done; for x in *.py; do a $x; done; for x in {1..3}; do a $x; done", [["a", "$x"]] * 3),
    ("for x in 1 2; do a $x || break; done; for x; do a $x; done", [["a", "$x"], ["break"], ["a", "$x"]]),
    ("for x in 1 2; do (cd $x && a); done", [["cd", "$x"], ["a"]]),
    ("for x in 1 2; do a $x || break 2; done", [["a", "$x"], ["break", "2"]]),
    ("for x in 1 2; do a; done", [["a"]]),
    ("for x do a; done; for y in 1 2; do b $y; done", [["a"], ["b", "1"], ["b", "2"]]),
    ("tee >(b c) d", [["tee", ">(b c)", "d"]]),
    ("a <(b c) d", [["a", "<(b c)", "d"]]),
    ("((a < b)); c", [["((a < b))"], ["c"]]),
    ("(a", [["a"]]),
    ("for x in " + "1 " * 80 + "; do a $x; done", [["a", "$x"]]),
    ("for x in " + "1 " * 65 + "; do a $x; done", [["a", "$x"]]),
    ("for x in " + "1 " * 64 + "; do a $x; done", [["a", "1"]] * 64),
    ("for x in " + "1 " * 32 + "; do a $x; b; done", [["a", "1"], ["b"]] * 32),
    ("for x in " + "1 " * 33 + "; do a $x; b; done", [["a", "$x"], ["b"]]),
    ("for ((i=0; i<3; i++)); do a; done", [["a"]]),
    ("while read x; do a; done < f", [["read", "x"], ["a"]]),
    ("until a; do sleep 1; done", [["a"], ["sleep", "1"]]),
    ("case $x in a|b) c;; *) d ;; esac; e", [["c"], ["d"], ["e"]]),
    ("case $x in\n  (a) c\n  ;;\nesac\ne", [["c"], ["e"]]),
    ("f() { a; }; function g { b; }", [["a"], ["b"]]),
    ("[[ -f a && b < c ]] && d", [["[[", "-f", "a", "b", "]]"], ["d"]]),
    ("x=(a b c) d", [["d"]]),
    ("y=1 x=(a b c) d", [["d"]]),
    ("a 2>&1 >b <c 2>/dev/null", [["a"]]),
    ("a &>b", [["a"]]),
    ("a&b&", [["a"], ["b"]]),
    ("find . \\( -name 'a' \\) -exec b {} \\;", [["find", ".", "(", "-name", "a", ")", "-exec", "b", "{}", ";"]]),
    ("cat <<EOF\nit's (not\nEOF\na", [["cat"], ["a"]]),
    ("cat <<'EOF' && a\n$x\"\nEOF\nb", [["cat"], ["a"], ["b"]]),
    ("cat <<-EOF\n\tx\n\tEOF\nb", [["cat"], ["b"]]),
    ("cat <<A <<B\na\nA\nb'\nB\nc", [["cat"], ["c"]]),
    ("cat <<<'a b' | c", [["cat"], ["c"]]),
    (
        "git commit -m \"$(cat <<'EOF'\nfix: don't (break\nEOF\n)\" && a",
        [["git", "commit", "-m", "$(cat <<'EOF'\nfix: don't (break\nEOF\n)"], ["a"]],
    ),
    ("cat > f <<EOF\nnever ended", [["cat"]]),
    ("", []),
    ("   \n ; ", []),
]


@pytest.mark.parametrize(("line", "words"), WORDS)
def test_words_are_what_the_shell_would_run(line, words):
    assert [command.words for command in shell.parse(line) if command.words] == words


@pytest.mark.parametrize("line", ["'", '"a', "a 'b", "$(a", "a `b", "${a", '"$(a"', "$'a\\'", "<(a", "a <<'E"])
def test_broken_quoting_gives_no_commands(line):
    assert shell.parse(line) == []


@pytest.mark.parametrize(
    ("line", "redirects"),
    [
        ("a 2>&1", [("2>&", "1")]),
        ("a >b", [(">", "b")]),
        ("a >> b 2> c", [(">>", "b"), ("2>", "c")]),
        ("a &>b", [("&>", "b")]),
        ("a >&2", [(">&", "2")]),
        ("a <b>c", [("<", "b"), (">", "c")]),
        ("a>b", [(">", "b")]),
        ("a >| b", [(">", "b")]),
        ("a > 'b c'", [(">", "b c")]),
        ("a <<<\"b c\"", [("<<<", "b c")]),
        ("a <<E >f\nbody\nE\n", [("<<", "body\n"), (">", "f")]),
        ("a 'b>c' \"2>&1\"", []),
        ("> f", [(">", "f")]),
    ],
)  # fmt: skip
def test_redirections_leave_the_words(line, redirects):
    [command] = shell.parse(line)
    assert redirects == command.redirects
    assert not any("<" in word or ">" in word for word in command.words if "c" not in word and "1" not in word)


def test_assignments_stand_apart():
    """Only those in front of the program are assignments."""
    [command] = shell.parse("A=1 B='x y' C+=2 env D=3")
    assert command.assignments == ["A=1", "B=x y", "C+=2"]
    assert command.words == ["env", "D=3"]


def test_stages_count_along_a_pipeline():
    assert [command.stage for command in shell.parse("a | b |& c && d | e || f; (g | h)")] == [0, 1, 2, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("sign", ["&&", "||", "|", "|&"])
@pytest.mark.parametrize("line", ["a {} b", "(a) {} b", "(a {} b)"])
@pytest.mark.parametrize("between", ["\n", " \n\n", " # a comment\n# and another\n\n  "])
def test_a_list_and_a_pipeline_go_on_in_the_next_line(sign, line, between):
    def told(line):
        return [(one.words, one.stage, one.joined, [[to.words for to in outlet] for outlet in one.outlets]) for one in shell.parse(line)]

    assert told(line.format(sign + between)) == told(line.format(sign))


def test_groups_name_subshells():
    """Commands of one subshell share a group; the next subshell has another."""
    before, first, second, inner, other, after = [command.group for command in shell.parse("a; (b; c; (d)); (e); f")]
    assert before == after == ()
    assert first == second == inner[:-1]
    assert len({first, inner, other, ()}) == 4


@pytest.mark.parametrize(
    ("line", "behind"),
    [
        ("(a; b) | c", [["c"], ["c"], []]),
        ("{ a; b; } > f 2>&1", [[">f 2>&1"], [">f 2>&1"], []]),
        ("((a) | b; c) | d", [["b", "d"], ["d"], ["d"], []]),
        ("for x in 1 2; do a; done | b", [["b"], []]),
        ("(a) | b; (c); d | e", [["b"], [], [], [], []]),
        ("(a) && b | c", [[], [], []]),
    ],
)
def test_what_stands_in_brackets_leaves_by_what_stands_behind_them(line, behind):
    def text(command):
        return " ".join([*command.words, *[operator + target for operator, target in command.redirects]])

    assert [[text(stage) for outlet in command.outlets for stage in outlet] for command in shell.parse(line)] == behind


PLAIN = st.text(alphabet=st.characters(blacklist_characters="\x00"), max_size=20)


@given(st.lists(PLAIN, max_size=8))
@example(["a\nb", "'", '"', "\\", "$(", "#", "", "\ud800"])
def test_quoted_words_come_back(words):
    [command] = shell.parse(shlex.join(["cmd", *words]))
    assert ["cmd", *words] == command.words


@given(st.lists(st.lists(PLAIN, max_size=4), min_size=1, max_size=5), st.sampled_from([" && ", ";", " || ", "\n", " & "]))
def test_lists_split_at_operators_only(commands, operator):
    line = operator.join(shlex.join(["cmd", *words]) for words in commands)
    assert [["cmd", *words] for words in commands] == [command.words for command in shell.parse(line)]


PIECES = st.sampled_from(
    ["'", '"', "\\", "`", "$(", "${", "$'", "<<", "<<-", "<(", "((", "))", "(", ")", "{", "}", "#", "\n", ">", "<", "&", "|", ";", ";;",
     " ", "a", "b=", "EOF", "for", "in", "do", "case", "esac", "if", "[[", "]]", "function", "1", "\t", "\x00", "\ud800", "é"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)))
def test_never_raises(line):
    for command in shell.parse(line):
        assert command.words or command.assignments or command.redirects
        assert command.stage >= 0


@given(st.lists(PIECES, max_size=40).map("".join))
def test_the_short_way_and_the_long_way_agree(line):
    """Lines without structure are read by splitting; the token reader gives the same."""
    held: list[str] = []
    text = shell.without_quoting(line.replace("\x00", ""), held)
    if text is None or "(" in text or ")" in text or ">|" in text:
        return
    quick = shell._listed(text, held)
    if quick is not None:
        slow = brackets.read(text, held, line)
        assert [(c.words, c.assignments, c.redirects, c.stage) for c in quick] == [
            (c.words, c.assignments, c.redirects, c.stage) for c in slow
        ]


@pytest.mark.parametrize(
    "piece", ["'", '"', "\\", "`", "$(", "${", "<<a ", "<<a\n", "((", "(", "#\n", ">a", "a&", "case x in ", '"$(', "a=("]
)
def test_hostile_lines_take_steps_in_proportion_to_their_length(piece):
    short, long = (steps(shell.parse, piece * times) for times in (500, 4_000))
    assert long < 12 * short


@pytest.mark.parametrize(
    ("line", "waits_for"),
    [
        ("a; b &", ["a"]),
        ("a && b & c", ["c"]),
        ("a | b & c", ["c"]),
        ("(a & b)", ["b"]),
        ("c; (a & b) && d", ["c", "b", "d"]),
        ("c; (a; b) & d", ["c", "d"]),
        ("(a; (b & c)) && d", ["a", "c", "d"]),
        ("a; b && (c; d) & e", ["a", "e"]),
        ("a; b &&\n{ c; d; } > f & e", ["a", "e"]),
        ("(a; b) && c & d", ["d"]),
        ("a; b | (c; d) || e & f", ["a", "f"]),
        ("if a; then b && (c; d) & e; fi", ["a", "e"]),
        ("a && case x in x) b;; y) c;; esac & d", ["d"]),
        ("& a", ["a"]),
        ("&", []),
        ("&& a & b", ["b"]),
    ],
)
def test_the_shell_waits_for_all_but_what_it_leaves_in_the_background(line, waits_for):
    assert [command.words[0] for command in shell.parse(line) if not command.is_background] == waits_for


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a >f& b", [("a", [">f"]), ("b", [])]),
        ("a >f&b", [("a", [">f"]), ("b", [])]),
        ("a > f& b", [("a", [">f"]), ("b", [])]),
        ("a > f&b", [("a", [">f"]), ("b", [])]),
        ("a >f 2>&1& b", [("a", [">f", "2>&1"]), ("b", [])]),
        ("a 2>&1&b 2>&1", [("a", ["2>&1"]), ("b", ["2>&1"])]),
        ("a >&2& b", [("a", [">&2"]), ("b", [])]),
        ("a <&3&b", [("a", ["<&3"]), ("b", [])]),
        ("a &>f& b", [("a", ["&>f"]), ("b", [])]),
        ("a&>f&b", [("a", ["&>f"]), ("b", [])]),
        ("a &>>f& b", [("a", ["&>>f"]), ("b", [])]),
        ("a >'f'&b", [("a", [">f"]), ("b", [])]),
        ("a 'b'abc>f& 'd'", [("a babc", [">f"]), ("d", [])]),
        ("(a >f& b)", [("a", [">f"]), ("b", [])]),
        ("a <b&c>d", [("a", ["<b"]), ("c", [">d"])]),
    ],
)
def test_what_is_left_behind_ends_at_its_sign_wherever_that_stands(line, commands):
    told = [(" ".join(one.words), [operator + target for operator, target in one.redirects]) for one in shell.parse(line)]
    assert told == commands
    assert [one.is_background for one in shell.parse(line)] == [True, False]


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("(a; (b); c); d", [(1,), (1, 2), (1,), ()]),
        ("((a); (b) )", [(1, 2), (1, 3)]),
        ("{ a; (b); } | c; d", [(1,), (1, 2), (), ()]),
        ("{ a; b; } 2>&1 | c", [(1,), (1,), (), ()]),
        ("a | { b; c; }; d", [(), (1,), (1,), ()]),
        ("a && b & c", [(1,), (1,), ()]),
        ("a; b && (c; d) & e", [(), (1,), (1, 2), (1, 2), ()]),
        ("(a; b) && c & d", [(1, 2), (1, 2), (1,), ()]),
        ("case x in x) a;; y) b;; esac | c", [(1,), (1,), ()]),
        ("(a) && (b)", [(1,), (2,)]),
        ("(((a) ); b); c", [(1, 2, 3), (1,), ()]),
        ("f() { a; (b); }; c", [(1,), (1, 2), ()]),
        ("{ a; }; (b)", [(), (1,)]),
    ],
)
def test_a_subshell_ends_with_its_bracket(line, groups):
    numbers: dict[int, int] = {}
    found = [tuple(numbers.setdefault(one, len(numbers) + 1) for one in command.group) for command in shell.parse(line)]
    assert found == groups


@pytest.mark.parametrize(
    ("line", "branches"),
    [
        ("a; b && c || d", ""),
        ("if a; then b; fi; c", "b"),
        ("if a; then b; else c; fi; d", "bc"),
        ("if a; then b; elif c; then d; else e; fi; f", "bde"),
        ("if a; then if b; then c; fi; d; fi; e", "bcd"),
        ("while a; do b; done; c", "b"),
        ("until a; do b; done; c", "b"),
        ("while a; do while b; do c; done; d; done; e", "bcd"),
        ("for x in $y; do a; done; b", "a"),
        ("for x in 1 2; do a $x; done; b", ""),
        ("case $x in 1) a;; 2) b;; esac; c", "ab"),
        ("case $x in 1) case $y in 2) a;; esac; b;; esac; c", "ab"),
        ("case $x in esac; a", ""),
        ("f() { a; b; }; c", "ab"),
        ("function f { a; }; b", "a"),
        ("f() (a); b", "a"),
        ("a || { b; c; }; d", "bc"),
        ("a || (b; c); d", "bc"),
        ("a && { b; c; }; d", ""),
        ("a && (b; c); d", ""),
        ("{ a; b; } || c", ""),
        ("a || { b; { c; }; d; }; e", "bcd"),
        ("fi; done; if a; then b; fi", "b"),
    ],
)
def test_what_stands_in_a_branch_may_not_run(line, branches):
    assert "".join(command.words[0] for command in shell.parse(line) if command.is_branch) == branches
