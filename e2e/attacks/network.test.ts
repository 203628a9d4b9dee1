import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { MachineSpec } from '../../server/src/drivers/machine-driver.ts'
import { startAttacked, type Attacked } from './machines.ts'
import * as scripts from './network-scripts.ts'
import { linkAddress, startOutside } from './outside.ts'

/** An address of the internet. The host routes it to the test's own network. */
const internet = '11.0.0.1'
/** An address in a range for documentation, which closed networks use for what stands for the internet. */
const documentation = '203.0.113.77'
/** Metadata services and internals of clouds, and what is on no internet. */
const special = ['168.63.129.16', '192.0.0.192', '192.88.99.77', '198.18.0.77', '198.19.255.77']

describe('root of a machine attacks the network', () => {
  let attacked: Attacked
  let outside: Disposable

  before(async () => {
    outside = await startOutside([internet, documentation, ...special])
    attacked = await startAttacked('network')
  })
  after(async () => {
    await attacked?.[Symbol.asyncDispose]()
    outside?.[Symbol.dispose]()
  })

  function connect(from: MachineSpec, address: string, port: number): Promise<string> {
    return attacked.python(from, scripts.connect, address, port)
  }

  test('frames with the address of another machine divert none of its traffic', async () => {
    const { attacker, victim, gateway, python, shell, reboot } = attacked
    // Its port on the bridge is then another one.
    await reboot(attacker)
    const address = await shell(victim, 'cat /sys/class/net/eth0/address')
    const [diverted, answered] = await Promise.all([
      python(attacker, scripts.forgeAddress, address, 3),
      python(victim, scripts.countAnswers, gateway, 100),
    ])
    assert.deepEqual({ diverted, answered }, { diverted: '0', answered: '100' })
    assert.equal(await python(attacker, scripts.countAnswers, gateway, 5), '5')
  })

  test('the bridge learns none of the addresses that a machine invents', async () => {
    const { attacker, network, python } = attacked
    await python(attacker, scripts.inventAddresses, 3000)
    const entries = execFileSync('bridge', ['fdb', 'show', 'br', network], { encoding: 'utf8' })
    assert.equal(entries.split('\n').filter((line) => line.startsWith('02:5a:')).length, 0)
  })

  test('invented hardware addresses get no lease, and the machine renews its own', async () => {
    const { attacker, python, shell } = attacked
    assert.equal(await python(attacker, scripts.takeLeases, 8), '0')
    await shell(attacker, 'networkctl reconfigure eth0; sleep 0.5')
    await shell(attacker, 'until ip -4 route show default | grep -q via; do sleep 0.1; done')
  })

  test('one machine cannot keep the name server busy', async () => {
    const { attacker, victim, gateway, python } = attacked
    const answered = Number(await python(attacker, scripts.floodQueries, gateway, 20_000))
    assert.ok(answered > 0 && answered < 5_000, String(answered))
    assert.equal(await python(attacker, scripts.holdStreams, gateway, 53, 30), '8')
    assert.equal(await python(victim, scripts.countAnswers, gateway, 20), '20')
    assert.equal(await connect(victim, gateway, 53), 'open')
  })

  test('special addresses are closed', async () => {
    const { victim } = attacked
    assert.equal(await connect(victim, internet, 80), 'open')
    assert.equal(await connect(victim, documentation, 80), 'open')
    for (const address of special) {
      assert.notEqual(await connect(victim, address, 80), 'open', address)
    }
  })

  test('the addresses of other hosts are closed while they are hosts', async () => {
    const { victim, driver } = attacked
    await driver.closeAddresses([documentation])
    assert.notEqual(await connect(victim, documentation, 80), 'open')
    assert.equal(await connect(victim, internet, 80), 'open')
    await driver.closeAddresses([])
    assert.equal(await connect(victim, documentation, 80), 'open')
  })

  test('the name server tells nothing about its host', async (t) => {
    const { victim, gateway, python } = attacked
    const [chaos, txt] = [3, 16]
    assert.equal(await python(victim, scripts.ask, gateway, 'version.bind', chaos, txt), '0')
    const hosts = readFileSync('/etc/hosts', 'utf8').matchAll(/^[\d.]+\s+([\w-]+)/gm)
    for (const [, name] of hosts) {
      assert.equal(await python(victim, scripts.ask, gateway, name!, 1, 1), '0', name)
    }
    // A name server of the host itself, on another address.
    const server = createServer((socket) => socket.end())
    await new Promise<void>((resolve) => server.listen(53, linkAddress, resolve))
    t.after(() => server.close())
    assert.notEqual(await connect(victim, linkAddress, 53), 'open')
  })

  test('one machine cannot fill the table of connections', async () => {
    const { attacker, victim, python } = attacked
    const source = addressOf(await attacked.shell(attacker, 'ip -4 -o address show dev eth0'))
    await python(attacker, scripts.openConnections, internet, 20_000)
    const tracked = readFileSync('/proc/net/nf_conntrack', 'utf8').split('\n')
    const own = tracked.filter((line) => line.includes(`src=${source} dst=${internet} `))
    assert.ok(own.length > 3_000 && own.length <= 4_096, String(own.length))
    assert.notEqual(await connect(attacker, internet, 80), 'open')
    assert.equal(await connect(victim, internet, 80), 'open')
  })
})

function addressOf(line: string): string {
  return / inet ([0-9.]+)\//.exec(line)![1]!
}
