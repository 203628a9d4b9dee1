import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { removeRulesOfGoneBridges } from '../../drivers/incus/host-firewall.ts'

const run = promisify(execFile)

/** The tables that all engines of a host share, each with chains of its own. */
const engineTables = ['inet incus', 'ip incus', 'ip6 incus', 'bridge incus']

/**
 * Removes what is left of the network of an engine that has ended: normally only our own rules, because the
 * engine removes its bridge and its chains. Throws if the bridge cannot be removed.
 */
export async function removeNetwork(network: string): Promise<void> {
  if (existsSync(`/sys/class/net/${network}`)) {
    await run('ip', ['link', 'delete', 'dev', network, 'type', 'bridge'])
  }
  for (const table of engineTables) {
    const chains = (await listChains(table)).filter((name) => name.endsWith(`.${network}`))
    // Chains that name each other can be deleted only when all of them are empty.
    const flush = chains.map((chain) => `flush chain ${table} ${chain}`)
    const remove = chains.map((chain) => `delete chain ${table} ${chain}`)
    if (chains.length > 0) await run('nft', [[...flush, ...remove].join('; ')])
  }
  await removeRulesOfGoneBridges()
}

/** Removes the tables of engines that have no chain any more. For a host on which no engine runs. */
export async function removeEmptyTables(): Promise<readonly string[]> {
  const { stdout } = await run('nft', ['list', 'tables'])
  const present = engineTables.filter((table) => stdout.split('\n').includes(`table ${table}`))
  const removed: string[] = []
  for (const table of present) {
    if ((await listChains(table)).length > 0) continue
    await run('nft', ['delete', 'table', ...table.split(' ')])
    removed.push(table)
  }
  return removed
}

async function listChains(table: string): Promise<readonly string[]> {
  const [family, name] = table.split(' ') as [string, string]
  const output = await run('nft', ['list', 'table', family, name]).catch(() => null)
  return [...(output?.stdout ?? '').matchAll(/^\tchain (\S+) \{$/gm)].map(([, chain]) => chain!)
}
