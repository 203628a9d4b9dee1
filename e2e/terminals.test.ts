import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { GatewayClient } from '../server/test/gateway.ts'
import { eventually } from './api.ts'
import { startRealServer, type RealServer } from './server.ts'

/*
 * Terminals of a real machine through a real gateway. The tests share one server and one machine, so
 * each builds on those before it.
 */

let server: RealServer
let origin = ''
let machine = ''
let terminal = ''
const clients: GatewayClient[] = []

before(async () => {
  server = await startRealServer()
  origin = (await server.api.ok('GET', '/v1/auth/me')).gateway_url
  machine = (await server.api.ok('POST', '/v1/machines', {})).id
})
after(async () => {
  for (const client of clients) client.socket.terminate()
  await server?.[Symbol.asyncDispose]()
})

test('a terminal is a login shell of the user, with its groups and a device of its own', async () => {
  const client = await open({ cols: 100, rows: 30 })
  type(client, 'shopt login_shell; id -un; id -nG; stty size; sudo whoami\r')
  await shown(client, /login_shell +\ton\r\nagent\r\n[^\n]*sudo[^\n]*\r\n30 100\r\nroot\r\n/)
  type(client, 'echo mine >"$(tty)"; ls -l /proc/self/fd | grep -c ptmx\r')
  await shown(client, /mine\r\n0\r\n/)
  await client.close()
})

test('a resize reaches the shell, and control characters what runs in it', async () => {
  const client = await connect()
  client.send({ type: 'resize', cols: 132, rows: 43 })
  type(client, 'sleep 600\r')
  await running(/sleep 600/)
  type(client, '\x03')
  type(client, 'stty size; echo over\r')
  await shown(client, /43 132\r\nover/)
  await client.close()
})

test('it outlives the gateway and the api, and is shown again', async () => {
  const client = await connect()
  type(client, 'seq 1 100000; echo end of count; sleep 2; echo after all\r')
  await shown(client, /end of count/)
  await server.kill('gateway')
  await server.kill('api')
  await client.closed
  const again = await connect()
  const bytes = await shown(again, /end of count\r\nafter all/)
  assert.ok(bytes.length <= 256 * 1024 + 100)
  const numbers = bytes.split('\r\n').filter((line) => /^\d{5}$/.test(line))
  assert.ok(numbers.every((line, index) => Number(line) === Number(numbers[0]) + index))
  type(again, 'exit 5\r')
  assert.equal((await again.closed).code, 1000)
  assert.deepEqual(again.controls, [{ type: 'exit', exit_code: 5 }])
  assert.deepEqual((await server.api.ok('GET', path())).data, [])
})

test('killing leaves nothing of it; a machine that stops ends the connection', async () => {
  const killed = await open()
  type(killed, "(trap '' HUP; sleep 4321) & sleep 4322\r")
  await running(/sleep 4321[^]*sleep 4322|sleep 4322[^]*sleep 4321/)
  await server.api.ok('DELETE', path(`/${terminal}`))
  assert.equal((await killed.closed).code, 1000)
  assert.doesNotMatch(await processes(), /sleep 432/)

  const client = await open()
  await server.api.ok('POST', `/v1/machines/${machine}/stop?wait=60`)
  assert.equal((await client.closed).code, 4404)
})

function path(rest = ''): string {
  return `/v1/machines/${machine}/terminals${rest}`
}

/** A new terminal with its client, and a shell that shows nothing but what its commands write. */
async function open(wish = {}): Promise<GatewayClient> {
  const opened = await server.api.ok('POST', path(), wish)
  assert.deepEqual([opened.command, opened.user], [['/bin/bash', '-l'], 'agent'])
  terminal = opened.id
  const client = await connect()
  type(client, "PS1= ; set +o emacs; stty -echo; echo rea''dy\r")
  await shown(client, /ready\r\n/)
  return client
}

/** Tries again while the services start, and until it was noticed that an earlier client went. */
async function connect(): Promise<GatewayClient> {
  return eventually('the terminal has a client', async () => {
    const list = await server.api.call('GET', path()).catch(() => undefined)
    const one = list?.body?.data?.find(({ id }: { id: string }) => id === terminal)
    if (!one || one.attached) return undefined
    const headers = { authorization: `Bearer ${server.api.key}` }
    const client = new GatewayClient(new WebSocket(origin + path(`/${terminal}`), { headers }))
    clients.push(client)
    return client.opened.then(
      () => client,
      () => undefined,
    )
  })
}

function type(client: GatewayClient, text: string): void {
  client.socket.send(text, { binary: true })
}

async function shown(client: GatewayClient, pattern: RegExp): Promise<string> {
  return client.until(({ frames }) => {
    const bytes = frames.flatMap((frame) => ('payload' in frame ? [frame.payload] : []))
    const text = Buffer.concat(bytes).toString()
    return pattern.test(text) && text
  })
}

function processes(): Promise<string> {
  return server.api.run(machine, ['ps', '-eo', 'args'])
}

async function running(pattern: RegExp): Promise<void> {
  await eventually(`${pattern} runs`, async () => pattern.test(await processes()) || undefined)
}
