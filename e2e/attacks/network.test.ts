import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { startAttacked, type Attacked } from './machines.ts'
import { countAnswers, forgeAddress, inventAddresses } from './network-scripts.ts'

describe('root of a machine attacks the network', () => {
  let attacked: Attacked

  before(async () => (attacked = await startAttacked('network')))
  after(() => attacked?.[Symbol.asyncDispose]())

  test('frames with the address of another machine divert none of its traffic', async () => {
    const { attacker, victim, gateway, python, shell, reboot } = attacked
    // Its port on the bridge is then another one.
    await reboot(attacker)
    const address = await shell(victim, 'cat /sys/class/net/eth0/address')
    const [diverted, answered] = await Promise.all([
      python(attacker, forgeAddress, address, 3),
      python(victim, countAnswers, gateway, 100),
    ])
    assert.deepEqual({ diverted, answered }, { diverted: '0', answered: '100' })
    assert.equal(await python(attacker, countAnswers, gateway, 5), '5')
  })

  test('the bridge learns none of the addresses that a machine invents', async () => {
    const { attacker, network, python } = attacked
    await python(attacker, inventAddresses, 3000)
    const entries = execFileSync('bridge', ['fdb', 'show', 'br', network], { encoding: 'utf8' })
    assert.equal(entries.split('\n').filter((line) => line.startsWith('02:5a:')).length, 0)
  })
})
