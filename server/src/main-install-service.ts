import { readConfig } from './config.ts'
import { isOwnLauncher, launcherLink, ownLauncher } from './host/launcher.ts'
import { installService } from './host/service/install.ts'
import { describeUnit } from './host/service/unit.ts'
import { withSettings } from './host/settings.ts'
import { openTerminal } from './host/terminal.ts'

/** `computer install-service`: makes the server of this host a service of systemd. */
const terminal = openTerminal()
try {
  const { dataDir } = readConfig(withSettings(process.env))
  const launcher = isOwnLauncher(launcherLink) ? launcherLink : ownLauncher
  if (process.argv.includes('--print')) process.stdout.write(describeUnit(launcher, dataDir))
  else await installService({ launcher, dataDir }, terminal)
} catch (error) {
  console.error(`computer: ${(error as Error).message}`)
  process.exitCode = 1
}
