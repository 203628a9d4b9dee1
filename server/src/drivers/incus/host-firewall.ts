import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'

const tablePrefix = 'computer_'

/**
 * What comes in from the bridge for the host itself is DHCP and DNS, and nothing else. The engine's
 * rules know the host's addresses of the moment; this holds for those it is given later, too.
 */
export async function closeHostToGuests(network: string): Promise<void> {
  const table = `${tablePrefix}${network}`
  // Deleting what was just added makes the whole repeatable, and it is one transaction.
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

/** A bridge that was removed with its engine leaves its rules here. */
export async function removeRulesOfGoneBridges(): Promise<void> {
  for (const [, table] of (await nft('list tables')).matchAll(
    /^table inet (computer_[a-z0-9]+)$/gm,
  )) {
    if (existsSync(`/sys/class/net/${table!.slice(tablePrefix.length)}`)) continue
    // Another of our servers may remove it at this moment.
    await nft(`delete table inet ${table}`).catch(() => {})
  }
}

async function nft(rules: string): Promise<string> {
  const child = spawn('nft', ['-f', '-'], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {}).end(rules)
  const [output, complaint, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code !== 0) throw new Error(`nft refused the rules of the bridge: ${complaint.trim()}`)
  return output
}
