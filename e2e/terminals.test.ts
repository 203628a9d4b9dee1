import type { Machine } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { GatewayClient } from '../server/test/gateway.ts'
import { eventually } from './harness/polling.ts'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'
import { showTerminal, type ShownTerminal } from './guest/terminal.ts'

/*
 * Terminals of a real machine through a real gateway. The tests share one server and one machine, so each
 * builds on those before it. The client is the SDK; tests of frames and close codes use `connectRaw`.
 */

let server: RealServer
let machine: Machine
let terminal = ''
const shown: ShownTerminal[] = []
const raws: GatewayClient[] = []

before(async () => {
  server = await joinServer()
  machine = await server.computer.machines.create()
})
after(async () => {
  for (const { connection } of shown) connection.close()
  for (const { socket } of raws) socket.terminate()
  await server?.[Symbol.asyncDispose]()
})

test("a terminal is a login shell of the user, with the user's groups and its own device", async () => {
  await open({ cols: 100, rows: 30 })
  const { connection, shows } = await attach()
  connection.write('shopt login_shell; id -un; id -nG; stty size; sudo whoami\r')
  await shows(/login_shell +\ton\r\nagent\r\n[^\n]*sudo[^\n]*\r\n30 100\r\nroot\r\n/)
  connection.write('echo mine >"$(tty)"; ls -l /proc/self/fd | grep -c ptmx\r')
  await shows(/mine\r\n0\r\n/)
  connection.close()
})

test('a resize reaches the shell, and control characters reach its foreground process', async () => {
  const { connection, shows } = await attach()
  connection.resize(132, 43)
  connection.write('sleep 600\r')
  await waitForProcess(/sleep 600/)
  connection.write('\x03')
  connection.write('stty size; echo over\r')
  await shows(/43 132\r\nover/)
  connection.close()
})

test('it survives kills of the gateway and the API, and its output is shown again', async () => {
  const { connection, shows, reattached } = await attach()
  connection.write('seq 1 100000; echo end of count; sleep 2; echo after all\r')
  await shows(/end of count/)
  await server.kill('gateway')
  await server.kill('api')
  await eventually('the terminal is attached again', async () => reattached() > 0)
  const text = await shows(/end of count\r\nafter all/)
  assert.ok(text.length <= 256 * 1024 + 100)
  const numbers = text.split('\r\n').filter((line) => /^\d{5}$/.test(line))
  assert.ok(numbers.length > 0)
  assert.ok(numbers.every((line, index) => Number(line) === Number(numbers[0]) + index))
  connection.close()

  const raw = await connectRaw()
  raw.socket.send('exit 5\r', { binary: true })
  assert.equal((await raw.closed).code, 1000)
  assert.deepEqual(raw.controls, [{ type: 'exit', exit_code: 5 }])
  assert.deepEqual(await machine.terminals.list().all(), [])
})

test('killing a terminal ends all of its processes; stopping the machine closes the connection', async () => {
  await open()
  const killed = await connectRaw()
  killed.socket.send("(trap '' HUP; sleep 4321) & sleep 4322\r", { binary: true })
  await waitForProcess(/sleep 4321[^]*sleep 4322|sleep 4322[^]*sleep 4321/)
  await machine.terminals.kill(terminal)
  assert.equal((await killed.closed).code, 1000)
  assert.doesNotMatch(await processes(), /sleep 432/)

  await open()
  const stopped = await connectRaw()
  await machine.stop()
  assert.equal((await stopped.closed).code, 4404)
})

/** Opens a terminal whose shell shows only the output of its commands. */
async function open(size: { cols?: number; rows?: number } = {}): Promise<void> {
  const opened = await machine.terminals.open(size)
  assert.deepEqual([opened.command, opened.user], [['/bin/bash', '-l'], 'agent'])
  terminal = opened.id
  const { connection, shows } = await attach()
  connection.write("PS1= ; set +o emacs; stty -echo; echo rea''dy\r")
  await shows(/ready\r\n/)
  connection.close()
}

async function attach(): Promise<ShownTerminal> {
  await waitUntilDetached()
  const one = showTerminal(machine, terminal)
  shown.push(one)
  return one
}

/** Connects with a WebSocket, for its frames and close code. */
async function connectRaw(): Promise<GatewayClient> {
  await waitUntilDetached()
  const { gatewayUrl } = await server.computer.me()
  const url = `${gatewayUrl}/v1/machines/${machine.id}/terminals/${terminal}`
  const headers = { authorization: `Bearer ${server.api.key}` }
  const raw = new GatewayClient(new WebSocket(url, { headers }))
  raws.push(raw)
  await raw.opened
  return raw
}

/** Waits until the server has noticed that the last client left, because a terminal has one at most. */
async function waitUntilDetached(): Promise<void> {
  await eventually('the terminal has no client', async () => {
    const one = (await machine.terminals.list().all()).find(({ id }) => id === terminal)
    return one && !one.attached
  })
}

async function processes(): Promise<string> {
  const { stdout, exitCode } = await machine.exec(['ps', '-eo', 'args'])
  assert.equal(exitCode, 0)
  return stdout
}

async function waitForProcess(pattern: RegExp): Promise<void> {
  await eventually(`${pattern} runs`, async () => pattern.test(await processes()))
}
