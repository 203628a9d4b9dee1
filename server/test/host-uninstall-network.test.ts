import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

/*
 * What `computer uninstall` removes of a network whose engine was killed. The kernel's own nftables and links
 * are used, in a network namespace of the test, so that those of the host stay as they are.
 */
const run = promisify(execFile)
const source = new URL('../src/host/uninstall/network.ts', import.meta.url).href

const own = 'cmp0000000001'
const other = 'cmp0000000002'
const rulesOf = (network: string) => `
table inet incus {
  chain acl.${network} { accept; }
  chain aclfwd.${network} {
    type filter hook forward priority filter;
    jump acl.${network}
  }
}
table bridge incus {
  chain fwd.${network} { accept; }
}
table inet computer_${network} {
  chain input { accept; }
}`

test('the bridge and the rules of one network are removed, and those of another stay', async () => {
  const after = await inNamespace(
    [own, other],
    `await removeNetwork('${own}'); console.log(await removeEmptyTables())`,
  )
  assert.match(after, /^\[\]$/m)
  assert.doesNotMatch(after, new RegExp(own))
  const expected = [`acl.${other}`, `aclfwd.${other}`, `fwd.${other}`, `computer_${other}`]
  for (const name of [...expected, `${other}:`]) assert.ok(after.includes(name), after)
})

test('the tables of engines are removed when they are empty', async () => {
  const after = await inNamespace(
    [own],
    `await removeNetwork('${own}'); console.log(await removeEmptyTables())`,
  )
  assert.match(after, /^\[ 'inet incus', 'bridge incus' \]$/m)
  assert.doesNotMatch(after, /^table/m)
})

/** Makes networks, runs a program, and resolves to what it prints and to the links and rules after it. */
async function inNamespace(networks: readonly string[], program: string): Promise<string> {
  const links = networks.map((name) => `ip link add ${name} type bridge`)
  const rules = networks.map((name) => `nft -f - <<'END'${rulesOf(name)}\nEND`)
  const code = `import { removeEmptyTables, removeNetwork } from '${source}'\n${program}`
  // The links that sysfs shows are those of the namespace in which it was mounted.
  const script = [
    'mount -t sysfs sysfs /sys',
    ...links,
    ...rules,
    '"$0" --input-type=module -e "$1"',
  ]
  const shown = [...script, 'ip link', 'nft list ruleset'].join('\n')
  const { stdout } = await run('unshare', [
    '--net',
    '--mount',
    'sh',
    '-euc',
    shown,
    process.execPath,
    code,
  ])
  return stdout
}
