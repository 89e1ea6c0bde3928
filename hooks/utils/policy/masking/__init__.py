"""Secrets out of everything that is kept of a command line, a pattern, an address or a result's first line. Pure, and its work grows no
faster than the text: every repetition has a bound, because a line comes from outside and a hook has no time.

Known by their own form (`shapes.py`), by the words before them (`words.py`, tables in `programs.py`), by a name or a header before them
(`named.py`), or because nobody would think of them (`chance.py`). Where a form is not clear, it is masked: a label that says less is better
than one that leaks. What the shell puts in from elsewhere (`$TOKEN`) is no secret.
"""

from __future__ import annotations

from . import chance, shapes

MASK = "****"
# What one form leaves may be what another looks for.
_PASSES = 8

# A text with none of these, no key of a known form, and no word that looks like chance, holds no secret. In small letters.
_MARKS = tuple(
    "://,token,secret,pass,pwd,key,auth,bearer,basic ,credential,signature,cookie,identified,login,vault,zip,7z,rar ,sql,redis,mongo,ldap"
    ",curl,openssl,smb,snmp,nuget,net u,/p:,--value,from-literal,config:set,config set,setenv,set-env,env:,consul,etcdctl,chamber,credstash"
    ",unlock,-u,otp,mnemonic,<<<,base64,rcon,mosquitto,ipmi,wpa_,user_pw,owner_pw,mc alias,wg set,plink,pscp,putty,nmcli,sig=,code=,pw="
    ",jwt=,sid=,session=,@,cadaver,ncftp,steghide,rabbitmq,certutil,hash-password,hydra,medusa,psexec,evil-winrm,nxc,netexec,crackmap,altool,rdesktop,influx"
    ",useradd,usermod,doctl,codecov,twine,psk,pw,cred,connect,fernet,crypt,mysqli,getconn,pdo(,hmac,appid,hook,<password,/rp,-p=,-k=,-w=,sudo,expdp,impdp,rman,poetry,composer"
    ",bundle,lftp,http ,encrypt_string,netrc,variable,kubectl,webapp,gcloud,mkpasswd,rclone,add_user,createkey".split(",")
)


def mask(text: str) -> str:
    """The text with every secret of a known form replaced by ****; masking twice changes nothing more."""
    for _ in range(_PASSES):
        masked = _masked_once(text)
        if masked == text:
            break
        text = masked
    return text


def _masked_once(text: str) -> str:
    found = shapes.spans(text)
    lowered = text.lower()
    if any(mark in lowered for mark in _MARKS) or chance.has_any(text):
        from . import addresses, named, words  # modules that most texts do not need

        found += words.spans(text) + addresses.spans(text) + named.spans(text)
    pieces, at = [], 0
    for begin, end in _joined(found):
        pieces += (text[at:begin], MASK)
        at = end
    return "".join([*pieces, text[at:]])


def _joined(found: list) -> list:
    """The spans in order, those that overlap as one."""
    joined: list = []
    for begin, end in sorted(found):
        if joined and begin < joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        elif end > begin:
            joined.append([begin, end])
    return joined
