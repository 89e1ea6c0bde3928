"""Mask secrets in everything that is kept of a command line, a pattern, an address or a result's first line. Pure, in time linear in the
text: every repetition is bounded, because lines come from outside and a hook has no time.

Known by their own form (`secret_shapes.py`) or because nobody would think of them (`random_words.py`), by the words before them
(`words.py`, tables in `programs.py`), by a name or a header around them (`named.py`), by their place in an address (`addresses.py`). Where
a form is not clear, it is masked: a label that says less is better than one that leaks. What the shell puts in from elsewhere (`$TOKEN`) is
no secret.
"""

from __future__ import annotations

from .. import random_words, secret_shapes

MASK = "****"
# What introduces the number that tells one secret from another, and its length.
_NUMBER, _NUMBER_CHARS = "#", 4
# What one form leaves may be what another looks for.
_PASSES = 8
# A compaction names thousands of calls, most of them more than once, and in each compaction again: so many texts are remembered, of fewer
# than so many characters each.
_MOST_KNOWN, _KNOWN_CHARS = 4_096, 400

# A text with none of these, none of the programs in the tables, no key of a known form, and no word that looks like chance, holds no
# secret. In small letters.
_MARKS = tuple(
    "://,token,secret,pass,pwd,key,auth,bearer,basic ,credential,signature,cookie,identified,login,authenticate,connect(,connection(,fernet"
    ",crypt,mysqli,__construct,pdo(,hmac,create_user,create_super,createuser,securestring,--value,from-literal,unlock,otp,mnemonic,psk,pw"
    ",cred,appid,webhook,hooks.slack,hooks\\.slack,<password,<<<,sudo,base64,netrc,vault,sig=,code=,jwt=,sid=,session=,-p=,-k=,-w=,-a=,-t="
    ",setup,signup,sign-up,sign-in,jwt.,.sign,encode,decode,dial(,/p:,rp:,<(echo,<(printf,register ,assword,assphrase,asscode"
    ",hash::make".split(",")
)
# An action on an account, with one of each in its name: what comes behind its name may be a password.
_ACCOUNTS = ("user", "admin", "account", "member", "staff", "operator")
_ACTIONS = ("create", "add", "new", "make", "register", "seed", "set", "change", "reset", "update", "signup", "sign-up")
# What holds a mark and means no secret, whatever follows: the last line of most tests, and of a commit's message.
_HARMLESS = ("passed", "passing", "authored-by", "author ", "$(pwd)")
# The programs and beginnings of phrases in the tables that need not have a mark beside them, in the pieces that a dot or a colon leaves of
# them, and what takes a secret from a pipe. Not made of the tables: these are a module that most texts do not need.
NAMES = (
    " --stdin -setairportnetwork 7z 7za 7zr 7zz acl age altool argon2 asterisk az bcp borg bundle bw cadaver certutil cf chamber"
    " choco cloudflared cme codecov composer consul cosign coveralls cqlsh crackmapexec curl cypher-shell doctl dokku dotnet eb"
    " ejabberdctl etcdctl evil-winrm expdp firebase ftp gcloud gpg heroku hydra impdp influx ipmitool ipmiutil isql kinit kubectl"
    " kubeseal kwallet-query ldapadd ldapcompare ldapdelete ldapmodify ldapsearch luksformat luksopen mariadb mariadb-admin"
    " mariadb-dump mc mcrcon medusa mongo mongodump mongoexport mongoimport mongorestore mongosh mongostat mosquitto_pub"
    " mosquitto_sub mysql mysqladmin mysqldump mysqlsh mysqlslap ncftpget ncftpput net netexec netlify nickserv nuget nxc oc op"
    " openssl osql pbcopy pdfimages pdfinfo pdftocairo pdftohtml pdftoppm pdftotext pip pkcs11-tool pkcs15-init pkcs15-tool poetry"
    " prosodyctl psexec pulumi put-parameter rabbitmqadmin rabbitmqctl railway rar rclone rcon rdesktop redis-cli restic rman"
    " rpcclient rw schtasks security signin signtool smbclient smbmap snmpbulkwalk snmpget snmpset snowsql snyk softhsm2-util"
    " sonar-scanner sops sqlcl sqlcmd sqlldr sqlplus steghide su supabase travis tsql twine unrar unzip useradd usermod uv variable"
    " vercel wg wmic wrangler xclip xfreerdp ykman yubico-piv-tool zip zipcloak "
)
_NAMES = frozenset(NAMES.split())
# What is between words, and the folders before a program.
_BETWEEN = str.maketrans(dict.fromkeys("\"'`|;&()<>/:=.", " "))


_known: dict[tuple[str, bool], str] = {}  # as `mask` takes and returns them


# Secrets that somebody else has found, the longest first: so many, none shorter.
_MOST_LEARNT, _LEARNT_CHARS = 500, 6
_learnt: list[str] = []


def learn(text: str, redacted: str) -> None:
    """Mask in this process, from now on, what another masker has taken out of a text; a number that tells texts apart stays as it is."""
    from .learnt import taken_out  # seldom

    new = [secret for secret in taken_out(text, redacted) if len(secret) >= _LEARNT_CHARS and secret not in _learnt]
    if new:
        _learnt[:] = sorted([*_learnt, *new][-_MOST_LEARNT:], key=len, reverse=True)
        _known.clear()


def secrets_learnt() -> list[str]:
    """Return what `learn` has taken in."""
    return list(_learnt)


def learn_again(secrets: list[str]) -> None:
    """Mask in this process what another one has learnt."""
    _learnt[:] = secrets
    _known.clear()


def mask(text: str, tell_apart: bool = False) -> str:
    """Return the text with every secret of a known form, or that was learnt, replaced by ****; masking twice changes nothing more.

    `tell_apart`: add a number behind each ****, so that texts which differ in their secrets alone stay different. It has 16 bits: too
    few to find the secret again by trying.
    """
    if len(text) >= _KNOWN_CHARS:
        return _masked(text, tell_apart)
    known = _known.get((text, tell_apart))
    if known is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        known = _known[text, tell_apart] = _masked(text, tell_apart)
    return known


def _masked(text: str, tell_apart: bool) -> str:
    for _ in range(_PASSES):
        masked = _masked_once(text, tell_apart)
        if masked == text:
            break
        text = masked
    return text if tell_apart else _without_learnt(text)


def _without_learnt(text: str) -> str:
    for secret in _learnt:
        text = text.replace(secret, MASK)
    return text


def without_numbers(text: str) -> str:
    """Return a text that was masked with `tell_apart`, as it would be without."""
    first, *others = text.split(MASK + _NUMBER)
    return _without_learnt(MASK.join([first, *(other[_NUMBER_CHARS:] for other in others)]))


def _masked_once(text: str, tell_apart: bool) -> str:
    spans = secret_shapes.spans(text)
    lowered = text.lower()
    if _may_hold(text, lowered):
        from . import addresses, named, words  # modules that most texts do not need

        spans += words.spans(text) + addresses.spans(text) + named.spans(text)
    pieces: list[str] = []
    at = 0
    for begin, end in _joined(spans):
        if tell_apart and text.startswith(MASK, begin):
            continue
        pieces += (text[at:begin], MASK + _number(text[begin:end]) if tell_apart else MASK)
        at = end
    return "".join([*pieces, text[at:]])


def _may_hold(text: str, lowered: str) -> bool:
    """Return whether it is worth looking at the words and names of a text: this looks at every command line."""
    for word in _HARMLESS:
        lowered = lowered.replace(word, " ")
    for mark in _MARKS:  # no generator: that takes three times as long, and most of what a mask takes
        if mark in lowered:
            return True
    if not _NAMES.isdisjoint(lowered.translate(_BETWEEN).split()):
        return True
    if any(name in lowered for name in _ACCOUNTS) and any(name in lowered for name in _ACTIONS):
        return True
    # The password behind a user's name, and both before a host.
    if ("-u" in lowered or " -a " in lowered) and any(mark in lowered for mark in (":", "%", "-p", "lftp")):
        return True
    users = [word.rpartition("@")[0] for word in lowered.split() if "@" in word] if "@" in lowered else ()
    return any(":" in user or "/" in user for user in users) or random_words.may_hold_random(text)


def _number(secret: str) -> str:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return _NUMBER + blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=_NUMBER_CHARS // 2).hexdigest()


def _joined(spans: list[tuple[int, int]]) -> list[list[int]]:
    """Return the spans in order, those that overlap as one."""
    joined: list[list[int]] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        elif end > begin:
            joined.append([begin, end])
    return joined
