import { join } from 'node:path'
import { attempt } from '../attempt.ts'
import type { Config } from '../config.ts'
import { Folder } from '../system/folder.ts'
import { hasImageInit } from '../system/image-init.ts'

/*
 * A boot is held until the server has delivered the secrets and the identity of the machine, so
 * that no program of a user starts before: the image's unit of the agent makes systemd wait. On a disk from
 * an older image, a file of ours does so in the boots after the first. Another file gives login shells
 * the secrets. Neither holds one; the agent writes or repairs them.
 */

const marker = 'boot-released'

/** Lets the boot continue: bin/wait-for-secrets (build.ts) polls for the marker. */
export async function releaseBoot({ rootPath, secretsFolder }: Config): Promise<void> {
  const files = hasImageInit(rootPath) ? [loaderFile] : [loaderFile, unitFile]
  for (const { folder, name, text } of files) {
    await attempt(`write ${name}`, () => writeIfChanged(join(rootPath, folder), name, text))
  }
  await attempt('release the boot', () => {
    using folder = Folder.open(secretsFolder)
    if (folder && !folder.has(marker)) folder.write(marker, '', 0o644)
  })
}

/** Since the machine booted, even if the agent was restarted in the meantime. */
export function isBootReleased({ secretsFolder }: Config): boolean {
  using folder = Folder.open(secretsFolder)
  return folder?.has(marker) ?? false
}

/** Exports the variables if the user may read the file, and restores the shell's options. */
export const loader = `# Exports this machine's secrets to login shells. They are in memory; this file has none.
if [ -r /run/computer/secrets.env ]; then
  case $- in
    *a*) . /run/computer/secrets.env ;;
    *) set -a; . /run/computer/secrets.env; set +a ;;
  esac
fi
`

/** Delays basic.target, and with it all programs of users, until the agent's unit has started. */
const unitDropIn = `# Programs of users start only after the server has delivered the secrets.
[Unit]
Before=basic.target

[Service]
# wait-for-secrets has a time limit of its own.
TimeoutStartSec=infinity
ExecStartPost=-/opt/computer/bin/wait-for-secrets
`

const loaderFile = { folder: 'etc/profile.d', name: '10-computer-secrets.sh', text: loader }
const unitFile = {
  folder: 'etc/systemd/system/computer-agent.service.d',
  name: 'secrets.conf',
  text: unitDropIn,
}

function writeIfChanged(path: string, name: string, text: string): void {
  using folder = Folder.make(path, 0o755)
  if (folder.read(name) !== text) folder.write(name, text, 0o644)
}
