import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

/** The folders in which systemd is seen, and takes units from. */
export type Systemd = { readonly runDir: string; readonly unitDir: string }

export const hostSystemd: Systemd = {
  runDir: '/run/systemd/system',
  unitDir: '/etc/systemd/system',
}

/** systemd's own test of whether it is the init of a host. */
export function isInit({ runDir }: Pick<Systemd, 'runDir'> = hostSystemd): boolean {
  return existsSync(runDir)
}

/** Resolves to what `systemctl` prints. Rejects with its reason. */
export async function systemctl(...args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)('systemctl', [...args])).stdout.trim()
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new Error(`systemctl ${args.join(' ')} failed: ${stderr?.trim() || message}`, {
      cause: error,
    })
  }
}

/** The process that a unit runs, or null. */
export async function findMainProcess(unit: string): Promise<number | null> {
  const pid = Number(await systemctl('show', '--property=MainPID', '--value', unit))
  return pid > 0 ? pid : null
}
