"""Know where programs take a secret on their command line, and read their options and phrases by that. Pure.

Options: `-p` takes the next word or what follows `=`, `-p*` what is glued to it, `-p?` either.
Phrases: the words of a command without its options; `.` is any word, `..` any number of them, `X` the secret, `=` is the value of
each NAME=VALUE behind it. `+.` and `+X` come right behind the word before, with no option between.
"""

from __future__ import annotations

from .. import secret_shapes
from .line import AHEAD, QUOTES, Line, is_variable, value_at

OPTIONS = (
    ("mysql mariadb mysqldump mysqladmin mysqlimport mysqlsh mysqlslap mariadb-dump mariadb-admin 7z 7za 7zr 7zz rar unrar", "-p* -hp*"),
    ("sshpass", "-p?"),
    ("redis-cli valkey-cli keydb-cli", "-a? --pass"),
    ("docker podman nerdctl buildah skopeo helm oras crane", "--creds --src-creds --dest-creds"),
    ("login signin mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat oc cf cqlsh twine poetry", "-p"),
    ("cypher-shell cadaver ncftpput ncftpget steghide rabbitmqadmin certutil hash-password", "-p"),
    ("crackmapexec cme nxc netexec evil-winrm hydra medusa psexec altool unlock-keychain rdesktop influx ipmiutil", "-p"),
    ("unlock-keychain create-keychain set-key-partition-list", "-p -k"),
    ("sqlcmd bcp zip unzip zipcloak ipmitool mosquitto_pub mosquitto_sub security ssh-keygen isql osql tsql", "-P?"),
    ("ssh-keygen", "-N?"),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare", "-w? -s?"),
    ("add-generic-password add-internet-password", "-w? -p?"),
    ("curl", "-b --cookie --oauth2-bearer --pass --proxy-pass --key-pass"),
    ("openssl", "-k -K -passwd -pass -passin -passout -macopt"),
    ("nuget dotnet choco", "-k --api-key -apikey -p"),
    ("snmpwalk snmpget snmpset snmpbulkwalk", "-c -A -X"),
    ("useradd usermod", "-p"),
    ("smbclient rpcclient smbmap", "-p"),
    ("doctl codecov coveralls snyk uv sonar-scanner", "-t --access-token"),
    ("qpdf pdftk", "--password --owner-password"),
    ("rcon mcrcon", "-p?"),
    ("az", "-p --value --account-key --sas-token --client-secret"),
    ("aws", "--secret-string --secret-binary"),
    ("put-parameter secrets secret keyvault variable credentials", "--value --body -b? --data"),
    ("consul nomad", "--http-token"),
    ("xfreerdp signtool cmdkey schtasks wmic net", "/p:* /pass:* /password:* /rp:* /p /rp"),
    ("ngrok", "--authtoken"),
    ("kinit wpa_supplicant plink pscp putty addprinc cpw change_password", "-pw -pwfile"),
    ("pdftotext pdftoppm pdfinfo pdfimages pdftocairo pdftohtml", "-upw -opw"),
    ("ccrypt ccencrypt ccdecrypt mcrypt", "-K -k"),
    ("supabase", "-p"),
    ("cypress mp4decrypt", "--key"),
    ("pkcs11-tool pkcs15-tool pkcs15-init yubico-piv-tool ykman softhsm2-util", "--pin --so-pin --new-pin --puk --new-puk"),
)
# For what two words name together.
PAIRS = (("auth create", "-t --token"), ("auth init", "-t"), ("variable set", "-v --value"), ("caddy hash-password", "--plaintext"))
# For every program.
EVERYWHERE = "--secret-string --from-literal --value"

PHRASES = (
    "vault login X",
    "ansible-vault encrypt_string X",
    "vault kv put|patch . =",
    "vault write . =",
    "vault unseal X",
    "vault operator unseal X",
    "fly|flyctl|supabase|doppler|infisical|nsc|gigalixir secrets set =",
    "supabase|doppler|infisical|fly|flyctl secret set =",
    "doppler|infisical secrets set . X",
    "heroku config:set =",
    "heroku|dokku config:set . =",
    "dokku config:set|config set . =",
    "railway|rw variables|variable set =",
    "railway|rw variables =",
    "netlify env:set . X",
    "firebase functions:config:set =",
    "eb|cf|kubectl|oc setenv|set-env|set env =",
    "cf|dokku set-env . . X",
    "consul kv put . X",
    "etcdctl put . X",
    "chamber write . . X",
    "credstash put . X",
    "pulumi config set . X",
    "az webapp|functionapp config appsettings set =",
    "gcloud run deploy|services =",
    "ngrok authtoken X",
    "ngrok config add-authtoken X",
    "cargo|railway|npm|gem|pulumi|snyk|doppler|oc|argocd|wandb|huggingface-cli login X",
    "wandb|huggingface-cli|hf login|auth X",
    "snyk auth X",
    "snyk config set =",
    "cloudflared service install X",
    "nuget setapikey X",
    "nuget setApiKey X",
    "dotnet nuget setapikey X",
    "poetry config pypi-token.* X",
    "poetry config http-basic.* . X",
    "composer config http-basic.* . X",
    "composer config *oauth.* X",
    "composer config *token.* X",
    "bundle config . :X",
    "bundle config set . :X",
    "pip|twine|keyring set . . X",
    "bw login . X",
    "bw unlock X",
    "op item create|edit =",
    "lpass login . X",
    "htpasswd . . X",
    "net user +. +X",
    "net use //*|\\\\* +X",
    "net use . //*|\\\\* +X",
    "net use //*|\\\\* /user:* X",
    "net use . //*|\\\\* /user:* X",
    "dotnet user-secrets set . X",
    "mc alias set . . . X",
    "mc config host add . . . X",
    "machine . login . password X",
    "nmcli device|dev|d wifi|w connect .. password X",
    "wpa_passphrase . X",
    "sqlplus|expdp|impdp|sqlldr|rman|sqlcl /X",
    "acl setuser . . >X",
    "acl setuser . >X",
    "iwconfig . key X",
    "openssl passwd X",
    "mkpasswd X",
    "requirepass X",
    "masterauth X",
    "redis-cli|valkey-cli auth X",
    "redis-cli|valkey-cli config set requirepass|masterauth X",
    "rclone obscure X",
    "setx *token*|*key*|*pass*|*secret*|*pwd* X",
    "user_pw X",
    "owner_pw X",
    "input_pw X",
    "stripe login X",
    "aws configure set *secret*|*token*|*key* X",
    "flyctl auth token X",
    "kubectl config set-credentials . =",
    "gpg-preset-passphrase X",
    "security unlock-keychain X",
    "sonar.login X",
    "wg set . private-key X",
    "mosquitto_passwd . . X",
    "rabbitmqctl add_user|change_password . X",
    "rabbitmqctl authenticate_user . X",
    "smbpasswd . X",
    "--encrypt +X +X 40|128|256",
    "createuser +. +X",
    "passwd +. +X",
    "mysqladmin|mariadb-admin .. password|old-password +X",
    "smbclient //*|\\\\* +X",
    "grafana-cli|grafana .. reset-admin-password +X",
    "set-initial-password +X",
    "-setairportnetwork . . X",
    "-passwd /users/* X",
    "user:password|user-password|upwd +. +X",
    "virsh secret-set-value . X",
    "nickserv identify|register X",
    "ejabberdctl|prosodyctl register|change_password . . X",
    "teamviewer passwd X",
    "secrets:set +. +X",
    "secret|secrets set|put +. +X",
    "glab variable set . X",
    "travis encrypt =",
    "travis env set . X",
    "rclone config create .. pass|password +X",
    "asterisk .. put . . X",
    "wifi-sec.psk X",
)

# Files of these names hold one secret, and no more.
SECRET_FILES = tuple("token secret passw passphrase pwd apikey api_key api-key .key _key credential .pgpass vault_pass .netrc".split())
# Ends of the names of functions, and which of the texts in their parentheses is the secret; -1 for the last.
FUNCTIONS = {
    1: tuple(
        "set_password bcrypt hashpw make_password check_password fernet convertto-securestring password_hash generatefrompassword".split()
    ),
    2: tuple(
        "auth login authenticate basicauth basic_auth pscredential createuser setbasicauth encryptbypassphrase changeuserpassword".split()
    ),
    3: ("getconnection", "connect", "pdo", "mysqli", "__construct", "create_superuser", "create_user", "dial"),
    -1: tuple(
        "pgp_sym_encrypt pgp_sym_decrypt jwt.encode jwt.decode jwt.sign jwt.verify .sign createhmac hmac.new encrypt decrypt".split()
    ),
}
# Words of a command that takes a secret from what is piped into it.
RECEIVERS = frozenset(
    "--password-stdin --passwordstdin --with-token --token-stdin --pass-stdin --stdin --passphrase-fd --passphrase-file passwd chpasswd"
    " smbpasswd kinit cryptsetup login auth secret secrets secret:put vault pass base64 openssl gpg age keyring wrangler htpasswd mkpasswd"
    " argon2 kubeseal ansible-vault wg secret-tool security keychain op bw chntpw unlock luksopen luksformat fscrypt fscryptctl sops"
    " secretsmanager set-secret pbcopy xclip -pass passwd: rclone authtoken encrypt_string gopass env"
    " -passwd-on-stdin --passwd-on-stdin vercel vncpasswd tigervncpasswd saslpasswd2 keepassxc-cli borg restic"
    " kwallet-query snowsql cosign".split()
)
# Programs that write their words to the pipe.
WRITERS = frozenset(("echo", "printf", "print", "yes", "write-output", "write-host"))


# --- options and phrases ---

_SHORT = ("-k", "-p", "-P", "-w", "-a", "-t", "-s", "-T", "-K", "-A")


def _options_of() -> dict:
    options_of: dict = {}
    for names, options in OPTIONS:
        for name in names.split():
            options_of.setdefault(name, []).extend(options.split())
    options_of.update((pair, options.split()) for pair, options in PAIRS)
    return options_of


def _phrases_of() -> dict:
    phrases: dict = {}
    for phrase in PHRASES:
        first, *rest = phrase.split()
        for name in first.split("|"):
            phrases.setdefault(name, []).append(tuple(rest))
    return phrases


OPTIONS_OF, PHRASES_OF = _options_of(), _phrases_of()
# What an option says of where its value comes from.
_ELSEWHERE = ("env:", "file:", "fd:", "stdin", "fd://", "file://", "prompt:")
_EVERYWHERE = EVERYWHERE.split()


def after_phrase(line: Line, number: int, phrase: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secrets behind a word with which a phrase begins; `phrase`: the rest of it."""
    secrets: list[tuple[int, int]] = []
    plain = [
        other
        for other in range(number + 1, min(len(line.words), number + AHEAD))
        if line.same(number, other)
        and (line.words[other][0] != "-" or line.gaps[other][-1:] in QUOTES)
        and line.gaps[other].strip() != "<"  # a file that is read is no argument
    ]
    place = 0
    for number_of_part, part in enumerate(phrase):
        if part == "..":
            following = phrase[number_of_part + 1]
            while place < len(plain) and not _fits(line.words[plain[place]].lower(), following):
                place += 1
            continue
        if part == "=":
            return secrets + [_behind(line, other, "=") for other in plain[place:] if "=" in line.words[other]]
        if place >= len(plain):
            return []
        here = plain[place]
        if part[0] == "+" and (here - 1 != (plain[place - 1] if place else number) or line.words[here][0] in "/*"):
            return []
        if part in ("X", "+X"):
            secrets.append(line.value(here))
        elif part == "/X":
            secrets += [_behind(line, here, "/")] if "/" in line.words[here][:-1] or line.words[here][-1] == "/" else []
        elif part == ">X":
            secrets += [line.value(here)] if line.gaps[here][-1:] == ">" else []
        elif part == ":X":
            secrets.append(_behind(line, here, ":"))
        elif part not in (".", "+.") and not _fits(line.words[here].lower(), part):
            return []
        place += 1
    return secrets


def _fits(word: str, part: str) -> bool:
    for name in part.split("|"):
        if "*" not in name:
            if word == name:
                return True
        elif name.strip("*") in word if name[0] == "*" else word.startswith(name[:-1]):
            return True
    return False


def _behind(line: Line, number: int, mark: str) -> tuple[int, int]:
    """Return the value behind a mark in a word: NAME=VALUE, user:password; all of the word where it holds none."""
    begin, end = line.value(number)
    at = line.text.find(mark, begin, end)
    if at < 0:
        return begin, end
    if line.text[at + 1 : at + 2] == "$" and is_variable(line.text[at + 2 : at + 3]):
        return end, end
    return (at + 1, end) if at + 1 < end else value_at(line.text, at + 1)


def of_option(line: Line, number: int, options: list) -> list[tuple[int, int]]:
    """Return [(begin, end)] of the secret that an option takes; `options`: those that the programs of its command have."""
    word = line.words[number]
    name, equals, glued = word.partition("=")
    if name == "-a" and line.words[line.starts[number]] in ("http", "https", "xh"):
        return _user(line, number, name, equals)
    if name in ("-u", "-U", "--user", "--proxy-user", "-user", "--creds", "--auth") or (word[:2] == "-u" and name not in options):
        return _user(line, number, name, equals)
    following = number + 1 if line.same(number, number + 1) else 0
    if following and line.words[following][0] == "-" and line.gaps[following][-1:] not in QUOTES:
        following = 0
    for option in [*options, *(option for option in _EVERYWHERE if option not in options)]:
        bare = option.rstrip("*?")
        if name == bare and option[-1] != "*":
            number, skip = (number, len(name) + 1) if equals else (following, 0)
            if not equals and not following:
                return []
            begin, end = line.rest(number, skip) if skip else line.value(number)
            if bare == "--from-literal":
                at = line.text.find("=", begin, end)
                begin = at + 1 if at >= 0 else end
            if line.text[begin:end].lstrip("\"'").startswith(_ELSEWHERE):
                return []
            if option not in options and bare == "--value" and (end - begin < 6 or line.text[begin:end].isalpha()):
                return []
            return [(begin, end)]
        if option[-1] in "*?" and word.startswith(bare) and len(word) > len(bare):
            return [line.rest(number, len(bare))]
        if option[-1] in "*?" and word == bare and number + 1 < len(line.words) and line.gaps[number + 1] in ("'", '"'):
            return [line.value(number + 1)]
    if equals and name in _SHORT and is_bare(glued) and not glued.isalpha() and not glued.isdigit():
        return [line.rest(number, len(name) + 1)]
    word = line.words[following] if following and name in _SHORT else ""
    if name == "-p" and word and not (word[0].isdigit() or word.isalpha()) and is_bare(word) and _names_user(line, number):
        return [line.value(following)]
    return [line.value(following)] if len(word) >= 10 and is_bare(word) and secret_shapes.looks_random(word) else []


def _names_user(line: Line, number: int) -> bool:
    """Return whether the words before an option say who the user is."""
    before = line.words[max(line.starts[number], number - 10) : number]
    return any(word in ("-u", "--user", "--username", "-U") for word in before)


def _user(line: Line, number: int, name: str, equals: str) -> list[tuple[int, int]]:
    """Return the password behind a user's name: `-u bob:secret`."""
    if equals:
        begin, end = line.rest(number, len(name) + 1)
    elif line.words[number][:2] == "-u" and len(line.words[number]) > 2 and line.words[number] != "-user":
        begin, end = line.rest(number, 2)
    elif line.same(number, number + 1):
        begin, end = line.value(number + 1)
    else:
        return []
    user, mark, password = line.text[begin:end].partition(":")
    for other in "%,":
        if not mark and (other == "%" or line.words[line.starts[number]] == "lftp"):
            user, mark, password = line.text[begin:end].partition(other)
    if (
        user[:1] == "-"
        or not password
        or not user.strip("'\"")
        or "=" in user
        or " " in user
        or password[:2] == "//"
        or (user.isdigit() and password.isdigit())
    ):
        return []
    if password[0] == "$" and is_variable(password[1:2]):
        return []
    return [(begin + len(user) + 1, end)]


def is_bare(word: str) -> bool:
    """Return whether a word is neither a path nor a file, an address, a list or an expression."""
    if "." in word.partition("@")[2]:
        return False  # a user at a host
    return not any(mark in word for mark in ("/", ":", ",", "[", "{", "=", "*", "\\")) and not secret_shapes.is_file(word)
