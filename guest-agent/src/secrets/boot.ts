import { join } from 'node:path'
import type { Config } from '../config.ts'
import { Folder } from '../identity/folder.ts'

/**
 * Lets the boot go on, once the server has told the machine all that it is to know before the first
 * program of a user runs. What held it up, and what gives login shells the secrets, are two files on
 * the machine's disk that hold none themselves; they are put there, or put right, for the boots to
 * come. (A disk straight from the image has no program of a user to hold up.)
 */
export function letUsersIn({ rootPath, secretsFolder }: Config): void {
  for (const { folder, name, text } of files) {
    attempt(`write ${name}`, () => keep(join(rootPath, folder), name, text))
  }
  attempt('let the boot go on', () => {
    using folder = Folder.open(secretsFolder)
    if (folder && !folder.has('told')) folder.write('told', '', 0o644)
  })
}

/** Since the machine booted, whether or not the agent was restarted meanwhile. */
export function wereUsersLetIn({ secretsFolder }: Config): boolean {
  using folder = Folder.open(secretsFolder)
  return folder?.has('told') ?? false
}

/** Sets the variables of the file for whoever may read it, and leaves the shell as it was. */
export const loader = `# Gives a login shell the secrets of this machine, which are in memory; this file holds none.
if [ -r /run/computer/secrets.env ]; then
  case $- in
    *a*) . /run/computer/secrets.env ;;
    *) set -a; . /run/computer/secrets.env; set +a ;;
  esac
fi
`

/** The agent counts as started when the machine was told; what users run comes after basic.target. */
const hold = `# No program of a user runs before the machine was told its secrets.
[Unit]
Before=basic.target

[Service]
# It gives up by itself.
TimeoutStartSec=infinity
ExecStartPost=-/opt/computer/bin/wait-for-secrets
`

const files = [
  { folder: 'etc/profile.d', name: '10-computer-secrets.sh', text: loader },
  { folder: 'etc/systemd/system/computer-agent.service.d', name: 'secrets.conf', text: hold },
] as const

function keep(path: string, name: string, text: string): void {
  using folder = Folder.make(path, 0o755)
  if (folder.read(name) !== text) folder.write(name, text, 0o644)
}

/** Whoever is root of the machine may have made it fail: that keeps no machine from booting. */
function attempt(what: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    console.error(`could not ${what}`, error)
  }
}
