"""Tables of the arguments in which programs take secrets. Nothing here decides.

Options: `-p` takes the next word or what follows `=`, `-p*` what is glued to it, `-p?` either.
Phrases: the words of a command without its options; `.` is any word, `..` any number of them, `X` the secret, `=` is the value of
each NAME=VALUE behind it. `+.` and `+X` come right behind the word before, with no option between.
"""

from __future__ import annotations

OPTIONS = [row.split(": ") for row in """
mysql mariadb mysqldump mysqladmin mysqlimport mysqlsh mysqlslap mariadb-dump mariadb-admin 7z 7za 7zr 7zz rar unrar: -p* -hp*
sshpass: -p?
redis-cli valkey-cli keydb-cli: -a? --pass
docker podman nerdctl buildah skopeo helm oras crane: --creds --src-creds --dest-creds
login signin mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat oc cf cqlsh twine poetry: -p
cypher-shell cadaver ncftpput ncftpget steghide rabbitmqadmin certutil hash-password: -p
crackmapexec cme nxc netexec evil-winrm hydra medusa psexec altool unlock-keychain rdesktop influx ipmiutil: -p
unlock-keychain create-keychain set-key-partition-list: -p -k
sqlcmd bcp zip unzip zipcloak ipmitool mosquitto_pub mosquitto_sub security ssh-keygen isql osql tsql: -P?
ssh-keygen: -N?
ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare: -w? -s?
add-generic-password add-internet-password: -w? -p?
curl: -b --cookie --oauth2-bearer --pass --proxy-pass --key-pass
openssl: -k -K -passwd -pass -passin -passout -macopt
nuget dotnet choco: -k --api-key -apikey -p
snmpwalk snmpget snmpset snmpbulkwalk: -c -A -X
useradd usermod: -p
smbclient rpcclient smbmap: -p
doctl codecov coveralls snyk uv sonar-scanner: -t --access-token
qpdf pdftk: --password --owner-password
rcon mcrcon: -p?
az: -p --value --account-key --sas-token --client-secret
aws: --secret-string --secret-binary
put-parameter secrets secret keyvault variable credentials: --value --body -b? --data
consul nomad: --http-token
xfreerdp signtool cmdkey schtasks wmic net: /p:* /pass:* /password:* /rp:* /p /rp
ngrok: --authtoken
kinit wpa_supplicant plink pscp putty addprinc cpw change_password: -pw -pwfile
pdftotext pdftoppm pdfinfo pdfimages pdftocairo pdftohtml: -upw -opw
ccrypt ccencrypt ccdecrypt mcrypt: -K -k
supabase: -p
cypress mp4decrypt: --key
pkcs11-tool pkcs15-tool pkcs15-init yubico-piv-tool ykman softhsm2-util: --pin --so-pin --new-pin --puk --new-puk
""".strip().split("\n")]  # fmt: skip
# For what two words name together.
PAIRS = (("auth create", "-t --token"), ("auth init", "-t"), ("variable set", "-v --value"), ("caddy hash-password", "--plaintext"))
# For every program.
EVERYWHERE = "--secret-string --from-literal --value"

PHRASES = """
vault login X
ansible-vault encrypt_string X
vault kv put|patch . =
vault write . =
vault unseal X
vault operator unseal X
fly|flyctl|supabase|doppler|infisical|nsc|gigalixir secrets|secret set =
doppler|infisical secrets set . X
heroku config:set =
heroku|dokku config:set . =
dokku config:set|config set . =
railway|rw variables|variable =
netlify env:set . X
firebase functions:config:set =
eb|cf|kubectl|oc setenv|set-env|set env =
cf|dokku set-env . . X
consul kv put . X
etcdctl put . X
chamber write . . X
credstash put . X
pulumi config set . X
az webapp|functionapp config appsettings set =
gcloud run deploy|services =
ngrok authtoken X
ngrok config add-authtoken X
cargo|railway|npm|gem|pulumi|doppler|oc|argocd login X
wandb|huggingface-cli|hf|snyk login|auth X
snyk config set =
cloudflared service install X
nuget setapikey X
poetry config pypi-token.* X
poetry|composer config http-basic.* . X
composer config *oauth.*|*token.* X
bundle config . :X
bundle config set . :X
pip|twine|keyring set . . X
bw login . X
bw unlock X
op item create|edit =
lpass login . X
htpasswd . . X
net user +. +X
net use //*|\\\\* +X
net use . //*|\\\\* +X
net use //*|\\\\* /user:* X
net use . //*|\\\\* /user:* X
dotnet user-secrets set . X
mc alias set . . . X
mc config host add . . . X
machine . login . password X
nmcli device|dev|d wifi|w connect .. password X
wpa_passphrase . X
sqlplus|expdp|impdp|sqlldr|rman|sqlcl /X
acl setuser . . >X
acl setuser . >X
iwconfig . key X
openssl passwd X
mkpasswd X
requirepass|masterauth X
redis-cli|valkey-cli auth X
rclone obscure X
setx *token*|*key*|*pass*|*secret*|*pwd* X
user_pw X
owner_pw X
input_pw X
stripe login X
aws configure set *secret*|*token*|*key* X
flyctl auth token X
kubectl config set-credentials . =
gpg-preset-passphrase X
security unlock-keychain X
sonar.login X
wg set . private-key X
mosquitto_passwd . . X
rabbitmqctl add_user|change_password . X
rabbitmqctl authenticate_user . X
smbpasswd . X
--encrypt +X +X 40|128|256
createuser +. +X
passwd +. +X
mysqladmin|mariadb-admin .. password|old-password +X
smbclient //*|\\\\* +X
grafana-cli|grafana .. reset-admin-password +X
set-initial-password +X
-setairportnetwork . . X
-passwd /users/* X
user:password|user-password|upwd +. +X
virsh secret-set-value . X
nickserv identify|register X
ejabberdctl|prosodyctl register|change_password . . X
teamviewer passwd X
secrets:set +. +X
secret|secrets set|put +. +X
glab variable set . X
travis encrypt =
travis env set . X
rclone config create .. pass|password +X
asterisk .. put . . X
wifi-sec.psk X
""".strip().split("\n")

# Files of these names hold one secret, and no more.
SECRET_FILES = tuple("token secret passw passphrase pwd apikey api_key api-key .key _key credential .pgpass vault_pass .netrc".split())
# Ends of the names of functions, and which of the texts in their parentheses is the secret; -1 for the last.
FUNCTIONS = {
    1: tuple(
        "set_password bcrypt bcrypt.hash bcrypt.hashsync hash::make hashpw make_password check_password fernet convertto-securestring"
        " password_hash generatefrompassword".split()
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
    " smbpasswd su kinit cryptsetup login auth secret secrets secret:put vault pass base64 openssl gpg age keyring wrangler htpasswd"
    " mkpasswd argon2 kubeseal ansible-vault wg secret-tool security keychain op bw chntpw unlock luksopen luksformat fscrypt fscryptctl"
    " sops secretsmanager set-secret pbcopy xclip -pass passwd: rclone authtoken encrypt_string gopass env"
    " -passwd-on-stdin --passwd-on-stdin vercel vncpasswd tigervncpasswd saslpasswd2 keepassxc-cli borg restic"
    " kwallet-query snowsql cosign".split()
)
# Programs that write their words to the pipe.
WRITERS = frozenset(("echo", "printf", "print", "yes", "write-output", "write-host"))
