import { freePort } from '../e2e/harness/ports.ts'
import type { BenchDesktop } from './desktop.ts'
import type { Incus } from './incus.ts'

/**
 * A port of this host that leads to a server of the baseline's inside a machine, by the engine's own
 * proxy device: nothing else may come from the host into a machine.
 */
export async function withPort<T>(
  incus: Incus,
  { project, name }: BenchDesktop['instance'],
  guestPort: number,
  work: (port: number) => Promise<T>,
): Promise<T> {
  const port = await freePort()
  const device = ['config', 'device', 'add', '--project', project, name, `bench-${guestPort}`]
  const ends = [`listen=tcp:127.0.0.1:${port}`, `connect=tcp:127.0.0.1:${guestPort}`]
  await incus.run(...device, 'proxy', ...ends)
  try {
    return await work(port)
  } finally {
    await incus.run('config', 'device', 'remove', '--project', project, name, device.at(-1)!)
  }
}
