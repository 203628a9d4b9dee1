import { hold } from '../e2e/attacks/kernel-scripts.ts'
import { inventAddresses, openConnections } from '../e2e/attacks/network-scripts.ts'

/** An address of the internet, which the bench routes to a name space of its own. */
export const internet = '11.0.0.1'

/** Shell scripts that root of a machine runs until the machine is stopped. */
export const attacks: Readonly<Record<string, string>> = {
  'fork bomb': 'bomb() { bomb | bomb & }; while true; do bomb; sleep 0.1; done',
  'memory hog': forever(python('held = []\nwhile True: held.append(bytearray(1 << 20))')),
  'disk filler': forever('cat /dev/zero > /var/filler; rm -f /var/filler'),
  'fsync storm': inParallel(8, (n) =>
    forever(`dd if=/dev/zero of=/var/synced-${n} bs=4k count=1000 oflag=sync conv=notrunc`),
  ),
  'busy loops': inParallel(8, () => 'while true; do :; done'),
  'name space flood': takeAgainAndAgain('name spaces', 100_000),
  'inotify flood': takeAgainAndAgain('inotify instances', 1_100_000),
  'terminal flood': takeAgainAndAgain('terminals', 4_000),
  'connection flood': forever(python(openConnections, internet, '20000')),
  'flood of addresses': forever(python(inventAddresses, '100000')),
}

function takeAgainAndAgain(kind: string, count: number): string {
  const take = `setsid ${python(hold, kind, String(count))} & taker=$!`
  return `while true; do ${take}; sleep 1; kill -9 -- -$taker; done`
}

function forever(command: string): string {
  return `while true; do ${command}; done`
}

function inParallel(count: number, command: (number: number) => string): string {
  const all = Array.from({ length: count }, (_, number) => `( ${command(number)} ) &`)
  return `${all.join('\n')}\nwait`
}

function python(script: string, ...args: readonly string[]): string {
  return ['python3', '-c', script, ...args].map(quote).join(' ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
