"""Recognise files that hold secrets by their names: keys, credentials, environments, git's own. Pure."""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase

# In lower case. All files in these folders are secret, whatever their names.
_SECRET_FOLDERS = frozenset((".git", ".hg", ".svn", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".terraform", ".vault"))
_SECRET_NAMES = (
    ".env", ".env.*", ".env-*", ".env_*", "*.env", ".envrc", ".envrc.*", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf",
    ".htpasswd",
    ".git-credentials", ".dockercfg", ".vault-token", ".boto", ".s3cfg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key",
    "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.gpg", "*.asc", "*.age", "*.der", "*.tfstate", "*.tfstate.*", "*.tfvars",
    "*.tfvars.json", "credentials", "credentials.*", "credential.*", "secrets", "secrets.*", "secret.*", "*.secret", "*.secrets",
    "*-credentials.json", "client_secret*.json", "service-account*.json", "service_account*.json", "auth.json", ".htaccess", "*.ovpn",
    "*.mobileprovision", "terraform.rc", ".terraformrc", "kubeconfig", "wallet.dat",
)  # fmt: skip
# Endings that editors and people give to the name of a copy.
_COPY_ENDINGS = ("~", ".bak", ".orig", ".old", ".save", ".swp")
# Endings that file managers give it, before the extension: "key copy 2.pem", "key (1).pem".
_COPIED = re.compile(r"(?: \(\d+\)| copy(?: \d+)?)(?=\.[^.]*\Z|\Z)")
_PUBLIC_NAMES = (
    "*.example", "*.sample", "*.template", "*.dist", "*-example", "*-sample", "*-template", "*_example", "*_sample", "*_template", "*.pub",
    "*.py", "*.ts", "*.js", "*.go", "*.rs", "*.java", "*.rb", "*.md",
)  # fmt: skip


def is_secret(parts: list[str]) -> bool:
    """Return whether a path of these components leads to a secret. A disk may treat names as equal that differ in case, Unicode form,
    invisible characters, or trailing dots and spaces."""
    folded = [_folded(part) for part in parts]
    if any(part in _SECRET_FOLDERS for part in folded) or not folded:
        return True
    name = _original(folded[-1])
    if any(fnmatchcase(name, public) for public in _PUBLIC_NAMES):
        return False
    return any(fnmatchcase(name, secret) for secret in _SECRET_NAMES)


def _original(name: str) -> str:
    """Return the name of the file that a name is a copy of, or a copy of a copy."""
    for end in _COPY_ENDINGS:
        if name.endswith(end):
            return _original(name.removesuffix(end))
    if len(name) > 2 and name[0] == name[-1] == "#":  # Emacs' own saves
        return _original(name[1:-1])
    original = _COPIED.sub("", name)
    return name if original == name else _original(original)


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name)
    visible = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return visible.casefold().rstrip(". ").partition(":")[0]
