import { freePort } from '../e2e/harness/ports.ts'
import type { BenchDesktop } from './desktop.ts'
import type { Incus } from './incus.ts'

/**
 * Runs `work` with a port of this host that leads to a port of a machine, through a proxy device of the
 * engine, because the network of machines accepts no connection from the host.
 */
export async function withPort<T>(
  incus: Incus,
  { project, name }: BenchDesktop['instance'],
  guestPort: number,
  work: (port: number) => Promise<T>,
): Promise<T> {
  const port = await freePort()
  const device = ['config', 'device', 'add', '--project', project, name, `bench-${guestPort}`]
  const addresses = [`listen=tcp:127.0.0.1:${port}`, `connect=tcp:127.0.0.1:${guestPort}`]
  await incus.run(...device, 'proxy', ...addresses)
  try {
    return await work(port)
  } finally {
    await incus.run('config', 'device', 'remove', '--project', project, name, device.at(-1)!)
  }
}
