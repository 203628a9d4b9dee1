import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/**
 * What comes in from the bridge for the host itself is DHCP and DNS, and nothing else. The engine's
 * rules know the host's addresses of the moment; this holds for those it is given later, too.
 */
export async function closeHostToGuests(network: string): Promise<void> {
  const table = firewallTable(network)
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
        drop
      }
    }`)
}

export function firewallTable(network: string): string {
  return `computer_${network}`
}

async function nft(rules: string): Promise<void> {
  const child = spawn('nft', ['-f', '-'], { stdio: ['pipe', 'ignore', 'pipe'] })
  child.stdin.on('error', () => {}).end(rules)
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`nft refused the rules of the bridge: ${complaint.trim()}`)
}
