import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'

const tablePrefix = 'computer_'

/**
 * What one machine may have open at a time. Each connection takes an entry in a table of the kernel, and
 * each query one in the name server, that all machines and the host share.
 */
const most = { connections: 4096, nameConnections: 8 }
/** Each query to the name server may cost the host a connection for half a minute. */
const perSecond = { nameQueries: 200, leases: 5 }

/**
 * Accepts only DHCP, and DNS to the bridge's own address, from the bridge to the host itself. The
 * engine's rules cover the addresses that the host has now; these also cover addresses that it is given
 * later. Limits what one machine takes from the others.
 */
export async function limitGuests(network: string, gateway: string): Promise<void> {
  const table = `${tablePrefix}${network}`
  const burst = (rate: number) => `limit rate over ${rate}/second burst ${rate * 5} packets`
  // Adding and deleting the table first makes this repeatable. It is all one transaction.
  await nft(`
    add table inet ${table}
    delete table inet ${table}
    table inet ${table} {
      set connections { type ipv4_addr; size 65536; flags dynamic; }
      set name_connections { type ipv4_addr; size 65536; flags dynamic; }
      set name_queries { type ipv4_addr; size 65536; flags dynamic, timeout; timeout 1m; }
      set leases { type ether_addr; size 65536; flags dynamic, timeout; timeout 1m; }

      chain input {
        type filter hook input priority filter - 1; policy accept;
        iifname != "${network}" accept
        udp dport 53 update @name_queries { ip saddr ${burst(perSecond.nameQueries)} } drop
        udp dport 67 update @leases { ether saddr ${burst(perSecond.leases)} } drop
        ct state established,related accept
        ip daddr ${gateway} tcp dport 53 add @name_connections { ip saddr ct count over ${most.nameConnections} } reject with tcp reset
        ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 jump connections
        meta nfproto ipv4 udp dport 67 accept
        reject
      }

      chain forward {
        type filter hook forward priority filter - 1; policy accept;
        iifname "${network}" ct state new jump connections
      }

      chain connections {
        add @connections { ip saddr ct count over ${most.connections} } jump refuse
        accept
      }

      chain refuse {
        meta l4proto tcp reject with tcp reset
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
