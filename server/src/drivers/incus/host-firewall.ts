import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'

const tablePrefix = 'computer_'

/**
 * Accepts only DHCP and DNS from the bridge to the host itself. The engine's rules cover the addresses
 * that the host has now; these also cover addresses that it is given later.
 */
export async function closeHostToGuests(network: string): Promise<void> {
  const table = `${tablePrefix}${network}`
  // Adding and deleting the table first makes this repeatable. It is all one transaction.
  await nft(`
    add table inet ${table}
    delete table inet ${table}
    table inet ${table} {
      chain input {
        type filter hook input priority filter - 1; policy accept;
        iifname != "${network}" accept
        ct state established,related accept
        meta nfproto ipv4 udp dport { 53, 67 } accept
        meta nfproto ipv4 tcp dport 53 accept
        reject
      }
    }`)
  await removeRulesOfGoneBridges()
}

/** Removes the rules of bridges that were removed with their engine. */
export async function removeRulesOfGoneBridges(): Promise<void> {
  for (const [, table] of (await nft('list tables')).matchAll(
    /^table inet (computer_[a-z0-9]+)$/gm,
  )) {
    if (existsSync(`/sys/class/net/${table!.slice(tablePrefix.length)}`)) continue
    // Another server on this host may be removing it as well.
    await nft(`delete table inet ${table}`).catch(() => {})
  }
}

async function nft(rules: string): Promise<string> {
  const child = spawn('nft', ['-f', '-'], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {}).end(rules)
  const [output, errorOutput, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`nft refused the rules of the bridge: ${errorOutput.trim()}`)
  return output
}
