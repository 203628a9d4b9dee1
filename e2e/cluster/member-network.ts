import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { identifyProcess } from '../../server/src/host/process-record.ts'
import type { Lifetime } from '../../server/test/harness.ts'

const run = promisify(execFile)
/** Each network has 16 addresses. */
const networks = 16

/** Where a host is in the network: the name of its link, the bridge that it is behind, and its address. */
export type MemberPlace = {
  readonly name: string
  readonly bridge: string
  readonly address: string
  /** The address of this host in that network. */
  readonly gateway: string
}

export type MemberNetwork = { readonly address: string; placeOf(number: number): MemberPlace }

/**
 * Makes a bridge between hosts in name spaces, in a range that no network routes (RFC 5737). Machines may reach that
 * range where it belongs to nobody, so what closes these addresses to them is ours. Another test file takes another
 * bridge, and one of a killed run is taken over.
 */
export async function makeMemberNetwork(t: Lifetime): Promise<MemberNetwork> {
  const number = await takeBridge()
  const bridge = `clb${number}`
  const addressOf = (last: number) => `198.51.100.${number * 16 + last}`
  const address = addressOf(1)
  t.after(async () => void (await run('ip', ['link', 'delete', bridge])))
  await run('ip', ['address', 'replace', `${address}/28`, 'dev', bridge])
  await run('ip', ['link', 'set', bridge, 'up'])
  return {
    address,
    placeOf: (member) => ({
      name: `cl${number}n${member}`,
      bridge,
      address: addressOf(1 + member),
      gateway: address,
    }),
  }
}

async function takeBridge(): Promise<number> {
  const { pid, startedAt } = identifyProcess(process.pid)!
  for (let number = 0; number < networks; number++) {
    const bridge = `clb${number}`
    if (await isAbandoned(bridge)) await run('ip', ['link', 'delete', bridge]).catch(() => {})
    const owner = `${pid} ${startedAt}`
    const isMade = await run('ip', ['link', 'add', bridge, 'type', 'bridge']).then(
      () => true,
      () => false,
    )
    if (!isMade) continue
    await run('ip', ['link', 'set', bridge, 'alias', owner])
    return number
  }
  throw new Error('all networks for hosts in name spaces are taken')
}

/** One without an owner has just been made. */
async function isAbandoned(bridge: string): Promise<boolean> {
  const alias = await readFile(`/sys/class/net/${bridge}/ifalias`, 'utf8').catch(() => '')
  const [pid, startedAt] = alias.trim().split(' ')
  return startedAt !== undefined && identifyProcess(Number(pid))?.startedAt !== startedAt
}
