# Sourced by those who fetch packages: apt with a configuration of its own, made from the mirror and the keys that this machine uses
# already. Nothing is installed, nothing of this machine's package manager is changed, and root is not needed.
#
# The caller has $target, and `skip REASON`, which ends it.

# locked: nobody else fetches into $target until this process ends.
locked() {
    target=$(cd "$target" && pwd) || exit 1
    ! command -v flock >/dev/null 2>&1 || { exec 9>"$target/lock" && flock 9; }
}

# needs TOOL...
needs() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 || skip "$tool is not here"
    done
}

# private_apt ARCHITECTURE: sets $name and $codename of the release, $mirror, $keys, and $work, a directory that goes with this process.
private_apt() {
    name='' codename=''
    . /etc/os-release 2>/dev/null && name=${ID-} codename=${VERSION_CODENAME-}
    case $name in
    debian | ubuntu) ;;
    *) skip "packages are fetched on Debian and Ubuntu, this is ${name:-neither}" ;;
    esac
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ARCHITECTURE)' 'Created-By: Packages' 2>/dev/null |
        awk -v release="$codename" -v architecture="$1" '$2 == release && $3 == "main" && $4 == architecture { print $1; exit }')
    [ -n "$mirror" ] || skip "no package source for $name ${codename:-without a name} is configured"
    keys=/usr/share/keyrings/$name-archive-keyring.gpg
    [ -r "$keys" ] || skip "$keys is not here, so nothing fetched could be verified"

    # What is begun is put together apart and moved into place as a whole.
    work=$target/work
    rm -rf "$work"
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work"/{etc/parts,state/lists/partial,cache/archives/partial}
    : >"$work/state/status"
    {
        # How this machine reaches its mirror (proxies, certificates), and nothing else of its configuration.
        apt-config dump | grep '^Acquire::'
        cat <<END
Dir::Etc "$work/etc";
Dir::Etc::parts "$work/etc/parts";
Dir::Etc::main "$work/etc/parts/none";
Dir::Etc::sourcelist "$work/etc/sources.list";
Dir::Etc::sourceparts "$work/etc/parts";
Dir::Etc::preferencesparts "$work/etc/parts";
Dir::State "$work/state";
Dir::State::lists "$work/state/lists";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
APT::Sandbox::User "";
APT::Architecture "$1";
Acquire::Languages "none";
Acquire::Retries "3";
END
    } >"$work/apt.conf"
    export APT_CONFIG=$work/apt.conf
}

updated() { apt-get update -q -o APT::Update::Error-Mode=any >"$work/log" 2>&1; }
