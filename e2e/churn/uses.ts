import { Computer, type Machine, type Preview } from '@computer/sdk'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { viewScreen } from '../../bench/viewer.ts'
import type { Operation } from '../faults/operations.ts'
import { showTerminal } from '../guest/terminal.ts'
import type { ApiClient } from '../harness/api.ts'
import { eventually } from '../harness/polling.ts'

/* Agents and people use a running machine: the API and the gateway hold connections and pictures meanwhile. */

type Use = (machine: Machine, word: string, api: ApiClient) => Promise<void>

const uses: Readonly<Record<string, Use>> = {
  'run a command': runCommand,
  'copy a file': copyFile,
  'look and click': lookAndClick,
  'watch the screen': watchScreen,
  'type in a terminal': typeInTerminal,
  'open a preview': openPreview,
}

const webPort = 8000

/** The uses, each through the next host. One that fails is a problem of the ledger. */
export function usesThrough(clients: readonly ApiClient[]): readonly Operation[] {
  let count = 0
  return Object.entries(uses).map(([name, use]) => ({
    name,
    weight: 3,
    needs: 'running',
    async run({ ledger, random }, { id }) {
      const api = clients[count++ % clients.length]!
      const options = { apiKey: api.key, baseUrl: api.baseUrl, closeOnExit: false }
      try {
        await using computer = new Computer(options)
        await api.waitForDesktop(id)
        await use(await computer.machines.get(id), `word${random.below(2 ** 32)}`, api)
      } catch (error) {
        ledger.problems.push(`${id}: ${name}: ${(error as Error).message}`)
      }
    },
  }))
}

async function runCommand(machine: Machine, word: string): Promise<void> {
  const { exitCode, stdout } = await machine.exec(['echo', word])
  assert.deepEqual([exitCode, stdout], [0, `${word}\n`])
}

async function copyFile(machine: Machine, word: string): Promise<void> {
  const contents = Buffer.alloc(4 * 1024 * 1024, word)
  await machine.files.write('copied', new Uint8Array(contents))
  assert.ok(contents.equals(await machine.files.read('copied')))
}

/** Takes the input lease from whoever has it. */
async function lookAndClick(machine: Machine): Promise<void> {
  await machine.input.acquire({ force: true })
  const before = await machine.screenshot()
  await machine.mouse.click(200, 200)
  const after = await machine.screenshot()
  assert.ok(before.bytes.length > 0 && after.bytes.length > 0)
}

/** Takes the input lease first: the screen may be private to a person who was asked for help and has left. */
async function watchScreen(machine: Machine, _word: string, api: ApiClient): Promise<void> {
  await machine.input.acquire({ force: true })
  using viewer = await viewScreen(api, machine.id)
  let updates = 0
  viewer.onUpdate = () => void updates++
  await viewer.until('its first picture', () => updates > 0)
}

async function typeInTerminal(machine: Machine, word: string): Promise<void> {
  const { id } = await machine.terminals.open()
  const { connection, shows } = showTerminal(machine, id)
  connection.write(`echo $((0 + 1))${word}\r`)
  await shows(new RegExp(`1${word}`))
  connection.close()
  await machine.terminals.kill(id)
}

/** A web server that an earlier use has started may still run. */
async function openPreview(machine: Machine, word: string, api: ApiClient): Promise<void> {
  await machine.files.write('page', word)
  await api.launch(machine.id, `python3 -m http.server ${webPort} --directory /home/agent`)
  const preview = await machine.ports.publish(webPort)
  await eventually('a preview answers', async () => (await fetchPage(preview)) === word)
  await machine.ports.unpublish(preview.id)
}

async function fetchPage({ url, secret }: Pick<Preview, 'url' | 'secret'>): Promise<string> {
  const { host, hostname, port } = new URL(url)
  const headers = { host, 'x-preview-secret': secret ?? '' }
  const target = { host: '127.0.0.1', servername: hostname, port, path: '/page', agent: false }
  // The authority of the certificate is the subject of e2e/previews.test.ts.
  const sent = request({ ...target, headers, rejectUnauthorized: false } as const)
  const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage]
  return text(answer)
}
