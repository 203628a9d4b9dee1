import { defaultDataDir } from '../../environment.ts'
import { settingsPath } from '../settings.ts'

/** The first line of each unit that we write. A unit without it is somebody else's. */
export const unitMark = '# Written by `computer install-service`, which replaces this file.'

/** Each data folder has a unit of its own, so that two servers of one host are two services. */
export function unitName(dataDir: string): string {
  return dataDir === defaultDataDir ? 'computer.service' : `computer-${escapePath(dataDir)}.service`
}

/**
 * The unit that runs `computer up` on a data folder, started by this launcher. Throws if systemd has no way
 * to write one of the paths.
 */
export function describeUnit(launcher: string, dataDir: string): string {
  refuseControlCharacters(dataDir)
  refuseControlCharacters(launcher)
  if (/["'\\]/.test(launcher)) {
    throw new Error(
      `systemd starts no program whose path has a quote or a backslash: move the checkout of ${launcher}`,
    )
  }
  const data =
    dataDir === defaultDataDir ? '' : `Environment=${quote(`COMPUTER_DATA=${dataDir}`)}\n`
  return `${unitMark}
# The settings of the server belong in ${settingsPath(dataDir)}.
[Unit]
Description=Computer
Wants=network-online.target
After=network-online.target
# Without the file system of its data folder, the server would begin an empty one.
RequiresMountsFor=${quote(dataDir)}

[Service]
ExecStart=${quote(launcher)} up
${data}Restart=on-failure
# The pause keeps systemd from giving up while a database of another host does not answer yet.
RestartSec=5
# The server stops its own processes in order. Machines keep running when it stops.
KillMode=process
TimeoutStopSec=180
Delegate=yes
TasksMax=infinity
LimitNOFILE=1048576

[Install]
WantedBy=multi-user.target
`
}

/** One word of a unit. systemd replaces what follows a percent sign everywhere. */
function quote(text: string): string {
  const word = text.replaceAll('%', '%%')
  return /^[\w%=:,./-]+$/.test(word) ? word : `"${word.replace(/["\\]/g, String.raw`\$&`)}"`
}

/** A line feed would begin another setting, and a unit has no other control characters either. */
function refuseControlCharacters(path: string): void {
  const shown = JSON.stringify(path)
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(path)) {
    throw new Error(
      `a unit of systemd cannot contain the path ${shown}: it has a control character`,
    )
  }
}

/** As `systemd-escape --path` does. */
function escapePath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '')
  return [...parts.join('/')].map(escapeCharacter).join('')
}

function escapeCharacter(character: string, at: number): string {
  if (character === '/') return '-'
  if (/[\w:]/.test(character) || (character === '.' && at > 0)) return character
  const bytes = [...Buffer.from(character)]
  return bytes.map((byte) => String.raw`\x${byte.toString(16).padStart(2, '0')}`).join('')
}
