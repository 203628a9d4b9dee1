import { withPort } from './baseline-port.ts'
import { installPackages, waitForListener, type BenchDesktop } from './desktop.ts'
import type { BenchContext } from './row.ts'

const port = 6080
const command = `runuser -u agent -- setsid websockify --daemon ${port} --unix-target=/run/xvnc/rfb.sock`

/** Runs `work` with a port of this host that leads to the X server's own RFB behind websockify. */
export async function withWebsockify<T>(
  { incus, say }: BenchContext,
  desktop: BenchDesktop,
  work: (hostPort: number) => Promise<T>,
): Promise<T> {
  say('installing websockify')
  await installPackages(desktop.runAsRoot, 'websockify')
  await desktop.runAsRoot('sh', '-c', command)
  await waitForListener(desktop, port)
  return withPort(incus, desktop.instance, port, work)
}
